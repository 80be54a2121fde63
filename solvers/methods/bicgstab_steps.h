// The passes of BiCGstab (solvers/methods/bicgstab.cpp): their work on a site, and how its scalars are formed. For the
// host and devices; scalars one thread at a time.
#pragma once

#include "core/blas/ops.h"
#include "solvers/methods/step_numbers.h"

#include <cmath>

namespace quadrille::steps {

using namespace blas;

/// The scalars of BiCGstab, which stay where its fields are (core/blas/resident_scalars.h): formed there from sums and
/// used by what follows, while the host asks for more. Names are those of
/// solvers/methods/bicgstab.cpp.
struct BicgstabScalars {
  /// Why an iteration went no further; later operations leave every field alone, but for an iteration that
  /// asks.
  enum class Ended : int {
    no,
    no_alpha,  ///< <r0, v> vanishes
    half_way,  ///< |s| is at the target
    no_omega,  ///< |t|^2 or <t, s> vanishes
    asks,      ///< the host is to decide: r and y are those of the next iteration, p is p - omega v
  };

  // What the host says of a search: p, r0 and r with rho = <r0, r>.
  Coefficient rho{};
  double r2 = 0, r0_norm2 = 0;
  double target = 0;     ///< an |s| with which the search ends half way
  double vanishing = 0;  ///< of two norms' product, what an inner product must exceed
  double rounding = 0;   ///< of |r0| |r|, what rounding does to rho
  // The sums and scalars of an iteration. At its end rho and r2 are those of the next.
  Coefficient vr0{}, alpha{}, ts{}, omega{}, next_rho{}, beta{};  ///< vr0 = <v, r0>, ts = <t, s>
  double v2 = 0, s2 = 0, t2 = 0;
  Ended ended = Ended::no;
};

inline namespace QUADRILLE_ISA {

struct BicgstabAlpha : DotAndNorm2 {  // v, r0: <v, r0>, |v|^2
  static constexpr const char* name = "bicgstab_alpha";
  using Scalars = BicgstabScalars;
};

struct BicgstabHalfStep {  // v, r: r -= alpha v, |r|^2
  using Scalars = BicgstabScalars;
  Coefficient minus_alpha;
  QUADRILLE_FIELD_OP("bicgstab_half_step", 0b11, 0b10, 2, 1) {
    add_product(f[1], minus_alpha, f[0]);
    add_norm2<A, T, V>(sum[0], f[1]);
  }
};

struct BicgstabOmega {  // t, s, r0: <t, s>, |t|^2, <r0, t>, <r0, s>
  using Scalars = BicgstabScalars;
  double ask_below;  // the host wants to look at an |r| that is no larger
  QUADRILLE_FIELD_OP("bicgstab_omega", 0b111, 0b000, 3, 7) {
    add_dot<A, T, V>(sum, f[0], f[1]);
    add_norm2<A, T, V>(sum[2], f[0]);
    add_dot<A, T, V>(sum + 3, f[2], f[0]);
    add_dot<A, T, V>(sum + 5, f[2], f[1]);
  }
};

struct BicgstabUpdate {  // p, t, v, y, r: y += alpha p + omega r, r -= omega t, p = r + beta (p - omega v), |r|^2
  using Scalars = BicgstabScalars;
  static constexpr bool shows = true;
  Coefficient alpha, omega, beta{1, 0};
  bool goes_on;  // or p = p - omega v
  QUADRILLE_FIELD_OP("bicgstab_update", 0b11111, 0b11001, 5, 1) {
    const Coefficient minus_omega{-omega.re, -omega.im};
    add_product(f[3], alpha, f[0]);
    add_product(f[3], omega, f[4]);
    add_product(f[4], minus_omega, f[1]);
    add_product(f[0], minus_omega, f[2]);
    Lanes<T, V> p{};
    if (goes_on) p = f[4];
    add_product(p, beta, f[0]);
    f[0] = p;
    add_norm2<A, T, V>(sum[0], f[4]);
  }
};

using BicgstabSteps = OpList<BicgstabAlpha, BicgstabHalfStep, BicgstabOmega, BicgstabUpdate>;

// Each begins with whether the operation is to be done.

QUADRILLE_HOST_DEVICE bool begin(BicgstabAlpha&, const BicgstabScalars& now) {
  return now.ended == BicgstabScalars::Ended::no;
}

/// alpha = rho / <r0, v>
QUADRILLE_HOST_DEVICE void finish(const BicgstabAlpha&, BicgstabScalars& now, const double* sums) {
  now.vr0 = {sums[0], sums[1]};
  now.v2 = sums[2];
  if (!usable(magnitude(now.vr0), now.vanishing * sqrt(now.v2 * now.r0_norm2))) {
    now.ended = BicgstabScalars::Ended::no_alpha;
    return;
  }
  now.alpha = quotient(now.rho, conj(now.vr0));
}

QUADRILLE_HOST_DEVICE bool begin(BicgstabHalfStep& op, const BicgstabScalars& now) {
  op.minus_alpha = {-now.alpha.re, -now.alpha.im};
  return now.ended == BicgstabScalars::Ended::no;
}

QUADRILLE_HOST_DEVICE void finish(const BicgstabHalfStep&, BicgstabScalars& now, const double* sums) {
  now.s2 = sums[0];
  if (!(sqrt(now.s2) > now.target)) now.ended = BicgstabScalars::Ended::half_way;
}

QUADRILLE_HOST_DEVICE bool begin(BicgstabOmega&, const BicgstabScalars& now) {
  return now.ended == BicgstabScalars::Ended::no;
}

// Along a search r turns away from the fixed r0 until rho = <r0, r> is rounding and no more, and alpha and beta with
// it. Each iteration multiplies rho by omega, so a small omega is what spends its digits. Where fewer than four are
// left, omega is lengthened to the size that a cosine of 1/2 between s and A s would give: |r| loses little, and a
// search on a plateau gets across it (G. L. G. Sleijpen and H. A. van der Vorst, Numer. Algorithms 10 (1995) 203, who
// always do so, to 0.7; while there are digits the shortest r is the better choice).
QUADRILLE_HOST_DEVICE Coefficient step_length(const BicgstabScalars& now) {
  constexpr double least_cosine = 0.5, enough_digits = 1e4;
  const double cosine = magnitude(now.ts) / sqrt(now.t2 * now.s2);
  const double digits = magnitude(now.rho) / (now.rounding * sqrt(now.r2 * now.r0_norm2));
  const double longer = digits < enough_digits && cosine < least_cosine ? least_cosine / cosine : 1;
  return {longer * (now.ts.re / now.t2), longer * (now.ts.im / now.t2)};
}

/// omega = <t, s> / |t|^2; and, as r will be s - omega t, <r0, r> and beta. |r| follows as well, closely enough to know
/// whether the host may want to do something else.
QUADRILLE_HOST_DEVICE void finish(const BicgstabOmega& op, BicgstabScalars& now, const double* sums) {
  constexpr double margin = 1.01;  // for the rounding of r
  now.ts = {sums[0], sums[1]};
  now.t2 = sums[2];
  const Coefficient r0t{sums[3], sums[4]}, r0s{sums[5], sums[6]};
  if (!usable(now.t2, 0) || !usable(magnitude(now.ts), now.vanishing * sqrt(now.t2 * now.s2))) {
    now.ended = BicgstabScalars::Ended::no_omega;
    return;
  }
  now.omega = step_length(now);
  const Coefficient turned = product(now.omega, r0t);
  now.next_rho = {r0s.re - turned.re, r0s.im - turned.im};
  now.beta = product(quotient(now.next_rho, now.rho), quotient(now.alpha, now.omega));
  const double omega2 = now.omega.re * now.omega.re + now.omega.im * now.omega.im;
  const double r2 = now.s2 - 2 * (now.omega.re * now.ts.re + now.omega.im * now.ts.im) + omega2 * now.t2;
  const bool far = sqrt(r2) > margin * op.ask_below;
  if (!far || !usable(magnitude(now.next_rho), now.vanishing * sqrt(r2 * now.r0_norm2)))
    now.ended = BicgstabScalars::Ended::asks;
}

QUADRILLE_HOST_DEVICE bool begin(BicgstabUpdate& op, const BicgstabScalars& now) {
  op.alpha = now.alpha;
  op.omega = now.omega;
  op.goes_on = now.ended == BicgstabScalars::Ended::no;
  if (op.goes_on) op.beta = now.beta;
  return op.goes_on || now.ended == BicgstabScalars::Ended::asks;
}

QUADRILLE_HOST_DEVICE void finish(const BicgstabUpdate& op, BicgstabScalars& now, const double* sums) {
  now.r2 = sums[0];
  if (op.goes_on) now.rho = now.next_rho;
}

}  // namespace QUADRILLE_ISA
}  // namespace quadrille::steps
