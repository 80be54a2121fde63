// The orders in which other programs number the sites of a lattice.
#pragma once

#include "core/host_device.h"
#include "core/layout/site_place.h"

#include <cstdint>

namespace quadrille {

/// Of a whole lattice: by lexicographic index; or all sites of a parity, then all of the other, each by even-odd index.
enum class SiteOrder : int { lexicographic, even_odd, odd_even };

/// The place of a site among all sites in an order.
QUADRILLE_HOST_DEVICE std::int64_t place_in(SiteOrder order, const Extents& extents, const SitePlace& x) {
  if (order == SiteOrder::lexicographic) return x.lexicographic(extents);
  const bool second = (x.parity() == 1) == (order == SiteOrder::even_odd);
  return x.site(extents) + (second ? std::int64_t(extents.sites) : 0);
}

/// The number of a site in openQCD's lists of points, t slowest and z fastest.
QUADRILLE_HOST_DEVICE std::int64_t point_number(const Extents& extents, const SitePlace& x) {
  return ((std::int64_t(x.t) * extents.x + x.x) * extents.y + x.y) * extents.z + x.z;
}

}  // namespace quadrille
