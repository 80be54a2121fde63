// What a rank needs to know of the links around its part of the lattice, as plain data for bodies that work on a site.
#pragma once

#include "core/host_device.h"
#include "core/layout/site_place.h"
#include "core/su3/su3.h"

#include <cstdint>

namespace quadrille {

/// Sites of a face at right angles to direction mu.
QUADRILLE_HOST_DEVICE std::int64_t face_sites(const Extents& extents, int mu) {
  const std::int64_t volume = 2 * std::int64_t(extents.sites);
  return volume / (mu == 0 ? extents.x : mu == 1 ? extents.y : mu == 2 ? extents.z : extents.t);
}

/// The number of a site within the face at right angles to mu that it lies in: lexicographic in the other directions.
QUADRILLE_HOST_DEVICE std::int64_t face_index(const Extents& extents, const SitePlace& place, int mu) {
  std::int64_t index = 0;
  if (mu != 3) index = place.t;
  if (mu != 2) index = index * extents.z + place.z;
  if (mu != 1) index = index * extents.y + place.y;
  if (mu != 0) index = index * extents.x + place.x;
  return index;
}

/// The site of number `index` in the first or the last face at right angles to mu.
QUADRILLE_HOST_DEVICE SitePlace face_place(const Extents& extents, std::int64_t index, int mu, bool last) {
  SitePlace place = SitePlace::of_index(extents, 0);
  const auto take = [&](int extent) {
    const int coordinate = int(index % extent);
    index /= extent;
    return coordinate;
  };
  place.x = mu == 0 ? (last ? extents.x - 1 : 0) : take(extents.x);
  place.y = mu == 1 ? (last ? extents.y - 1 : 0) : take(extents.y);
  place.z = mu == 2 ? (last ? extents.z - 1 : 0) : take(extents.z);
  place.t = mu == 3 ? (last ? extents.t - 1 : 0) : take(extents.t);
  return place;
}

/// Where a rank's part of the lattice ends, and matrices of its neighbours.
struct LinkEdges {
  bool split[4];            ///< directions that are divided over ranks
  bool last_time;           ///< the last time slice of the lattice is this rank's
  const double* beyond[4];  ///< of split directions: [site of the face][matrix][18] beyond the last face; or null
  int matrices;             ///< at each of those sites

  /// Whether the step from a site forward in mu leaves this rank.
  QUADRILLE_HOST_DEVICE bool leaves(const Extents& extents, const SitePlace& place, int mu) const {
    if (!split[mu]) return false;
    switch (mu) {
      case 0: return place.x == extents.x - 1;
      case 1: return place.y == extents.y - 1;
      case 2: return place.z == extents.z - 1;
      default: return place.t == extents.t - 1;
    }
  }
  /// The 18 numbers of a matrix at the site forward in mu from `place`, which that step leaves.
  QUADRILLE_HOST_DEVICE const double* matrix(const Extents& extents, const SitePlace& place, int mu, int number) const {
    return beyond[mu] + (face_index(extents, place, mu) * matrices + number) * 18;
  }
};

/// Matrices as 18 numbers.
QUADRILLE_HOST_DEVICE void store_numbers(double* numbers, const Matrix3& u) {
  for (int i = 0; i < 9; ++i) {
    numbers[2 * i] = u.e[std::size_t(i)].real();
    numbers[2 * i + 1] = u.e[std::size_t(i)].imag();
  }
}
QUADRILLE_HOST_DEVICE Matrix3 load_numbers(const double* numbers) {
  Matrix3 u;
  for (int i = 0; i < 9; ++i) u.e[std::size_t(i)] = Complex(numbers[2 * i], numbers[2 * i + 1]);
  return u;
}

}  // namespace quadrille
