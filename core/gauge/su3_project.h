// Projection of links on SU(3).
#pragma once

#include "core/gauge/su3.h"
#include "core/host_field.h"

namespace quadrille {

/// Replaces u by the SU(3) matrix nearest to it: the unitary factor of the polar decomposition (Newton's iteration
/// X <- (X + (X^+)^-1)/2, Higham, SIAM J. Sci. Stat. Comput. 7 (1986) 1160), freed of the phase of its determinant.
/// The result is unitary to rounding. False, and u left alone, when u is singular or not finite.
[[nodiscard]] bool project_su3(Matrix3& u);

/// Projects every link in place and returns the largest |element| by which one changed. Errors: ErrorCode::numerical
/// naming site and direction of a link that has no nearest SU(3) matrix.
double reunitarize(HostLinks& links);

}  // namespace quadrille
