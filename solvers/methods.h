// The Krylov methods, one function each. A new one adds a line here and in registry.cpp.
//
// inner = nullptr: uniform, everything on the outer operator. Otherwise iterations run on `inner`, in its format and
// gauge. delta in (0, 1): reliable updates. delta = 0: none, and convergence is judged on the iterated residual.
#pragma once

#include "core/operator/operator.h"
#include "solvers/solver.h"

#include <memory>

namespace quadrille {

std::unique_ptr<Solver> make_cg(const LinearOperator& outer, const LinearOperator* inner, double delta);
std::unique_ptr<Solver> make_bicgstab(const LinearOperator& outer, const LinearOperator* inner, double delta);

/// The delta that BiCGstab uses in place of this one.
double bicgstab_delta(double delta, Precision inner);

}  // namespace quadrille
