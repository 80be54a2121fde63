// What the program offers to a task of a module (modules/shared/plugin/module.h: quadrille_host).
#pragma once

#include "modules/shared/plugin/module.h"

namespace quadrille {

extern const quadrille_host module_host;

}  // namespace quadrille
