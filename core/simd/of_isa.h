// One function for each instruction set that is built: declared, and found by it. Macros alone, so that sources
// compiled for every instruction set may include it; built_isas.h is made by CMake from QUADRILLE_KERNEL_ISAS.
#pragma once

#include "core/simd/built_isas.h"

/// Declares `type name_ISA parameters;` for each.
#define QUADRILLE_DECLARE_FOR_ISAS(type, name, parameters) \
  QUADRILLE_BUILT_ISAS(QUADRILLE_DECLARE_FOR_ISA, type, name, parameters)
#define QUADRILLE_DECLARE_FOR_ISA(isa, type, name, parameters) type name##_##isa parameters;

/// The function `name_ISA` of the Isa `which` (core/simd/isa.h), the generic one for an instruction set that is not
/// built. Behind the name: the arguments of a template, in <>.
#define QUADRILLE_OF_ISA(which, name, ...)                                         \
  [](::quadrille::Isa isa_) {                                                      \
    switch (isa_) {                                                                \
      QUADRILLE_BUILT_ISAS(QUADRILLE_CASE_OF_ISA, name __VA_OPT__(, ) __VA_ARGS__) \
      default: return &name##_generic __VA_ARGS__;                                 \
    }                                                                              \
  }(which)
#define QUADRILLE_CASE_OF_ISA(isa, name, ...) \
  case ::quadrille::Isa::isa: return &name##_##isa __VA_ARGS__;
