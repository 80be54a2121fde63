// Coordinates of a site from its even-odd index, and back: the index arithmetic of functions that work on one site.
#pragma once

#include "core/host_device.h"

#include <cstdint>

namespace quadrille {

/// Extents of a process' lattice, as plain data.
struct Extents {
  int x, y, z, t;
  int sites;  ///< of a parity
};

/// Coordinates of a site, and its neighbours'. `Sizes` has x, y, z, t as Extents has.
struct SitePlace {
  int x, y, z, t;

  QUADRILLE_HOST_DEVICE SitePlace() : x(0), y(0), z(0), t(0) {}
  template <class Sizes>
  QUADRILLE_HOST_DEVICE SitePlace(const Sizes& of, int parity, int site) {
    const int half_x = of.x / 2;
    int rest = site / half_x;
    const int xh = site - rest * half_x;
    int above = rest / of.y;
    y = rest - above * of.y;
    rest = above / of.z;
    z = above - rest * of.z;
    t = rest;
    x = 2 * xh + ((y + z + t + parity) & 1);
  }
  /// The site with this lexicographic index, x fastest.
  template <class Sizes>
  static QUADRILLE_HOST_DEVICE SitePlace of_index(const Sizes& of, std::int64_t index) {
    // Two sites that differ in x alone share index / 2; the even x of them may be of either parity.
    SitePlace place(of, 0, int(index / 2));
    place.x = int(index % of.x);
    return place;
  }

  QUADRILLE_HOST_DEVICE int parity() const { return (x + y + z + t) & 1; }
  /// Even-odd index.
  template <class Sizes>
  QUADRILLE_HOST_DEVICE int site(const Sizes& of) const {
    return ((t * of.z + z) * of.y + y) * (of.x / 2) + x / 2;
  }
  /// Lexicographic index.
  template <class Sizes>
  QUADRILLE_HOST_DEVICE std::int64_t lexicographic(const Sizes& of) const {
    return ((std::int64_t(t) * of.z + z) * of.y + y) * of.x + x;
  }

  /// The neighbour in direction d: 0..3 forward x..t, 4..7 backward.
  template <class Sizes>
  QUADRILLE_HOST_DEVICE SitePlace neighbour(const Sizes& of, int d) const {
    SitePlace to = *this;
    const bool forward = d < 4;
    switch (d & 3) {
      case 0: to.x = moved(x, of.x, forward); break;
      case 1: to.y = moved(y, of.y, forward); break;
      case 2: to.z = moved(z, of.z, forward); break;
      default: to.t = moved(t, of.t, forward);
    }
    return to;
  }

 private:
  static QUADRILLE_HOST_DEVICE int moved(int coordinate, int extent, bool forward) {
    if (forward) return coordinate == extent - 1 ? 0 : coordinate + 1;
    return coordinate == 0 ? extent - 1 : coordinate - 1;
  }
};

}  // namespace quadrille
