// The functions of the C API as modules are given them (modules/shared/plugin/module.h).
#pragma once

#include "modules/shared/plugin/module.h"

namespace quadrille::capi {

extern const quadrille_functions function_table;

quadrille_status propagator_to_memory(quadrille_propagator* propagator, int column, const char* words, void* array);

}  // namespace quadrille::capi
