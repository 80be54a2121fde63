// Tiles of the checkerboard: the shapes that the thread blocks of a hopping kernel can have.
#pragma once

#include "core/lattice.h"
#include "core/layout/grouped_layout.h"

#include <array>
#include <string>
#include <vector>

namespace quadrille::dirac {

/// Sites of one parity along x, and sites along y, z and t.
using Tile = std::array<int, 4>;

constexpr int volume(const Tile& tile) { return tile[0] * tile[1] * tile[2] * tile[3]; }

/// "16x4x2x2"
std::string to_string(const Tile& tile);

/// Tiles that divide the lattice and have at most `most_threads` sites, the most promising first, at most 24; there is
/// always one. What counts: neighbours that a tile's sites share come once through the second-level cache, whole warps,
/// and rows along x that are long runs of memory.
std::vector<Tile> possible_tiles(const Dims& dims, int most_threads);

/// The launch of one thread a site in such tiles.
struct TiledLaunch {
  TiledLaunch(const Dims& dims, Parity parity, const Tile& tile);

  GroupedGeometry geometry;
  std::array<int, 3> grid, block;
};

}  // namespace quadrille::dirac
