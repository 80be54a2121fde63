// Tiles of the checkerboard: the shapes that the thread blocks of a hopping kernel can have.
#pragma once

#include "core/layout/grouped_layout.h"
#include "core/layout/lattice.h"

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

/// Ways to launch a kernel in tiles that divide the lattice and have at most `most_threads` sites: first with a block
/// for each tile, the most promising first, then with blocks that walk. There is always one, and the first is the one
/// to use untuned. What counts: neighbours that a tile's sites share come once through the second-level cache, whole
/// warps, rows along x that are long runs of memory, and a device that is busy to the end. `resident(threads)`: how
/// many blocks of that size the device holds; 0 for kernels that do not walk.
std::vector<Walk> possible_walks(const Dims& dims, int most_threads, const std::function<int(int)>& resident);

/// How a kernel for lists goes through a lattice: a walk, and how many groups of calls (the calls of a thread) a thread
/// block works on side by side.
struct ListWalk {
  Walk walk;
  int abreast;
};

/// "16x4x2x2/32 by 3"
std::string to_string(const ListWalk& walk);

/// Ways to launch a kernel for `groups` groups of calls; else as possible_walks(), of which each number of groups side
/// by side has the most promising few. More of them read the links of a tile once, but of fewer sites.
std::vector<ListWalk> possible_list_walks(const Dims& dims, int groups, int most_threads,
                                          const std::function<int(int)>& resident);

/// The number of the way that is most like `model`, one of other ways or for another number of groups.
std::size_t most_like(const std::vector<ListWalk>& ways, const ListWalk& model);

/// The geometry of a lattice without tiles.
GroupedGeometry geometry_of(const Dims& dims, Parity parity);

/// The launch of such a walk: threads work on one site after the other.
struct TiledLaunch {
  TiledLaunch(const Dims& dims, Parity parity, const Walk& walk);

  GroupedGeometry geometry;
  std::array<int, 3> grid, block;
};

/// The launch of a kernel for lists, a thread a site and group of calls (CudaHopListArgs).
struct ListLaunch : TiledLaunch {
  ListLaunch(const Dims& dims, Parity parity, const ListWalk& walk, int groups);

  int abreast, blocks;
};

}  // namespace quadrille::dirac
