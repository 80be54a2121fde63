// Defect correction (iterative refinement): an outer loop in double around any solver of an inner operator.
//
//   r = b - A x (outer);  solve A e = r (inner) to |r| delta;  x += e;  until |r| <= target.
// J. H. Wilkinson, Rounding Errors in Algebraic Processes (1963), chapter 3; for lattice QCD in mixed precision
// e.g. L. Giusti et al., Comput. Phys. Commun. 153 (2003) 31.
#pragma once

#include "core/api.h"
#include "core/operator/operator.h"
#include "solvers/solver.h"

#include <memory>

namespace quadrille {

/// `inner_solver` solves with `inner` as its outer operator; delta in (0, 1) is the relative residual that it must
/// reach in one cycle. Reports: iterations of the inner solver, a cycle as one of `restarts`.
QUADRILLE_API std::unique_ptr<Solver> make_defect_correction(const LinearOperator& outer, const LinearOperator& inner,
                                                             std::unique_ptr<Solver> inner_solver, double delta);

}  // namespace quadrille
