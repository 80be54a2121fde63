// The layout of devices: one thread works on one site, and consecutive threads read consecutive groups of numbers.
//
// Sites lie in blocks of Layout::block, whose end is padded; a block holds all numbers of its sites in one piece, so
// that a thread finds the groups of its site at distances known when the kernel is compiled. The numbers of a site lie
// in sections, each half of a spinor and each link one; a section lies in groups of 16 bytes and, last, a narrower
// group of what is left: in half precision 12 numbers are groups of 8 and 4. In a block: [section][group][site][number
// in group]. In half precision quanta stand as q + 32768, their sign bit flipped (core/numbers/half_words.h).
#pragma once

#include "core/host_device.h"
#include "core/layout/layout.h"
#include "core/numbers/precision.h"

#include <cstdint>

namespace quadrille {

constexpr int group_bytes = 16;

constexpr Layout grouped_layout(Precision precision) {
  return {.lanes = 1, .width = group_bytes / int(number_bytes(precision))};
}

/// Where number n stands of a site that has `components` numbers in sections of `section`.
constexpr std::int64_t grouped_place(std::int64_t site, int n, int components, int section, int width) {
  const std::int64_t in_block = site % Layout::block, before = site - in_block;
  const int in_section = n % section, group = in_section / width * width;
  const int of_group = section - group < width ? section - group : width;
  return before * components + (n - in_section + group) * Layout::block + in_block * of_group + in_section % width;
}

/// The same for whole groups, in words of 32 bits, of sites with `sections` sections of `section_words` words: group g
/// of section s of a site begins at start<its words>(site) + group(s, g). Groups have 4 words, the one after the last
/// whole one `left`.
template <int sections, int section_words>
struct GroupedPlaces {
  static constexpr int whole_groups = section_words / 4, left = section_words % 4;

  /// Where group 0 of section 0 would begin if groups had `width` words.
  template <int width>
  static QUADRILLE_HOST_DEVICE std::int64_t start(std::int64_t site) {
    const std::int64_t in_block = site % Layout::block;
    return (site - in_block) * (sections * section_words) + in_block * width;
  }
  static constexpr int group(int s, int g) { return (s * section_words + 4 * g) * Layout::block; }
};

/// Where a launch of one thread a site stands, and the neighbours of that site in even-odd order: the index arithmetic
/// of every kernel on a grouped layout. A thread block is a tile of the checkerboard: tile_x sites along x (of one
/// parity), tile_y along y, tile_z along z and tile_t along t; tiles divide the extents. threadIdx.z holds the place
/// along z in its lowest tile_z_bits bits, above them that along t.
struct GroupedGeometry {
  int half_x, y, z, t;  ///< extents of the checkerboard
  int parity;           ///< of the sites
  int tiles_x;          ///< tiles along x: blockIdx.x runs over them, then over those along y
  int tile_x, tile_y;
  int tile_z, tile_z_bits, tile_t;
  int columns;

  /// The slices, tile_t time slices each, of a column: [first_slice(column), first_slice(column + 1)).
  QUADRILLE_HOST_DEVICE int first_slice(int column) const { return t / tile_t * column / columns; }
};

/// Directions: 0..3 forward x..t, 4..7 backward.
struct GroupedSite {
  int site, xh, y, z, t;
  bool odd;  ///< whether the site's x is odd

  bool operator==(const GroupedSite&) const = default;

  /// The site of thread (tx, ty, tz) of a block with blockIdx (bx, by) at one of its slices.
  QUADRILLE_HOST_DEVICE GroupedSite(const GroupedGeometry& g, int tx, int ty, int tz, int bx, int by, int slice) {
    const int row = bx / g.tiles_x;
    xh = (bx - row * g.tiles_x) * g.tile_x + tx;
    y = row * g.tile_y + ty;
    z = by * g.tile_z + (tz & ((1 << g.tile_z_bits) - 1));
    t = slice * g.tile_t + (tz >> g.tile_z_bits);
    site = ((t * g.z + z) * g.y + y) * g.half_x + xh;
    odd = ((y + z + t + g.parity) & 1) != 0;
  }

