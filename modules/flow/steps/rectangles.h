// Rectangles of 1 x 2 links through a link, from neighbours alone: of their three sides beside the link one is two
// links long, and with what lies between it is a staple of the plane, which a field has for each site. On V lanes, as
// algebra.h.
#pragma once

#include "modules/flow/steps/algebra.h"

namespace quadrille::flow::inline QUADRILLE_ISA {

/// out = U_nu(x) U_mu(x+nu) U_nu(x+mu)^+, beside the link U_mu(x), or with `behind`
/// U_nu(x-nu)^+ U_mu(x-nu) U_nu(x+mu-nu).
template <class T, int V, class Around>
QUADRILLE_INLINE void staple_beside(Real<T, V>* out, const Around& around, int mu, int nu, bool behind) {
  Real<T, V> sum[18] = {};
  if (behind) {
    add_staple_behind<T, V, 18>(sum, around, around, around, mu, nu);
  } else {
    add_staple_ahead<T, V, 18>(sum, around, around, around, mu, nu);
  }
  QUADRILLE_UNROLL
  for (int i = 0; i < 3; ++i) {
    QUADRILLE_UNROLL
    for (int j = 0; j < 3; ++j) {
      out[6 * i + 2 * j] = sum[6 * j + 2 * i];
      out[6 * i + 2 * j + 1] = -sum[6 * j + 2 * i + 1];
    }
  }
}

/// sum = plaquette A + rectangle B of direction mu, A the sum of the six staples and B that of the 18 sides of
/// rectangles; plaquette is not 0. `ahead` and `behind` find the staples beside links in direction k: staple_beside()
/// with nu = k.
template <class T, int V, class Around, class Staples>
QUADRILLE_INLINE void weighted_sides(Real<T, V>* sum, const Around& u, const Staples& ahead, const Staples& behind,
                                     int mu, T plaquette, T rectangle) {
  const auto before = behind.at(mu), after = ahead.at(mu);
  QUADRILLE_UNROLL
  for (int n = 0; n < 18; ++n) sum[n] = Real<T, V>{};
  for (int nu = 0; nu < 4; ++nu) {
    if (nu == mu) continue;
    add_staple_ahead<T, V, 18>(sum, u, ahead.at(nu), u, mu, nu);
    add_staple_behind<T, V, 18>(sum, u, behind.at(nu), u, mu, nu);
    add_staple_ahead<T, V, 18>(sum, u, u, after, mu, nu);
    add_staple_ahead<T, V, 18>(sum, before, u, u, mu, nu);
    add_staple_behind<T, V, 18>(sum, u, u, after, mu, nu);
    add_staple_behind<T, V, 18>(sum, before, u, u, mu, nu);
  }
  // One matrix for both sums: a second one would not stay in a device's registers.
  QUADRILLE_UNROLL
  for (int n = 0; n < 18; ++n) sum[n] *= rectangle / plaquette;
  for (int nu = 0; nu < 4; ++nu) {
    if (nu != mu) add_staples<T, V, 18>(sum, u, mu, nu);
  }
  QUADRILLE_UNROLL
  for (int n = 0; n < 18; ++n) sum[n] *= plaquette;
}

}  // namespace quadrille::flow::inline QUADRILLE_ISA
