// What a call gives the site-local terms and hops of a kernel, on every backend: generated from codegen/operators.
#pragma once

#include "kernel_terms.h"

#include <string>

namespace quadrille {
struct HopCall;
struct HopScalars;
}  // namespace quadrille

namespace quadrille::dirac {

/// Of the family `op` of operators; pointers are into the call's fields.
KernelTerms bound_terms(const std::string& op, const HopCall& call, const HopScalars& scalars);

}  // namespace quadrille::dirac
