// The scalars of a step of MR (solvers/preconditioners/mr.cpp): what each operation of core/blas/ops.h takes from them
// when it begins and makes of its sums when it ends. For the host and devices, one thread at a time.
#pragma once

#include "core/blas/ops.h"
#include "core/blas/step_numbers.h"

namespace quadrille::blas::inline QUADRILLE_ISA {

QUADRILLE_HOST_DEVICE bool begin(MrAlpha&, const MrScalars&) { return true; }

/// alpha = omega <t, r> / |t|^2; 0 where t vanishes: nothing is left to do.
QUADRILLE_HOST_DEVICE void finish(const MrAlpha&, MrScalars& now, const double* sums) {
  const double t2 = sums[2];
  now.alpha = t2 > 0 ? Coefficient{now.omega * sums[0] / t2, now.omega * sums[1] / t2} : Coefficient{};
}

QUADRILLE_HOST_DEVICE bool begin(MrUpdate& op, const MrScalars& now) {
  op.alpha = now.alpha;
  return true;
}

}  // namespace quadrille::blas::inline QUADRILLE_ISA
