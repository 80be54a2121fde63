// Links in the grouped layout (core/layout/grouped_layout.h) as device code reads them around a site.
#pragma once

#include "core/api.h"
#include "core/host_device.h"
#include "core/layout/site_place.h"
#include "core/numbers/precision.h"

#include <cstdint>
#include <type_traits>

namespace quadrille {

class Field;
class Lattice;

/// Links on a torus, on which shifts find neighbours. Sites with coordinates below `own` are worked on. On one rank
/// these are all; in a direction that is divided over ranks ghosts follow them (core/field/halo_torus.h).
struct GroupedLinks {
  void* links[2];           ///< of four links a site, by parity; of other fields their matrices
  Precision precision;      ///< of their numbers
  Reconstruct reconstruct;  ///< 18 or 12 numbers a link
  int x, y, z, t;           ///< extents of the torus
  Extents own;              ///< even, as is the origin: parities are those of the whole lattice
  Extents whole;            ///< the whole lattice, whose sites of a parity may be too many for `sites`
  SitePlace origin;         ///< where this rank's part begins in it

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

/// Of a field of a site's four forward links, or of other matrices, in double or single, on `part` itself or on a torus
/// around that. ErrorCode::unsupported for 2^32 sites or more.
QUADRILLE_API GroupedLinks grouped_links(Field& links, const Lattice& part);

/// Calls f with a number of the type of the links' numbers and a std::integral_constant, how many of them a link has.
template <class F>
void with_numbers(const GroupedLinks& links, F&& f) {
  const auto with_type = [&](auto number) {
    if (links.reconstruct == Reconstruct::R12) {
      f(number, std::integral_constant<int, 12>{});
    } else {
      f(number, std::integral_constant<int, 18>{});
    }
  };
  if (links.precision == Precision::Single) {
    with_type(float{});
  } else {
    with_type(double{});
  }
}

}  // namespace quadrille
