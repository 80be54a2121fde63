// The passes of MR, the method (solvers/methods/mr.cpp) and the preconditioner (solvers/preconditioners/mr.cpp): their
// work on a site, and how its scalars are formed. For the host and devices; scalars one thread at a time.
#pragma once

#include "core/blas/ops.h"
#include "solvers/methods/step_numbers.h"

namespace quadrille::steps {

using namespace blas;

/// The scalars of MR, which stay where its fields are (core/blas/resident_scalars.h).
struct MrScalars {
  double omega = 1;  ///< relaxation
  // The sums and scalars of a step.
  Coefficient alpha{};
  double t2 = 0, tr = 0;  ///< |t|^2 and |<t, r>|
  double r2 = 0;          ///< of the new r, where it is asked for
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

struct MrUpdateNorm2 {  // t, r, y: as MrUpdate, |r|^2
  using Scalars = MrScalars;
  static constexpr bool shows = true;
  Coefficient alpha;
  QUADRILLE_FIELD_OP("mr_update_norm2", 0b111, 0b110, 3, 1) {
    add_product(f[2], alpha, f[1]);
    add_product(f[1], Coefficient{-alpha.re, -alpha.im}, f[0]);
    add_norm2<A, T, V>(sum[0], f[1]);
  }
};

using MrSteps = OpList<MrAlpha, MrUpdate, MrUpdateNorm2>;

QUADRILLE_HOST_DEVICE bool begin(MrAlpha&, const MrScalars&) { return true; }

/// alpha = omega <t, r> / |t|^2; 0 where that is no number or t vanishes, so that y and r stay as they are.
QUADRILLE_HOST_DEVICE void finish(const MrAlpha&, MrScalars& now, const double* sums) {
  now.t2 = sums[2];
  now.tr = magnitude(Coefficient{sums[0], sums[1]});
  const bool steps = usable(now.t2, 0) && usable(now.tr, 0);
  now.alpha = steps ? Coefficient{now.omega * (sums[0] / now.t2), now.omega * (sums[1] / now.t2)} : Coefficient{};
}

QUADRILLE_HOST_DEVICE bool begin(MrUpdate& op, const MrScalars& now) {
  op.alpha = now.alpha;
  return true;
}

QUADRILLE_HOST_DEVICE bool begin(MrUpdateNorm2& op, const MrScalars& now) {
  op.alpha = now.alpha;
  return true;
}

QUADRILLE_HOST_DEVICE void finish(const MrUpdateNorm2&, MrScalars& now, const double* sums) { now.r2 = sums[0]; }

}  // namespace QUADRILLE_ISA
}  // namespace quadrille::steps
