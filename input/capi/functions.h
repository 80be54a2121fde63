// The functions of the C API as modules are given them (modules/shared/plugin/module.h).
#pragma once

#include "modules/shared/plugin/module.h"

namespace quadrille::capi {

extern const quadrille_functions function_table;

}  // namespace quadrille::capi
