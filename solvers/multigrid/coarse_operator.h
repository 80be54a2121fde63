// The operator of a coarse lattice: dense matrices between a site and its eight neighbours.
#pragma once

#include "core/api.h"
#include "solvers/multigrid/level_system.h"
#include "solvers/multigrid/transfer.h"

#include <memory>

namespace quadrille::multigrid {

/// P^+ A P of a nearest-neighbour operator A on the full fields of `transfer`, by its images of the columns of P, in
/// the precision of these. What it applies is dense: 9 matrices a site, those of the odd sites multiplied by the
/// inverse of the site's own. The daggers are not there (ErrorCode::internal). ErrorCode::numerical where a site's
/// matrix has no inverse, as P has dependent columns or A is no number.
QUADRILLE_API std::unique_ptr<LevelSystem> make_coarse_system(const LinearOperator& a, const Transfer& transfer);

/// The bytes that it will take, from the description of its full fields.
QUADRILLE_API double coarse_system_bytes(const FieldDesc& coarse);

}  // namespace quadrille::multigrid
