// Projection of links on SU(3).
#pragma once

#include "core/su3/su3.h"

#include <cmath>

namespace quadrille {

/// Replaces u by the SU(3) matrix nearest to it: the unitary factor of the polar decomposition (Newton's iteration
/// X <- (X + (X^+)^-1)/2, Higham, SIAM J. Sci. Stat. Comput. 7 (1986) 1160), freed of the phase of its determinant.
/// The result is unitary to rounding. False, and u left alone, when u is singular or not finite.
[[nodiscard]] QUADRILLE_HOST_DEVICE bool project_su3(Matrix3& u) {
  Matrix3 x = u;
  constexpr int most_steps = 60;
  for (int step = 0;; ++step) {
    const Complex det = determinant(x);
    const double size = magnitude(det);
    if (!(size > 1e-100) || !(size < 1e300) || step == most_steps) return false;
    const Matrix3 inverse_adjoint = conjugate_cofactors(x);
    const Complex scale(det.real() / size / size, det.imag() / size / size);  // 1 / conj(det)
    double change = 0;
    for (std::size_t i = 0; i < 9; ++i) {
      const Complex next = product(0.5, sum(x[i], product(scale, inverse_adjoint[i])));
      change = ::fmax(change, magnitude(difference(next, x[i])));
      x[i] = next;
    }
    if (change < 1e-9) break;  // convergence is quadratic: the next step would change rounding only
  }
  const Complex det = determinant(x);
  const double angle = -::atan2(det.imag(), det.real()) / 3;
  const Complex phase(::cos(angle), ::sin(angle));
  for (std::size_t i = 0; i < 9; ++i) u[i] = product(x[i], phase);
  return true;
}

}  // namespace quadrille
