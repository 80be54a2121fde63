// The scalars of CG's iteration (solvers/methods/cg.cpp): what each operation of core/blas/ops.h takes from them when
// it begins and makes of its sums when it ends. For the host and devices, one thread at a time.
#pragma once

#include "core/blas/ops.h"
#include "core/blas/step_numbers.h"

#include <cmath>

namespace quadrille::blas::inline QUADRILLE_ISA {

// Each begins with whether the operation is to be done.

QUADRILLE_HOST_DEVICE bool begin(CgAlpha&, const CgScalars& now) { return now.ended == CgScalars::Ended::no; }

/// alpha = |z|^2 / |q|^2
QUADRILLE_HOST_DEVICE void finish(const CgAlpha&, CgScalars& now, const double* sums) {
  now.q2 = sums[0];
  if (usable(now.q2, 0)) {
    now.alpha = now.z2 / now.q2;
  } else {
    now.ended = CgScalars::Ended::no_alpha;
  }
}

QUADRILLE_HOST_DEVICE bool begin(CgResidual& op, const CgScalars& now) {
  op.a = -now.alpha;
  return now.ended == CgScalars::Ended::no;
}

QUADRILLE_HOST_DEVICE void finish(const CgResidual&, CgScalars& now, const double* sums) { now.r2 = sums[0]; }

QUADRILLE_HOST_DEVICE bool begin(CgBeta&, const CgScalars& now) { return now.ended == CgScalars::Ended::no; }

/// beta = |z|^2 of the new z / that of the one before
QUADRILLE_HOST_DEVICE void finish(const CgBeta&, CgScalars& now, const double* sums) {
  now.beta = sums[0] / now.z2;
  now.z2 = sums[0];
  if (now.r2 > 0) now.largest_ratio = fmax(now.largest_ratio, now.z2 / now.r2);
  if (!usable(now.z2, now.singular * now.largest_ratio * now.r2)) now.ended = CgScalars::Ended::no_gradient;
}

QUADRILLE_HOST_DEVICE bool begin(CgUpdate& op, const CgScalars& now) {
  op.alpha = now.alpha;
  op.beta = now.beta;
  return now.ended != CgScalars::Ended::no_alpha;
}

}  // namespace quadrille::blas::inline QUADRILLE_ISA
