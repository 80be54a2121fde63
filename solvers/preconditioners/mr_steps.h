// The passes of MR (solvers/preconditioners/mr.cpp): their work on a site, and how its scalars are formed. For the host
// and devices; scalars one thread at a time.
#pragma once

#include "core/blas/ops.h"
#include "core/blas/step_numbers.h"

namespace quadrille::steps {

using namespace blas;

/// The scalars of MR, which stay where its fields are (core/blas/resident_scalars.h).
struct MrScalars {
  double omega = 1;  ///< relaxation
  Coefficient alpha{};
};

inline namespace QUADRILLE_ISA {

struct MrAlpha : DotAndNorm2 {  // t, r: <t, r>, |t|^2
  static constexpr const char* name = "mr_alpha";
  using Scalars = MrScalars;
};

struct MrUpdate {  // t, r, y: y += alpha r, r -= alpha t
  using Scalars = MrScalars;
  Coefficient alpha;
  QUADRILLE_FIELD_OP("mr_update", 0b111, 0b110, 3, 0) {
    add_product(f[2], alpha, f[1]);
    add_product(f[1], Coefficient{-alpha.re, -alpha.im}, f[0]);
  }
};

using MrSteps = OpList<MrAlpha, MrUpdate>;

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

}  // namespace QUADRILLE_ISA
}  // namespace quadrille::steps
