// What a device's thread does to one site of links in the grouped layout; a host loop can do the same.
//
// Every function works on one of the sites that are this rank's own, the one with even-odd index `item` of parity
// `parity` among these. Sites of one parity and links of one direction may be updated in any order.
#pragma once

#include "core/gauge/around/grouped_surroundings.h"
#include "core/gauge/around/staples.h"
#include "modules/quenched/updates/link_update.h"

namespace quadrille::quenched::inline QUADRILLE_ISA {

/// Replaces the link of direction mu; `update` is a Heatbath<T, 1> or an Overrelaxation<T, 1>.
template <class T, int numbers, int mu, class Update>
QUADRILLE_INLINE void update_site(const GroupedLinks& links, int parity, int item, T spatial_weight,
                                  const Update& update) {
  const GroupedSurroundings<T, numbers> around(links, parity, item);
  const std::int64_t counter = around.global_site();
  T sum[18], u[18];
  staples<T, 1, numbers>(sum, around, mu, spatial_weight);
  load_link<T, numbers>(links, parity, around.site(), mu, u);
  if constexpr (numbers == 12) add_unit_third_row<T, 1>(u);
  update_link<T, 1>(u, sum, update, &counter);
  store_link<T, numbers>(links, parity, around.site(), mu, u);
}

/// sums[0..6) += Re tr P of the planes xy, xz, xt, yz, yt, zt.
template <class T, int numbers>
QUADRILLE_INLINE void add_planes(const GroupedLinks& links, int parity, int item, double* sums) {
  const GroupedSurroundings<T, numbers> around(links, parity, item);
  for (int plane = 0; plane < 6; ++plane) {
    const int mu = plane < 3 ? 0 : plane < 5 ? 1 : 2, nu = plane < 3 ? plane + 1 : plane < 5 ? plane - 1 : 3;
    const double trace = plane_trace<T, 1, numbers>(around, mu, nu);
    QUADRILLE_UNROLL
    for (int k = 0; k < 6; ++k) sums[k] += k == plane ? trace : 0;
  }
}

/// product[0..18) = the product of this rank's time links, in double, at one of the x y z places of its space.
template <class T, int numbers>
QUADRILLE_INLINE void time_product(const GroupedLinks& links, int place, double* product) {
  // Of the two sites of time 0 that share an even-odd index, x is even and odd.
  SitePlace at(links.own, 0, place / 2);
  at.x = at.x / 2 * 2 + (place & 1);
  T u[18];
  double next[18], sum[18];
  for (at.t = 0; at.t < links.own.t; ++at.t) {
    load_whole_link<T, numbers>(links, at.parity(), at.site(links), 3, u);
    QUADRILLE_UNROLL
    for (int n = 0; n < 18; ++n) next[n] = u[n];
    if (at.t > 0) multiply<double, 1>(sum, product, next);
    QUADRILLE_UNROLL
    for (int n = 0; n < 18; ++n) product[n] = at.t > 0 ? sum[n] : next[n];
  }
}

/// sums[0..2) += re and im of its trace.
template <class T, int numbers>
QUADRILLE_INLINE void add_loop(const GroupedLinks& links, int place, double* sums) {
  double loop[18];
  time_product<T, numbers>(links, place, loop);
  sums[0] += loop[0] + loop[8] + loop[16];
  sums[1] += loop[1] + loop[9] + loop[17];
}

/// Makes the site's four links SU(3) matrices and raises `largest` to the largest |change| of a number.
template <class T, int numbers>
QUADRILLE_INLINE void reunitarize_site(const GroupedLinks& links, int parity, int item, double& largest) {
  const int site = SitePlace(links.own, parity, item).site(links);
  T most = T(largest);
  for (int mu = 0; mu < 4; ++mu) {
    T u[18];
    load_whole_link<T, numbers>(links, parity, site, mu, u);
    reunitarize_link<T, 1>(u, most);
    store_link<T, numbers>(links, parity, site, mu, u);
  }
  largest = most;
}

}  // namespace quadrille::quenched::inline QUADRILLE_ISA
