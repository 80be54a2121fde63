// Relaxation of a gauge transformation at V sites: what CPUs and devices share.
//
// `Links` finds the four links of the sites around (core/gauge/around/staples.h), `Turns` the transformation g, one
// matrix a site. The functional at x is Re tr M(x) with
//
//   M(x) = g(x) K(x),  K(x) = sum_mu [U_mu(x) g(x + mu)^+ + U_mu(x - mu)^+ g(x - mu)^+],
//
// whose traceless anti-Hermitian part is i D(x), D the divergence of the transformed links.
#pragma once

#include "core/gauge/su2_lanes.h"

namespace quadrille::gauge_fixing::inline QUADRILLE_ISA {

using namespace link_lanes;

/// What is seen at sites when they relax.
template <class T, int V>
struct SeenAt {
  Real<T, V> functional;     ///< Re tr M after the turn
  Real<T, V> before, after;  ///< tr D D^+ before and after the turn
};

/// tr D D^+ of M.
template <class T, int V>
QUADRILLE_INLINE Real<T, V> divergence2(const Real<T, V>* m) {
  const Real<T, V> mean = (m[1] + m[9] + m[17]) * T(1.0 / 3);
  Real<T, V> sum{};
  QUADRILLE_UNROLL
  for (int i = 0; i < 3; ++i) {
    const Real<T, V> diagonal = m[8 * i + 1] - mean;
    sum += diagonal * diagonal;
    QUADRILLE_UNROLL
    for (int j = i + 1; j < 3; ++j) {
      const Real<T, V>*above = m + 6 * i + 2 * j, *below = m + 6 * j + 2 * i;
      const Real<T, V> re = above[0] - below[0], im = above[1] + below[1];
      sum += T(0.5) * (re * re + im * im);
    }
  }
  return sum;
}

/// m = M(x) of the links in some directions; `here` is g(x).
template <class T, int V, class Links, class Turns>
QUADRILLE_INLINE void functional_matrix(Real<T, V>* m, const Real<T, V>* here, const Links& links, const Turns& turns,
                                        unsigned directions) {
  Real<T, V> k[18] = {}, product[18], first[18], second[18];
  QUADRILLE_UNROLL
  for (int mu = 0; mu < 4; ++mu) {
    if ((directions >> mu & 1u) == 0) continue;
    add_times_adjoint<T, V>(k, links.here(mu, first), turns.shifted(mu, 0, second));
    multiply<T, V>(product, turns.shifted(mu + 4, 0, first), links.shifted(mu + 4, mu, second));
    QUADRILLE_UNROLL
    for (int i = 0; i < 3; ++i) {
      QUADRILLE_UNROLL
      for (int j = 0; j < 3; ++j) {
        k[6 * i + 2 * j] += product[6 * j + 2 * i];
        k[6 * i + 2 * j + 1] -= product[6 * j + 2 * i + 1];
      }
    }
  }
  multiply<T, V>(m, here, k);
}

/// h = the turn of SU(3) with nearly the largest Re tr(h m), by the best turn in one SU(2) subgroup after the other (N.
/// Cabibbo and E. Marinari, Phys. Lett. B 119 (1982) 387), twice in each; turned = h m.
template <class T, int V>
QUADRILLE_INLINE void best_turn(Real<T, V>* h, Real<T, V>* turned, const Real<T, V>* m) {
  const Real<T, V> zero{}, one = zero + T(1);
  QUADRILLE_UNROLL
  for (int n = 0; n < 18; ++n) {
    h[n] = n % 8 == 0 ? one : zero;
    turned[n] = m[n];
  }
  QUADRILLE_UNROLL
  for (int hit = 0; hit < 6; ++hit) {
    const int subgroup = hit % 3, i = subgroup == 2 ? 1 : 0, j = subgroup == 0 ? 1 : 2;
    const Quaternion<T, V> r = subgroup_part<T, V>(turned, i, j);
    const Real<T, V> size2 = square<T, V>(r);
    const simd::Mask<T, V> directed = size2 >= smallest_square<T>;
    const Real<T, V> inverse = simd::reciprocal<T, V>(simd::sqrt<T, V>(directed ? size2 : one));
    const Quaternion<T, V> turn = {{directed ? r.a[0] * inverse : one, directed ? -r.a[1] * inverse : zero,
                                    directed ? -r.a[2] * inverse : zero, directed ? -r.a[3] * inverse : zero}};
    rotate_rows<T, V>(h, turn, i, j);
    rotate_rows<T, V>(turned, turn, i, j);
  }
}

template <class T, int V>
QUADRILLE_INLINE Real<T, V> real_trace(const Real<T, V>* m) {
  return m[0] + m[8] + m[16];
}

/// Turns g and with it m, by 1 + omega (h - 1) made unitary, h the best turn (J. E. Mandula and M. Ogilvie, Phys. Lett.
/// B 248 (1990) 156, to first order), and by h itself where that would lower Re tr m, which never falls so. All of
/// SU(3) is overrelaxed at once: of the diagonal turns, which lie in two subgroups each, one after the other would make
/// too little or too much. omega = 0 turns nothing.
template <class T, int V>
QUADRILLE_INLINE SeenAt<T, V> relax(Real<T, V>* g, Real<T, V>* m, T omega) {
  SeenAt<T, V> seen;
  seen.before = divergence2<T, V>(m);
  if (omega != T(0)) {
    Real<T, V> h[18], by_h[18], over[18], by_over[18], change{};
    best_turn<T, V>(h, by_h, m);
    QUADRILLE_UNROLL
    for (int n = 0; n < 18; ++n) over[n] = omega * h[n] + T(n % 8 == 0 ? 1 - omega : 0);
    reunitarize_link<T, V>(over, change);
    multiply<T, V>(by_over, over, m);
    const simd::Mask<T, V> rises = real_trace<T, V>(by_over) >= real_trace<T, V>(m);
    QUADRILLE_UNROLL
    for (int n = 0; n < 18; ++n) {
      m[n] = rises ? by_over[n] : by_h[n];
      h[n] = rises ? over[n] : h[n];
      over[n] = g[n];
    }
    multiply<T, V>(g, h, over);
    reunitarize_link<T, V>(g, change);
  }
  seen.functional = real_trace<T, V>(m);
  seen.after = divergence2<T, V>(m);
  return seen;
}

/// out = g(x) U_mu(x) g(x + mu)^+.
template <class T, int V, class Links, class Turns>
QUADRILLE_INLINE void transformed_link(Real<T, V>* out, const Links& links, const Turns& turns, int mu) {
  Real<T, V> product[18], first[18], second[18];
  multiply<T, V>(product, turns.here(0, first), links.here(mu, second));
  QUADRILLE_UNROLL
  for (int n = 0; n < 18; ++n) out[n] = Real<T, V>{};
  add_times_adjoint<T, V>(out, product, turns.shifted(mu, 0, first));
}

}  // namespace quadrille::gauge_fixing::inline QUADRILLE_ISA
