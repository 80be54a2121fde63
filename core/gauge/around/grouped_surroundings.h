// Links around one site of a torus in the grouped layout, one lane of core/simd/lanes.h: device code, or a host loop.
//
// The site is one of those that are this rank's own, the one with even-odd index `item` of parity `parity` among these.
#pragma once

#include "core/gauge/around/grouped_links.h"
#include "core/gauge/link_lanes.h"
#include "core/layout/grouped_layout.h"

namespace quadrille::link_lanes::inline QUADRILLE_ISA {

/// `count` numbers that lie together and are moved at once.
template <class T, int count>
struct alignas(count * sizeof(T)) NumberGroup {
  T n[count];
};

/// Where the numbers of the links of a site lie: in groups of 16 bytes and a narrower one of what is left. Fields of
/// other matrices have `matrices` of them a site.
template <class T, int numbers, int matrices = 4>
struct LinkGroups {
  static constexpr int width = group_bytes / int(sizeof(T)), whole = numbers / width, left = numbers % width;
  static_assert(left == 0 || left == 2);
  using Group = NumberGroup<T, width>;
  using Left = NumberGroup<T, 2>;

  T* block;      ///< the first number of the link at the first site of the site's block
  int in_block;  ///< the site's place there

  QUADRILLE_INLINE LinkGroups(const GroupedLinks& links, int parity, int site, int mu)
      : block(
            static_cast<T*>(links.links[parity]) +
            (std::int64_t(site / Layout::block) * (matrices * numbers * Layout::block) + mu * numbers * Layout::block)),
        in_block(site % Layout::block) {}

  QUADRILLE_INLINE Group& group(int g) const { return reinterpret_cast<Group*>(block)[g * Layout::block + in_block]; }
  QUADRILLE_INLINE Left& rest() const {
    return reinterpret_cast<Left*>(block + whole * width * Layout::block)[in_block];
  }
};

/// Reads the stored numbers of a link into `u` and returns it.
template <class T, int numbers, int matrices = 4>
QUADRILLE_INLINE const T* load_link(const GroupedLinks& links, int parity, int site, int mu, T* u) {
  using Groups = LinkGroups<T, numbers, matrices>;
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

template <class T, int numbers, int matrices = 4>
QUADRILLE_INLINE void store_link(const GroupedLinks& links, int parity, int site, int mu, const T* u) {
  using Groups = LinkGroups<T, numbers, matrices>;
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

/// Finds links around one site (core/gauge/around/staples.h).
template <class T, int numbers, int matrices = 4>
class GroupedSurroundings {
 public:
  QUADRILLE_INLINE GroupedSurroundings(const GroupedLinks& links, int parity, int item)
      : links_(links), place_(links.own, parity, item), parity_(parity), site_(place_.site(links)) {}

  QUADRILLE_INLINE std::int64_t global_site() const { return links_.global_site(place_); }
  QUADRILLE_INLINE int site() const { return site_; }

  QUADRILLE_INLINE const T* here(int nu, T* buffer) const {
    return load_link<T, numbers, matrices>(links_, parity_, site_, nu, buffer);
  }
  QUADRILLE_INLINE const T* shifted(int d, int nu, T* buffer) const {
    return load_link<T, numbers, matrices>(links_, 1 - parity_, place_.neighbour(links_, d).site(links_), nu, buffer);
  }
  QUADRILLE_INLINE const T* shifted(int d, int e, int nu, T* buffer) const {
    const SitePlace to = place_.neighbour(links_, d).neighbour(links_, e);
    return load_link<T, numbers, matrices>(links_, parity_, to.site(links_), nu, buffer);
  }

 private:
  const GroupedLinks& links_;
  SitePlace place_;
  int parity_, site_;
};

}  // namespace quadrille::link_lanes::inline QUADRILLE_ISA
