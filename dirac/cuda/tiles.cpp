#include "dirac/cuda/tiles.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace quadrille::dirac {
namespace {

constexpr std::size_t most_tiles = 16;
constexpr int most_threads_in_z = 64;  // what CUDA allows of blockDim.z

Dims checkerboard(const Dims& dims) { return {dims[0] / 2, dims[1], dims[2], dims[3]}; }

/// Spinors that come to the tile, a site of it, as if nothing were shared between tiles: the tile's own places and its
/// surfaces; rows shorter than 16 sites fill their sectors badly, and warps that are not full do nothing.
double cost(const Tile& tile, const Dims& extents) {
  double spinors = 1;
  for (std::size_t mu = 0; mu < 4; ++mu) {
    const double surface = mu == 0 ? 1.0 : 2.0;  // along x one neighbour has the site's own index
    if (tile[mu] < extents[mu]) spinors += surface / tile[mu];
  }
  const double rows = 8.0 / tile[0];
  const int threads = volume(tile), warps = (threads + 31) / 32;
  return (spinors + rows) * (32.0 * warps / threads) * (threads < 128 ? 1.5 : 1.0);
}

std::vector<int> divisors(int n) {
  std::vector<int> all;
  for (int d = 1; d <= n; ++d) {
    if (n % d == 0) all.push_back(d);
  }
  return all;
}

}  // namespace

std::string to_string(const Tile& tile) { return fmt::format("{}x{}x{}x{}", tile[0], tile[1], tile[2], tile[3]); }

std::vector<Tile> possible_tiles(const Dims& dims, int most_threads) {
  const Dims extents = checkerboard(dims);
  std::vector<Tile> tiles;
  for (int x : divisors(extents[0])) {
    for (int y : divisors(extents[1])) {
      if (x * y > most_threads) break;
      for (int z : divisors(extents[2])) {
        if (x * y * z > most_threads || z > most_threads_in_z) break;
        for (int t : divisors(extents[3])) {
          if (x * y * z * t > most_threads || z * t > most_threads_in_z) break;
          if (t == 1 || std::has_single_bit(unsigned(z))) tiles.push_back({x, y, z, t});
        }
      }
    }
  }
  std::stable_sort(tiles.begin(), tiles.end(),
                   [&](const Tile& a, const Tile& b) { return cost(a, extents) < cost(b, extents); });
  tiles.resize(std::min(tiles.size(), most_tiles));
  return tiles;
}

std::string to_string(const Walk& walk) { return fmt::format("{}/{}", to_string(walk.tile), walk.columns); }

std::vector<Walk> possible_walks(const Dims& dims, int most_threads, const std::function<int(int)>& resident) {
  const Dims extents = checkerboard(dims);
  std::vector<Walk> walks;
  for (const Tile& tile : possible_tiles(dims, most_threads)) {
    const int slices = extents[3] / tile[3];
    const int in_slice = extents[0] / tile[0] * (extents[1] / tile[1]) * (extents[2] / tile[2]);
    walks.push_back({tile, slices});
    for (int times : {1, 2}) {
      const int columns = times * resident(volume(tile)) / in_slice;
      if (columns >= 1 && columns < slices && columns != walks.back().columns) walks.push_back({tile, columns});
    }
  }
  return walks;
}

TiledLaunch::TiledLaunch(const Dims& dims, Parity parity, const Walk& walk) {
  const Dims extents = checkerboard(dims);
  const Tile& tile = walk.tile;
  for (std::size_t mu = 0; mu < 4; ++mu) {
    if (tile[mu] < 1 || extents[mu] % tile[mu] != 0) {
      throw Error(ErrorCode::internal, "the tile " + to_string(tile) + " does not divide the lattice");
    }
  }
  // With one slice of t a tile's z may be any number: the shift then leaves all of threadIdx.z to z.
  const bool one_slice = tile[3] == 1;
  geometry = {.half_x = extents[0],
              .y = extents[1],
              .z = extents[2],
              .t = extents[3],
              .parity = int(parity),
              .tiles_x = extents[0] / tile[0],
              .tile_x = tile[0],
              .tile_y = tile[1],
              .tile_z = tile[2],
              .tile_z_bits = one_slice ? 16 : std::countr_zero(unsigned(tile[2])),
              .tile_t = tile[3],
              .columns = walk.columns};
  grid = {geometry.tiles_x * (extents[1] / tile[1]), extents[2] / tile[2], walk.columns};
  block = {tile[0], tile[1], tile[2] * tile[3]};
}

}  // namespace quadrille::dirac
