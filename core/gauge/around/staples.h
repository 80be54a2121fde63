// Staples and plaquettes from the links around V sites, wherever those lie.
//
// `Around` finds links: here(nu, buffer), shifted(d, nu, buffer) and shifted(d, e, nu, buffer) give the stored numbers
// (18 or 12: `numbers`) of the link of direction nu at the sites, after a shift by one site in direction d, and after
// another one in direction e; in place, or in `buffer`. Directions of shifts: 0..3 forward x..t, 4..7 backward. With 12
// numbers products are computed by their first two rows too: a third row made from them takes fewer operations than its
// product. For files compiled once per instruction set, or for one lane (core/simd/lanes.h).
#pragma once

#include "core/gauge/link_lanes.h"

namespace quadrille::link_lanes::inline QUADRILLE_ISA {

/// product = a b, for links in SU(3).
template <class T, int V, int numbers>
QUADRILLE_INLINE void multiply_links(Real<T, V>* product, const Real<T, V>* a, const Real<T, V>* b) {
  Real<T, V> third[6];
  multiply<T, V, numbers / 6>(product, a, whole_link<T, V, numbers>(b, third));
  if constexpr (numbers == 12) third_row<T, V>(product + 12, product);
}

/// sum += a staple in SU(3), of which add_to(rows) adds the first rows to a matrix.
template <class T, int V, int numbers, class AddTo>
QUADRILLE_INLINE void add_staple(Real<T, V>* sum, const AddTo& add_to) {
  if constexpr (numbers == 18) {
    add_to(sum);
  } else {
    Real<T, V> staple[18] = {};
    add_to(staple);
    third_row<T, V>(staple + 12, staple);
    QUADRILLE_UNROLL
    for (int n = 0; n < 18; ++n) sum[n] += staple[n];
  }
}

/// sum += the staple ahead of the plane mu, nu: R_nu(x+mu) [L_nu(x) U_mu(x+nu)]^+, with sides L and R.
template <class T, int V, int numbers, class Left, class U, class Right>
QUADRILLE_INLINE void add_staple_ahead(Real<T, V>* sum, const Left& left, const U& u, const Right& right, int mu,
                                       int nu) {
  Real<T, V> product[18], first[numbers], second[numbers];
  multiply_links<T, V, numbers>(product, left.here(nu, second), u.shifted(nu, mu, first));
  const Real<T, V>* const beyond = right.shifted(mu, nu, second);
  add_staple<T, V, numbers>(sum, [&](Real<T, V>* to) { add_times_adjoint<T, V, numbers / 6>(to, beyond, product); });
}

/// sum += the staple behind: [U_mu(x-nu) R_nu(x+mu-nu)]^+ L_nu(x-nu).
template <class T, int V, int numbers, class Left, class U, class Right>
QUADRILLE_INLINE void add_staple_behind(Real<T, V>* sum, const Left& left, const U& u, const Right& right, int mu,
                                        int nu) {
  Real<T, V> product[18], first[numbers], second[numbers], third[6];
  multiply_links<T, V, numbers>(product, u.shifted(nu + 4, mu, first), right.shifted(mu, nu + 4, nu, second));
  const MatrixRows<T, V> before = whole_link<T, V, numbers>(left.shifted(nu + 4, nu, first), third);
  add_staple<T, V, numbers>(sum, [&](Real<T, V>* to) { add_adjoint_times<T, V, numbers / 6>(to, product, before); });
}

/// sum += the two staples of the plane mu, nu, of the links U in mu and W in nu:
/// W_nu(x+mu) [W_nu(x) U_mu(x+nu)]^+ + [U_mu(x-nu) W_nu(x+mu-nu)]^+ W_nu(x-nu).
template <class T, int V, int numbers, class U, class W>
QUADRILLE_INLINE void add_staples(Real<T, V>* sum, const U& u, const W& w, int mu, int nu) {
  add_staple_ahead<T, V, numbers>(sum, w, u, w, mu, nu);
  add_staple_behind<T, V, numbers>(sum, w, u, w, mu, nu);
}

/// The same of one field of links.
template <class T, int V, int numbers, class Around>
QUADRILLE_INLINE void add_staples(Real<T, V>* sum, const Around& around, int mu, int nu) {
  add_staples<T, V, numbers>(sum, around, around, mu, nu);
}

/// The sum of the staples of direction mu, the spatial ones times `spatial_weight`.
template <class T, int V, int numbers, class Around>
QUADRILLE_INLINE void staples(Real<T, V>* sum, const Around& around, int mu, T spatial_weight) {
  for (int n = 0; n < 18; ++n) sum[n] = Real<T, V>{};
  QUADRILLE_UNROLL
  for (int nu = 0; nu < 3; ++nu) {
    if (nu != mu) add_staples<T, V, numbers>(sum, around, mu, nu);
  }
  if (mu == 3) return;
  for (int n = 0; n < 18; ++n) sum[n] *= spatial_weight;
  add_staples<T, V, numbers>(sum, around, mu, 3);
}

/// Re tr of the plaquette of the plane mu, nu.
template <class T, int V, int numbers, class Around>
QUADRILLE_INLINE Real<T, V> plane_trace(const Around& around, int mu, int nu) {
  Real<T, V> there[18], back[18], first[numbers], second[numbers];
  multiply_links<T, V, numbers>(there, around.here(mu, first), around.shifted(mu, nu, second));
  multiply_links<T, V, numbers>(back, around.here(nu, first), around.shifted(nu, mu, second));
  return real_trace_adjoint<T, V>(there, back);
}

}  // namespace quadrille::link_lanes::inline QUADRILLE_ISA
