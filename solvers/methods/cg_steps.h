// The passes of CG (solvers/methods/cg.cpp): their work on a site, and how its scalars are formed. For the host and
// devices; scalars one thread at a time.
#pragma once

#include "core/blas/ops.h"
#include "solvers/methods/step_numbers.h"

#include <cmath>

namespace quadrille::steps {

using namespace blas;

/// The scalars of CG, which stay where its fields are (core/blas/resident_scalars.h). Names are
/// those of solvers/methods/cg.cpp.
struct CgScalars {
  /// Why an iteration went no further; later operations leave every field alone.
  enum class Ended : int {
    no,
    no_alpha,     ///< |q|^2 vanishes
    no_gradient,  ///< |z|^2 is rounding; y still takes its step
  };

  // What the host says of a search: r, p and z = A^+ r.
  double z2 = 0, r2 = 0;
  double largest_ratio = 0;  ///< of |z|^2 to |r|^2, so far
  double singular = 0;       ///< what |z|^2 must exceed, as a part of that ratio of |r|^2
  // The sums and scalars of an iteration; z2 becomes that of the next.
  double q2 = 0, alpha = 0, beta = 0;
  Ended ended = Ended::no;
};

inline namespace QUADRILLE_ISA {

struct CgAlpha : Norm2 {  // q: |q|^2
  static constexpr const char* name = "cg_alpha";
  using Scalars = CgScalars;
};

struct CgResidual : AxpyNorm2 {  // q, r: r -= alpha q, |r|^2
  static constexpr const char* name = "cg_residual";
  using Scalars = CgScalars;
  static constexpr bool shows = true;
};

struct CgBeta : Norm2 {  // z: |z|^2
  static constexpr const char* name = "cg_beta";
  using Scalars = CgScalars;
};

struct CgUpdate : AxpyXpay {  // p, y, z: y += alpha p, p = z + beta p
  static constexpr const char* name = "cg_update";
  using Scalars = CgScalars;
};

using CgSteps = OpList<CgAlpha, CgResidual, CgBeta, CgUpdate>;

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
  op.a = now.alpha;
  op.b = now.beta;
  return now.ended != CgScalars::Ended::no_alpha;
}

}  // namespace QUADRILLE_ISA
}  // namespace quadrille::steps
