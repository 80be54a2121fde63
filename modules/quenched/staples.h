// Staples and plaquettes from the links around V sites, wherever those lie.
//
// `Around` finds links: here(nu, buffer), shifted(d, nu, buffer) and shifted(d, e, nu, buffer) give the link of
// direction nu at the sites, after a shift by one site in direction d, and after another one in direction e; in place,
// or in `buffer`. Directions of shifts: 0..3 forward x..t, 4..7 backward. For files compiled once per instruction set,
// or for one lane (core/lanes.h).
#pragma once

#include "modules/quenched/link_update.h"

namespace quadrille::quenched::inline QUADRILLE_ISA {

/// sum += the two staples of the plane mu, nu:
/// U_nu(x+mu) [U_nu(x) U_mu(x+nu)]^+ + [U_mu(x-nu) U_nu(x+mu-nu)]^+ U_nu(x-nu).
template <int V, class Around>
QUADRILLE_INLINE void add_staples(Real<V>* sum, const Around& around, int mu, int nu) {
  Real<V> product[18], first[18], second[18];
  multiply<V>(product, around.here(nu, second), around.shifted(nu, mu, first));
  add_times_adjoint<V>(sum, around.shifted(mu, nu, second), product);
  multiply<V>(product, around.shifted(nu + 4, mu, first), around.shifted(mu, nu + 4, nu, second));
  add_adjoint_times<V>(sum, product, around.shifted(nu + 4, nu, first));
}

/// The sum of the staples of direction mu, the spatial ones times `spatial_weight`.
template <int V, class Around>
QUADRILLE_INLINE void staples(Real<V>* sum, const Around& around, int mu, double spatial_weight) {
  for (int n = 0; n < 18; ++n) sum[n] = Real<V>{};
  for (int nu = 0; nu < 3; ++nu) {
    if (nu != mu) add_staples<V>(sum, around, mu, nu);
  }
  if (mu == 3) return;
  for (int n = 0; n < 18; ++n) sum[n] *= spatial_weight;
  add_staples<V>(sum, around, mu, 3);
}

/// Re tr of the plaquette of the plane mu, nu.
template <int V, class Around>
QUADRILLE_INLINE Real<V> plane_trace(const Around& around, int mu, int nu) {
  Real<V> there[18], back[18], first[18], second[18];
  multiply<V>(there, around.here(mu, first), around.shifted(mu, nu, second));
  multiply<V>(back, around.here(nu, first), around.shifted(nu, mu, second));
  return real_trace_adjoint<V>(there, back);
}

}  // namespace quadrille::quenched::inline QUADRILLE_ISA
