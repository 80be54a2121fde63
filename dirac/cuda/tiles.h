// Tiles of the checkerboard: the shapes that the thread blocks of a hopping kernel can have.
#pragma once

#include "core/lattice.h"
#include "core/layout/grouped_layout.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace quadrille::dirac {

/// Sites of one parity along x, and sites along y, z and t.
using Tile = std::array<int, 4>;

constexpr int volume(const Tile& tile) { return tile[0] * tile[1] * tile[2] * tile[3]; }

/// "16x4x2x2"
std::string to_string(const Tile& tile);

/// A tile and the number of columns of tiles along t, each the work of one thread block: as many as there are tiles
/// along t, or fewer.
struct Walk {
  Tile tile;
  int columns;
};

/// "16x4x2x2/32"
std::string to_string(const Walk& walk);

/// Tiles that divide the lattice and have at most `most_threads` sites, the most promising first, at most 16; there is
/// always one. What counts: neighbours that a tile's sites share come once through the second-level cache, whole warps,
/// and rows along x that are long runs of memory.
std::vector<Tile> possible_tiles(const Dims& dims, int most_threads);

/// The ways to launch each of possible_tiles(): a block for each tile, and as many columns as fit the device at once or
/// at twice. `resident(threads)`: how many blocks of that size the device holds; 0 for
/// kernels that do not walk. The first is the one to use untuned.
std::vector<Walk> possible_walks(const Dims& dims, int most_threads, const std::function<int(int)>& resident);

/// The launch of such a walk: threads work on one site after the other.
struct TiledLaunch {
  TiledLaunch(const Dims& dims, Parity parity, const Walk& walk);

  GroupedGeometry geometry;
  std::array<int, 3> grid, block;
};

}  // namespace quadrille::dirac
