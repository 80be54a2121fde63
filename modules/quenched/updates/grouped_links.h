// Links in the grouped layout (core/layout/grouped_layout.h), as device code reads them.
#pragma once

#include "core/host_device.h"
#include "core/layout/site_place.h"
#include "modules/quenched/updates/kernels.h"

#include <cstdint>
#include <type_traits>

namespace quadrille::quenched {

/// Links on a torus, on which shifts find neighbours. Sites with coordinates below `own` are worked on. On one rank
/// these are all; in a direction that is divided over ranks two layers of ghosts follow them, the first of which a
/// shift forward finds, the second a shift backward (link_halo_cuda.h).
struct GroupedLinks {
  void* links[2];    ///< of four links a site, by parity
  LinkNumbers of;    ///< what they are made of
  int x, y, z, t;    ///< extents of the torus
  Extents own;       ///< even, as is the origin: parities are those of the whole lattice
  Extents whole;     ///< the whole lattice
  SitePlace origin;  ///< where this rank's part begins in it

  /// The lexicographic index in the whole lattice.
  QUADRILLE_HOST_DEVICE std::int64_t global_site(const SitePlace& place) const {
    SitePlace at = place;
    at.x += origin.x;
    at.y += origin.y;
    at.z += origin.z;
    at.t += origin.t;
    return at.lexicographic(whole);
  }
};

/// The sites of one parity in a layer at right angles to an axis, and the buffer in which one link of each travels.
struct LinkFace {
  int axis, at;   ///< x[axis] = at
  Extents sites;  ///< of the layer; 1 along the axis
  void* buffer;   ///< [number][site of the layer]

  /// `item` of [0, sites.sites); the same item for layers that are an even number apart.
  QUADRILLE_HOST_DEVICE SitePlace place(int parity, int item) const {
    const int extents[4] = {sites.x, sites.y, sites.z, sites.t};
    const int paired = axis == 0 ? 1 : 0;  // of two sites that differ in this coordinate alone one has the parity
    int x[4] = {}, sum = at;
    x[axis] = at;
    int rest = item / (extents[paired] / 2);
    const int half = item - rest * (extents[paired] / 2);
    for (int mu = paired + 1; mu < 4; ++mu) {
      if (mu == axis) continue;
      x[mu] = rest % extents[mu];
      rest /= extents[mu];
      sum += x[mu];
    }
    x[paired] = 2 * half + ((sum + parity) & 1);
    SitePlace place;
    place.x = x[0];
    place.y = x[1];
    place.z = x[2];
    place.t = x[3];
    return place;
  }
};

/// Calls f with a number of the type of the links' numbers and a std::integral_constant, how many of them a link has.
template <class F>
void with_numbers(const LinkNumbers& of, F&& f) {
  const auto with_type = [&](auto number) {
    if (of.numbers == 12) {
      f(number, std::integral_constant<int, 12>{});
    } else {
      f(number, std::integral_constant<int, 18>{});
    }
  };
  if (of.bytes == 4) {
    with_type(float{});
  } else {
    with_type(double{});
  }
}

}  // namespace quadrille::quenched
