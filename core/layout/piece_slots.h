// Where in the vector layout a piece of a file can lie.
#pragma once

#include "core/layout/site_place.h"

#include <cstdint>

namespace quadrille {

/// The slots (block * lanes + lane) of each parity that can hold a site with lexicographic index in [begin, begin + n):
/// those whose blocks are at its times within a sub-lattice of `block_t` time slices.
struct PieceSlots {
  int first, count;

  PieceSlots(const Extents& of, int block_t, std::int64_t begin, std::int64_t n) {
    const std::int64_t slice = std::int64_t(of.x) * of.y * of.z;
    const std::int64_t from = begin / slice, to = (begin + n - 1) / slice;
    const int of_time = of.sites / block_t;
    const bool all = to - from + 1 >= block_t || to % block_t < from % block_t;
    first = all ? 0 : int(from % block_t) * of_time;
    count = all ? of.sites : int(to - from + 1) * of_time;
  }
};

}  // namespace quadrille
