// What a device's thread does to one site of links in the grouped layout; a host loop can do the same.
//
// Every function works on one of the sites that are this rank's own, the one with even-odd index `item` of parity
// `parity` among these. Sites of one parity and links of one direction may be updated in any order.
#pragma once

#include "core/gauge/staples.h"
#include "core/layout/grouped_layout.h"
#include "core/layout/site_place.h"
#include "modules/quenched/updates/grouped_links.h"
#include "modules/quenched/updates/link_update.h"

namespace quadrille::quenched::inline QUADRILLE_ISA {

/// `count` numbers that lie together and are moved at once.
template <class T, int count>
struct alignas(count * sizeof(T)) NumberGroup {
  T n[count];
};

/// Where the numbers of the links of a site lie: in groups of 16 bytes and a narrower one of what is left.
template <class T, int numbers>
struct LinkGroups {
  static constexpr int width = group_bytes / int(sizeof(T)), whole = numbers / width, left = numbers % width;
  static_assert(left == 0 || left == 2);
  using Group = NumberGroup<T, width>;
  using Left = NumberGroup<T, 2>;

  T* block;      ///< the first number of the link at the first site of the site's block
  int in_block;  ///< the site's place there

  QUADRILLE_INLINE LinkGroups(const GroupedLinks& links, int parity, int site, int mu)
      : block(static_cast<T*>(links.links[parity]) +
              (std::int64_t(site / Layout::block) * (4 * numbers * Layout::block) + mu * numbers * Layout::block)),
        in_block(site % Layout::block) {}

  QUADRILLE_INLINE Group& group(int g) const { return reinterpret_cast<Group*>(block)[g * Layout::block + in_block]; }
  QUADRILLE_INLINE Left& rest() const {
    return reinterpret_cast<Left*>(block + whole * width * Layout::block)[in_block];
  }
};

/// Reads the stored numbers of a link into `u` and returns it.
template <class T, int numbers>
QUADRILLE_INLINE const T* load_link(const GroupedLinks& links, int parity, int site, int mu, T* u) {
  using Groups = LinkGroups<T, numbers>;
  const Groups from(links, parity, site, mu);
  QUADRILLE_UNROLL
  for (int g = 0; g < Groups::whole; ++g) {
    const typename Groups::Group group = from.group(g);
    QUADRILLE_UNROLL
    for (int n = 0; n < Groups::width; ++n) u[g * Groups::width + n] = group.n[n];
  }
  if constexpr (Groups::left > 0) {
    const typename Groups::Left rest = from.rest();
    u[numbers - 2] = rest.n[0];
    u[numbers - 1] = rest.n[1];
  }
  return u;
}

/// The same with the third row: u[0..18).
template <class T, int numbers>
QUADRILLE_INLINE const T* load_whole_link(const GroupedLinks& links, int parity, int site, int mu, T* u) {
  load_link<T, numbers>(links, parity, site, mu, u);
  if constexpr (numbers == 12) third_row<T, 1>(u + 12, u);
  return u;
}

template <class T, int numbers>
QUADRILLE_INLINE void store_link(const GroupedLinks& links, int parity, int site, int mu, const T* u) {
  using Groups = LinkGroups<T, numbers>;
  const Groups to(links, parity, site, mu);
  QUADRILLE_UNROLL
  for (int g = 0; g < Groups::whole; ++g) {
    typename Groups::Group group;
    QUADRILLE_UNROLL
    for (int n = 0; n < Groups::width; ++n) group.n[n] = u[g * Groups::width + n];
    to.group(g) = group;
  }
  if constexpr (Groups::left > 0) to.rest() = {{u[numbers - 2], u[numbers - 1]}};
}

/// Finds links around one site (core/gauge/staples.h).
template <class T, int numbers>
class GroupedSurroundings {
 public:
  QUADRILLE_INLINE GroupedSurroundings(const GroupedLinks& links, int parity, int item)
      : links_(links), place_(links.own, parity, item), parity_(parity), site_(place_.site(links)) {}

  QUADRILLE_INLINE std::int64_t global_site() const { return links_.global_site(place_); }
  QUADRILLE_INLINE int site() const { return site_; }

  QUADRILLE_INLINE const T* here(int nu, T* buffer) const {
    return load_link<T, numbers>(links_, parity_, site_, nu, buffer);
  }
  QUADRILLE_INLINE const T* shifted(int d, int nu, T* buffer) const {
    return load_link<T, numbers>(links_, 1 - parity_, place_.neighbour(links_, d).site(links_), nu, buffer);
  }
  QUADRILLE_INLINE const T* shifted(int d, int e, int nu, T* buffer) const {
    const SitePlace to = place_.neighbour(links_, d).neighbour(links_, e);
    return load_link<T, numbers>(links_, parity_, to.site(links_), nu, buffer);
  }

 private:
  const GroupedLinks& links_;
  SitePlace place_;
  int parity_, site_;
};

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

/// Copies the stored numbers of the site's four links between links with ghosts and without.
template <class T, int numbers>
QUADRILLE_INLINE void copy_site(const GroupedLinks& to, const GroupedLinks& from, int parity, int item) {
  const SitePlace place(from.own, parity, item);
  for (int mu = 0; mu < 4; ++mu) {
    T u[18];
    load_link<T, numbers>(from, parity, place.site(from), mu, u);
    store_link<T, numbers>(to, parity, place.site(to), mu, u);
  }
}

/// The stored numbers of a link of a layer into its buffer, and out of it.
template <class T, int numbers>
QUADRILLE_INLINE void pack_link(const GroupedLinks& links, const LinkFace& face, int mu, int parity, int item) {
  T u[18];
  load_link<T, numbers>(links, parity, face.place(parity, item).site(links), mu, u);
  T* const to = static_cast<T*>(face.buffer) + item;
  QUADRILLE_UNROLL
  for (int n = 0; n < numbers; ++n) to[std::int64_t(n) * face.sites.sites] = u[n];
}
template <class T, int numbers>
QUADRILLE_INLINE void unpack_link(const GroupedLinks& links, const LinkFace& face, int mu, int parity, int item) {
  T u[18];
  const T* const from = static_cast<const T*>(face.buffer) + item;
  QUADRILLE_UNROLL
  for (int n = 0; n < numbers; ++n) u[n] = from[std::int64_t(n) * face.sites.sites];
  store_link<T, numbers>(links, parity, face.place(parity, item).site(links), mu, u);
}

}  // namespace quadrille::quenched::inline QUADRILLE_ISA
