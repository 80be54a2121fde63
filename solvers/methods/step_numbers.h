// Arithmetic of scalars on the host and on devices, for the passes of the methods (cg_steps.h, bicgstab_steps.h,
// mr_steps.h).
#pragma once

#include "core/blas/scalars.h"
#include "core/host_device.h"

#include <cmath>

namespace quadrille::steps {

using blas::Coefficient;

inline namespace QUADRILLE_ISA {

QUADRILLE_HOST_DEVICE Coefficient product(Coefficient a, Coefficient b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
QUADRILLE_HOST_DEVICE Coefficient conj(Coefficient a) { return {a.re, -a.im}; }
QUADRILLE_HOST_DEVICE double magnitude(Coefficient a) { return hypot(a.re, a.im); }
/// a / b, without the overflow that |b|^2 might be.
QUADRILLE_HOST_DEVICE Coefficient quotient(Coefficient a, Coefficient b) {
  const double larger = fmax(fabs(b.re), fabs(b.im));
  const Coefficient scaled{b.re / larger, b.im / larger};
  const double norm2 = (scaled.re * scaled.re + scaled.im * scaled.im) * larger;
  const Coefficient above = product(a, conj(scaled));
  return {above.re / norm2, above.im / norm2};
}
/// Finite, and more than what may be rounding.
QUADRILLE_HOST_DEVICE bool usable(double value, double smallest) { return value > smallest && value <= 1.7e308; }

}  // namespace QUADRILLE_ISA
}  // namespace quadrille::steps
