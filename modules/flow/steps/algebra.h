// The Lie algebra of SU(3) on V lanes: traceless anti-Hermitian matrices by 8 real numbers, and their exponentials.
//
// Numbers: Im X_00, Im X_11, then Re and Im of X_01, X_02, X_12; Im X_22 = - Im X_00 - Im X_11. Matrices are those of
// core/gauge/link_lanes.h. For files compiled once per instruction set, or for one lane (core/simd/lanes.h).
#pragma once

#include "core/gauge/around/staples.h"
#include "core/gauge/su2_lanes.h"
#include "modules/flow/steps/kernels.h"

namespace quadrille::flow::inline QUADRILLE_ISA {

using namespace link_lanes;

constexpr int algebra_numbers = 8;

/// x = the traceless anti-Hermitian part of m: (m - m^+) / 2 - tr(m - m^+) / 6.
template <class T, int V>
QUADRILLE_INLINE void project(Real<T, V>* x, const Real<T, V>* m) {
  const Real<T, V> mean = (m[1] + m[9] + m[17]) * T(1.0 / 3);
  x[0] = m[1] - mean;
  x[1] = m[9] - mean;
  constexpr int above[3] = {2, 4, 10}, below[3] = {6, 12, 14};
  QUADRILLE_UNROLL
  for (int k = 0; k < 3; ++k) {
    x[2 + 2 * k] = T(0.5) * (m[above[k]] - m[below[k]]);
    x[3 + 2 * k] = T(0.5) * (m[above[k] + 1] + m[below[k] + 1]);
  }
}

/// m = the matrix of x.
template <class T, int V>
QUADRILLE_INLINE void whole(Real<T, V>* m, const Real<T, V>* x) {
  const Real<T, V> zero{};
  m[0] = m[8] = m[16] = zero;
  m[1] = x[0];
  m[9] = x[1];
  m[17] = -x[0] - x[1];
  constexpr int above[3] = {2, 4, 10}, below[3] = {6, 12, 14};
  QUADRILLE_UNROLL
  for (int k = 0; k < 3; ++k) {
    m[above[k]] = x[2 + 2 * k];
    m[above[k] + 1] = x[3 + 2 * k];
    m[below[k]] = -x[2 + 2 * k];
    m[below[k] + 1] = x[3 + 2 * k];
  }
}

/// u = exp(x) u.
///
/// By Cayley and Hamilton x^3 = t x + i d with t = tr x^2 / 2 and i d = det x, so Taylor's series, summed by Horner's
/// rule from its term of degree `degree`, stays a polynomial q0 + q1 x + q2 x^2. Its error for |x| (the largest
/// singular value) up to 1 is below rounding: 1 / 18! = 1.6e-16.
template <class T, int V>
QUADRILLE_INLINE void exponentiate(Real<T, V>* u, const Real<T, V>* x) {
  constexpr int degree = sizeof(T) == 8 ? 17 : 11;
  Real<T, V> m[18], square[18];
  whole<T, V>(m, x);
  multiply<T, V>(square, m, m);
  const Real<T, V> t = T(0.5) * (square[0] + square[8] + square[16]);
  // det of a traceless matrix = tr x^3 / 3, and x^3 = x x^2.
  Real<T, V> d{};
  QUADRILLE_UNROLL
  for (int i = 0; i < 3; ++i) {
    QUADRILLE_UNROLL
    for (int k = 0; k < 3; ++k) {
      const Real<T, V>*a = m + 6 * i + 2 * k, *b = square + 6 * k + 2 * i;
      d += a[0] * b[1] + a[1] * b[0];
    }
  }
  d *= T(1.0 / 3);

  T factor = 1;  // 1 / n!
  T inverse_factorials[degree + 1];
  QUADRILLE_UNROLL
  for (int n = 0; n <= degree; ++n) {
    inverse_factorials[n] = factor;
    factor /= T(n + 1);
  }
  Real<T, V> q0r{}, q0i{}, q1r{}, q1i{}, q2r{}, q2i{};
  QUADRILLE_UNROLL
  for (int n = degree; n >= 0; --n) {
    const Real<T, V> r = inverse_factorials[n] - d * q2i, i = d * q2r;
    const Real<T, V> sr = q0r + t * q2r, si = q0i + t * q2i;
    q2r = q1r;
    q2i = q1i;
    q1r = sr;
    q1i = si;
    q0r = r;
    q0i = i;
  }

  // square becomes exp(x).
  QUADRILLE_UNROLL
  for (int n = 0; n < 18; n += 2) {
    const Real<T, V> re = q1r * m[n] - q1i * m[n + 1] + q2r * square[n] - q2i * square[n + 1];
    const Real<T, V> im = q1r * m[n + 1] + q1i * m[n] + q2r * square[n + 1] + q2i * square[n];
    square[n] = n % 8 == 0 ? re + q0r : re;
    square[n + 1] = n % 8 == 0 ? im + q0i : im;
  }
  QUADRILLE_UNROLL
  for (int n = 0; n < 18; ++n) m[n] = u[n];
  multiply<T, V>(u, square, m);
}

/// One stage of the integrator for one link: y = - z P(u A) + carry y, u = exp(y) u, P the projection above and A the
/// sum of the staples. `carry` = 0: y need not be numbers before.
template <class T, int V>
QUADRILLE_INLINE void flow_link(Real<T, V>* u, Real<T, V>* y, const Real<T, V>* staples, T z, T carry) {
  Real<T, V> product[18], force[algebra_numbers];
  multiply<T, V>(product, u, staples);
  project<T, V>(force, product);
  QUADRILLE_UNROLL
  for (int n = 0; n < algebra_numbers; ++n) {
    const Real<T, V> kept = carry != 0 ? carry * y[n] : Real<T, V>{};
    y[n] = kept - z * force[n];
  }
  exponentiate<T, V>(u, y);
}

/// The sum of the staples of direction mu in the planes with some directions.
template <class T, int V, class Around>
QUADRILLE_INLINE void staples_in(Real<T, V>* sum, const Around& around, int mu, unsigned directions) {
  for (int n = 0; n < 18; ++n) sum[n] = Real<T, V>{};
  QUADRILLE_UNROLL
  for (int nu = 0; nu < 4; ++nu) {
    if (nu != mu && (directions >> nu & 1u) != 0) add_staples<T, V, 18>(sum, around, mu, nu);
  }
}

/// The sum of the staples of direction mu on a level of HYP smearing: `before(k)` finds links around the site in the
/// field of the level before whose excluded direction is k (any k on level 1, of the links that are smeared).
template <class T, int V, class Before>
QUADRILLE_INLINE void level_staples(Real<T, V>* sum, const Before& before, const HypLevel& level, int mu) {
  for (int n = 0; n < 18; ++n) sum[n] = Real<T, V>{};
  if (level.level == 1) return add_staples<T, V, 18>(sum, before(0), mu, level.excluded);
  for (int nu = 0; nu < 4; ++nu) {
    if (nu == mu || nu == level.excluded) continue;
    if (level.level == 2) {
      add_staples<T, V, 18>(sum, before(6 - mu - nu - level.excluded), mu, nu);
    } else {
      add_staples<T, V, 18>(sum, before(nu), before(mu), mu, nu);
    }
  }
}

/// u = the matrix of SU(3) with the largest Re tr(u v^+), by ascent from u in one SU(2) subgroup after the other
/// (N. Cabibbo and E. Marinari, Phys. Lett. B 119 (1982) 387), until none turns it by more than rounding. A lane
/// whose link stands stays as it is while others go on: which links share a register plays no part.
template <class T, int V>
QUADRILLE_INLINE void project_on_group(Real<T, V>* u, const Real<T, V>* v) {
  constexpr int rounds = 1000;
  constexpr T still = sizeof(T) == 8 ? T(1e-29) : T(1e-12);  // of the square of a turn
  const Real<T, V> zero{}, one = zero + T(1);
  Real<T, V> m[18] = {};
  add_times_adjoint<T, V>(m, u, v);
  simd::Mask<T, V> goes_on = one > zero;
  for (int round = 0; round < rounds && simd::any<T, V>(goes_on); ++round) {
    Real<T, V> turn{};
    QUADRILLE_UNROLL
    for (int subgroup = 0; subgroup < 3; ++subgroup) {
      const int i = subgroup == 2 ? 1 : 0, j = subgroup == 0 ? 1 : 2;
      const Quaternion<T, V> r = subgroup_part<T, V>(m, i, j);
      const Real<T, V> size2 = square<T, V>(r);
      const simd::Mask<T, V> directed = goes_on & (size2 >= smallest_square<T>);
      const Real<T, V> inverse = simd::reciprocal<T, V>(simd::sqrt<T, V>(directed ? size2 : one));
      const Quaternion<T, V> g = {{directed ? r.a[0] * inverse : one, directed ? -r.a[1] * inverse : zero,
                                   directed ? -r.a[2] * inverse : zero, directed ? -r.a[3] * inverse : zero}};
      rotate_rows<T, V>(u, g, i, j);
      rotate_rows<T, V>(m, g, i, j);
      turn += g.a[1] * g.a[1] + g.a[2] * g.a[2] + g.a[3] * g.a[3];
    }
    goes_on = turn > zero + still;
  }
  Real<T, V> change{};
  reunitarize_link<T, V>(u, change);
  QUADRILLE_UNROLL
  for (int n = 0; n < 18; ++n) u[n] += zero;  // one zero: a turn by nothing may change its sign
}

/// u = the SU(3) matrix nearest to own u + staples A^+.
template <class T, int V>
QUADRILLE_INLINE void smear_link(Real<T, V>* u, const Real<T, V>* a, T own, T staples) {
  Real<T, V> v[18];
  QUADRILLE_UNROLL
  for (int i = 0; i < 3; ++i) {
    QUADRILLE_UNROLL
    for (int j = 0; j < 3; ++j) {
      const int n = 6 * i + 2 * j, adjoint = 6 * j + 2 * i;
      v[n] = own * u[n] + staples * a[adjoint];
      v[n + 1] = own * u[n + 1] - staples * a[adjoint + 1];
    }
  }
  project_on_group<T, V>(u, v);
}

}  // namespace quadrille::flow::inline QUADRILLE_ISA