  /// The site with an even-odd index.
  QUADRILLE_HOST_DEVICE GroupedSite(const GroupedGeometry& g, int index) : site(index) {
    xh = index % g.half_x;
    index /= g.half_x;
    y = index % g.y;
    index /= g.y;
    z = index % g.z;
    t = index / g.z;
    odd = ((y + z + t + g.parity) & 1) != 0;
  }

  /// Site number `index` of the face in direction d, as face_index<d>() counts.
  template <int d>
  static QUADRILLE_HOST_DEVICE GroupedSite of_face(const GroupedGeometry& g, int index) {
    constexpr int mu = d % 4;
    constexpr bool forward = d < 4;
    GroupedSite s;
    const auto take = [&](int extent) {
      const int coordinate = index % extent;
      index /= extent;
      return coordinate;
    };
    s.xh = mu == 0 ? (forward ? g.half_x - 1 : 0) : take(g.half_x);
    s.y = mu == 1 ? (forward ? g.y - 1 : 0) : mu == 0 ? 2 * take(g.y / 2) : take(g.y);
    s.z = mu == 2 ? (forward ? g.z - 1 : 0) : take(g.z);
    s.t = mu == 3 ? (forward ? g.t - 1 : 0) : take(g.t);
    s.odd = ((s.y + s.z + s.t + g.parity) & 1) != 0;
    if (mu == 0 && s.odd != forward) {
      ++s.y;
      s.odd = forward;
    }
    s.site = ((s.t * g.z + s.z) * g.y + s.y) * g.half_x + s.xh;
    return s;
  }

  /// The number of the site among those of its parity in the face in direction d, or in the one opposite to it: what a
  /// hop across a face leads to has the number of the site that it comes from.
  template <int d>
  QUADRILLE_HOST_DEVICE int face_index(const GroupedGeometry& g) const {
    constexpr int mu = d % 4;
    int index = mu == 3 ? 0 : t;
    if (mu != 2) index = index * g.z + z;
    if (mu != 1) index = index * g.y + y;
    return mu == 0 ? index / 2 : index * g.half_x + xh;
  }

  /// Goes on to the next slice of its block's column.
  QUADRILLE_HOST_DEVICE void next_slice(const GroupedGeometry& g) {
    t += g.tile_t;
    site += g.tile_t * g.z * g.y * g.half_x;
    odd ^= (g.tile_t & 1) != 0;
  }

  /// Whether the neighbour in direction d lies across the edge of the lattice.
  template <int d>
  QUADRILLE_HOST_DEVICE bool edge(const GroupedGeometry& g) const {
    if constexpr (d == 0) return odd && xh == g.half_x - 1;
    if constexpr (d == 1) return y == g.y - 1;
    if constexpr (d == 2) return z == g.z - 1;
    if constexpr (d == 3) return t == g.t - 1;
    if constexpr (d == 4) return !odd && xh == 0;
    if constexpr (d == 5) return y == 0;
    if constexpr (d == 6) return z == 0;
    return t == 0;
  }

  /// The even-odd index, in the other parity, of the neighbour in direction d.
  template <int d>
  QUADRILLE_HOST_DEVICE int neighbour(const GroupedGeometry& g) const {
    constexpr int mu = d % 4;
    constexpr bool forward = d < 4;
    const bool edge = this->edge<d>(g);
    if constexpr (mu == 0) {
      if (odd != forward) return site;
      const int around = g.half_x - 1;
      return forward ? (edge ? site - around : site + 1) : (edge ? site + around : site - 1);
    }
    const int step = mu == 1 ? g.half_x : mu == 2 ? g.half_x * g.y : g.half_x * g.y * g.z;
    const int extent = mu == 1 ? g.y : mu == 2 ? g.z : g.t;
    if (forward) return edge ? site - step * (extent - 1) : site + step;
    return edge ? site + step * (extent - 1) : site - step;
  }

 private:
  GroupedSite() = default;
};

}  // namespace quadrille
