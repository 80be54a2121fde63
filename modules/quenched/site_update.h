// What a device's thread does to one site of links in the grouped layout; a host loop can do the same.
//
// Every function works on the site with even-odd index `site` of parity `parity`. Sites of one parity and links of one
// direction may be updated in any order.
#pragma once

#include "core/layout/grouped_layout.h"
#include "modules/quenched/grouped_links.h"
#include "modules/quenched/staples.h"

namespace quadrille::quenched::inline QUADRILLE_ISA {

/// Coordinates of a site, and its neighbours'.
struct SitePlace {
  int x, y, z, t;

  QUADRILLE_INLINE SitePlace(const GroupedLinks& links, int parity, int site) {
    const int half_x = links.x / 2;
    int rest = site / half_x;
    const int xh = site - rest * half_x;
    int above = rest / links.y;
    y = rest - above * links.y;
    rest = above / links.z;
    z = above - rest * links.z;
    t = rest;
    x = 2 * xh + ((y + z + t + parity) & 1);
  }

  QUADRILLE_INLINE int parity() const { return (x + y + z + t) & 1; }
  /// Even-odd index.
  QUADRILLE_INLINE int site(const GroupedLinks& links) const {
    return ((t * links.z + z) * links.y + y) * (links.x / 2) + x / 2;
  }
  /// Lexicographic index: the counter of the site's random numbers.
  QUADRILLE_INLINE std::int64_t lexicographic(const GroupedLinks& links) const {
    return ((std::int64_t(t) * links.z + z) * links.y + y) * links.x + x;
  }

  /// The neighbour in direction d: 0..3 forward x..t, 4..7 backward.
  QUADRILLE_INLINE SitePlace neighbour(const GroupedLinks& links, int d) const {
    SitePlace to = *this;
    const bool forward = d < 4;
    switch (d & 3) {
      case 0: to.x = moved(x, links.x, forward); break;
      case 1: to.y = moved(y, links.y, forward); break;
      case 2: to.z = moved(z, links.z, forward); break;
      default: to.t = moved(t, links.t, forward);
    }
    return to;
  }

 private:
  static QUADRILLE_INLINE int moved(int coordinate, int extent, bool forward) {
    if (forward) return coordinate == extent - 1 ? 0 : coordinate + 1;
    return coordinate == 0 ? extent - 1 : coordinate - 1;
  }
};

QUADRILLE_INLINE LinkElement* first_element(const GroupedLinks& links, int parity, int site, int mu) {
  const int in_block = site % Layout::block;
  return links.elements[parity] + (std::int64_t(site - in_block) * 36 + 9 * mu * Layout::block + in_block);
}

/// Reads a link into `u` and returns it.
QUADRILLE_INLINE const double* load_link(const GroupedLinks& links, int parity, int site, int mu, double* u) {
  const LinkElement* from = first_element(links, parity, site, mu);
  QUADRILLE_UNROLL
  for (int e = 0; e < 9; ++e) {
    const LinkElement element = from[e * Layout::block];
    u[2 * e] = element.re;
    u[2 * e + 1] = element.im;
  }
  return u;
}

QUADRILLE_INLINE void store_link(const GroupedLinks& links, int parity, int site, int mu, const double* u) {
  LinkElement* to = first_element(links, parity, site, mu);
  QUADRILLE_UNROLL
  for (int e = 0; e < 9; ++e) to[e * Layout::block] = {u[2 * e], u[2 * e + 1]};
}

/// Finds links around one site (modules/quenched/staples.h).
class GroupedSurroundings {
 public:
  QUADRILLE_INLINE GroupedSurroundings(const GroupedLinks& links, int parity, int site)
      : links_(links), place_(links, parity, site), parity_(parity), site_(site) {}

  QUADRILLE_INLINE const SitePlace& place() const { return place_; }

  QUADRILLE_INLINE const double* here(int nu, double* buffer) const {
    return load_link(links_, parity_, site_, nu, buffer);
  }
  QUADRILLE_INLINE const double* shifted(int d, int nu, double* buffer) const {
    return load_link(links_, 1 - parity_, place_.neighbour(links_, d).site(links_), nu, buffer);
  }
  QUADRILLE_INLINE const double* shifted(int d, int e, int nu, double* buffer) const {
    const SitePlace to = place_.neighbour(links_, d).neighbour(links_, e);
    return load_link(links_, parity_, to.site(links_), nu, buffer);
  }

 private:
  const GroupedLinks& links_;
  SitePlace place_;
  int parity_, site_;
};

/// Replaces the link of direction mu; `update` is a Heatbath<1> or an Overrelaxation<1>.
template <int mu, class Update>
QUADRILLE_INLINE void update_site(const GroupedLinks& links, int parity, int site, double spatial_weight,
                                  const Update& update) {
  const GroupedSurroundings around(links, parity, site);
  const std::int64_t counter = around.place().lexicographic(links);
  double sum[18], u[18];
  staples<1>(sum, around, mu, spatial_weight);
  around.here(mu, u);
  update_link<1>(u, sum, update, &counter);
  store_link(links, parity, site, mu, u);
}

/// sums[0..6) += Re tr P of the planes xy, xz, xt, yz, yt, zt.
QUADRILLE_INLINE void add_planes(const GroupedLinks& links, int parity, int site, double* sums) {
  const GroupedSurroundings around(links, parity, site);
  for (int plane = 0; plane < 6; ++plane) {
    const int mu = plane < 3 ? 0 : plane < 5 ? 1 : 2, nu = plane < 3 ? plane + 1 : plane < 5 ? plane - 1 : 3;
    const double trace = plane_trace<1>(around, mu, nu);
    QUADRILLE_UNROLL
    for (int k = 0; k < 6; ++k) sums[k] += k == plane ? trace : 0;
  }
}

/// sums[0..2) += re and im of the trace of the product of the time links at one of the x y z places of space.
QUADRILLE_INLINE void add_loop(const GroupedLinks& links, int place, double* sums) {
  // Of the two sites of time 0 that share an even-odd index, x is even and odd.
  const int pair = place / 2, x = place & 1;
  SitePlace at(links, 0, pair);
  at.x = at.x / 2 * 2 + x;
  double loop[18], u[18], product[18];
  load_link(links, at.parity(), pair, 3, loop);
  for (at.t = 1; at.t < links.t; ++at.t) {
    multiply<1>(product, loop, load_link(links, at.parity(), at.site(links), 3, u));
    QUADRILLE_UNROLL
    for (int n = 0; n < 18; ++n) loop[n] = product[n];
  }
  sums[0] += loop[0] + loop[8] + loop[16];
  sums[1] += loop[1] + loop[9] + loop[17];
}

/// Makes the site's four links SU(3) matrices and raises `largest` to the largest |change| of a number.
QUADRILLE_INLINE void reunitarize_site(const GroupedLinks& links, int parity, int site, double& largest) {
  for (int mu = 0; mu < 4; ++mu) {
    double u[18];
    load_link(links, parity, site, mu, u);
    reunitarize_link<1>(u, largest);
    store_link(links, parity, site, mu, u);
  }
}

}  // namespace quadrille::quenched::inline QUADRILLE_ISA
