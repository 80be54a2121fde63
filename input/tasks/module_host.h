// What the program offers to a task of a module (modules/module.h: quadrille_host).
#pragma once

#include "modules/module.h"

namespace quadrille {

extern const quadrille_host module_host;

}  // namespace quadrille
