#include "dirac/cuda/tiles.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace quadrille::dirac {
namespace {

constexpr std::size_t most_rows = 3;  // lengths along x, the longest
constexpr std::size_t tiles_a_class = 2;
constexpr std::ptrdiff_t still_of_lists = 3, walking_of_lists = 4;  // for each number of groups side by side
constexpr int most_threads_in_z = 64;                               // what CUDA allows of blockDim.z

Dims checkerboard(const Dims& dims) { return {dims[0] / 2, dims[1], dims[2], dims[3]}; }

/// Spinors that come to the tile, a site of it, as if nothing were shared between tiles: the tile's own places and its
/// surfaces, but those across t where a block walks; rows shorter than 16 sites fill their sectors badly, and warps
/// that are not full do nothing.
double cost(const Tile& tile, const Dims& extents, bool walks) {
  double spinors = 1;
  for (std::size_t mu = 0; mu < (walks ? 3 : 4); ++mu) {
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

/// All tiles of `x` sites along x whose number of sites is in (least, most].
std::vector<Tile> tiles_of(const Dims& extents, int x, int least, int most) {
  std::vector<Tile> tiles;
  for (int y : divisors(extents[1])) {
    for (int z : divisors(extents[2])) {
      for (int t : divisors(extents[3])) {
        const Tile tile{x, y, z, t};
        const bool shifts = t == 1 || std::has_single_bit(unsigned(z));
        if (volume(tile) > least && volume(tile) <= most && z * t <= most_threads_in_z && shifts) tiles.push_back(tile);
      }
    }
  }
  return tiles;
}

}  // namespace

std::string to_string(const Tile& tile) { return fmt::format("{}x{}x{}x{}", tile[0], tile[1], tile[2], tile[3]); }

namespace {

/// The most promising tiles first. How many blocks a device works on at a time, and how much of the last round is idle,
/// is not in the cost: so there are some of each size, and of several lengths of rows.
std::vector<Tile> possible_tiles(const Dims& extents, int most_threads, bool walks) {
  const auto cheaper = [&](const Tile& a, const Tile& b) { return cost(a, extents, walks) < cost(b, extents, walks); };
  std::vector<int> rows = divisors(extents[0]);
  std::erase_if(rows, [&](int x) { return x > most_threads; });
  if (rows.size() > most_rows) rows.erase(rows.begin(), rows.end() - std::ptrdiff_t(most_rows));
  std::vector<Tile> tiles;
  for (int x : rows) {
    for (int most = most_threads; most > 0; most /= 2) {
      std::vector<Tile> some = tiles_of(extents, x, most / 2, most);
      std::stable_sort(some.begin(), some.end(), cheaper);
      for (std::size_t i = 0; i < some.size() && i < tiles_a_class; ++i) tiles.push_back(some[i]);
      if (most <= most_threads / 4 && !tiles.empty()) break;
    }
  }
  std::stable_sort(tiles.begin(), tiles.end(), cheaper);
  return tiles;
}

int blocks_of_slice(const Tile& tile, const Dims& extents) {
  return extents[0] / tile[0] * (extents[1] / tile[1]) * (extents[2] / tile[2]);
}

/// The number of columns in [least, most] that keeps a device busy best that holds `resident` blocks: the fewest rounds
/// times slices of a round; of equals the longest walks. 0 where there is none.
int best_columns(int slices, int in_slice, int resident, int least, int most) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  int columns = 0;
  for (int c = std::max(1, least); c <= most; ++c) {
    const std::int64_t rounds = (std::int64_t(in_slice) * c + resident - 1) / resident;
    const std::int64_t time = rounds * ((slices + c - 1) / c);
    if (time < best) {
      best = time;
      columns = c;
    }
  }
  return columns;
}

}  // namespace

std::string to_string(const Walk& walk) { return fmt::format("{}/{}", to_string(walk.tile), walk.columns); }

std::vector<Walk> possible_walks(const Dims& dims, int most_threads, const std::function<int(int)>& resident) {
  const Dims extents = checkerboard(dims);
  const std::vector<Tile> still = possible_tiles(extents, most_threads, false);
  std::vector<Tile> walking = possible_tiles(extents, most_threads, true);
  for (const Tile& tile : still) {
    if (std::find(walking.begin(), walking.end(), tile) == walking.end()) walking.push_back(tile);
  }
  std::vector<Walk> walks;
  for (const Tile& tile : still) walks.push_back({tile, extents[3] / tile[3]});
  for (const Tile& tile : walking) {
    const int slices = extents[3] / tile[3], blocks = resident(volume(tile));
    if (blocks == 0) continue;
    const int in_slice = blocks_of_slice(tile, extents);
    const int few = best_columns(slices, in_slice, blocks, 1, (slices - 1) / 4);
    const int many = best_columns(slices, in_slice, blocks, (slices - 1) / 4 + 1, slices / 2);
    for (int columns : {few, many}) {
      if (columns > 0 && columns < slices) walks.push_back({tile, columns});
    }
  }
  return walks;
}

std::string to_string(const ListWalk& walk) { return fmt::format("{} by {}", to_string(walk.walk), walk.abreast); }

std::vector<ListWalk> possible_list_walks(const Dims& dims, int groups, int most_threads,
                                          const std::function<int(int)>& resident) {
  constexpr int most_abreast = 6;
  std::vector<ListWalk> walks;
  for (int abreast = 1; abreast <= std::min(groups, most_abreast); ++abreast) {
    const int blocks = (groups + abreast - 1) / abreast;
    if (abreast > (groups + blocks - 1) / blocks) continue;  // fewer side by side would do in as many blocks
    const std::vector<Walk> all =
        possible_walks(dims, most_threads / abreast, [&](int threads) { return resident(threads * abreast) / blocks; });
    const auto first_that_walks =
        std::find_if(all.begin(), all.end(), [&](const Walk& walk) { return walk.columns < dims[3] / walk.tile[3]; });
    const auto take = [&](auto begin, auto end, std::ptrdiff_t most) {
      for (auto walk = begin; walk != end && walk - begin < most; ++walk) walks.push_back({*walk, abreast});
    };
    take(all.begin(), first_that_walks, still_of_lists);
    take(first_that_walks, all.end(), walking_of_lists);
  }
  return walks;
}

std::size_t most_like(const std::vector<ListWalk>& ways, const ListWalk& model) {
  const auto octaves = [](int a, int b) { return std::abs(std::log2(double(a) / double(b))); };
  const auto distance = [&](const ListWalk& way) {
    double sum = octaves(way.abreast, model.abreast) + octaves(way.walk.columns, model.walk.columns);
    for (std::size_t mu = 0; mu < 4; ++mu) sum += octaves(way.walk.tile[mu], model.walk.tile[mu]);
    return sum;
  };
  const auto nearer = [&](const ListWalk& a, const ListWalk& b) { return distance(a) < distance(b); };
  return std::size_t(std::min_element(ways.begin(), ways.end(), nearer) - ways.begin());
}

GroupedGeometry geometry_of(const Dims& dims, Parity parity) {
  GroupedGeometry geometry{};
  geometry.half_x = dims[0] / 2;
  geometry.y = dims[1];
  geometry.z = dims[2];
  geometry.t = dims[3];
  geometry.parity = int(parity);
  return geometry;
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
  geometry = geometry_of(dims, parity);
  geometry.tiles_x = extents[0] / tile[0];
  geometry.tile_x = tile[0];
  geometry.tile_y = tile[1];
  geometry.tile_z = tile[2];
  geometry.tile_z_bits = one_slice ? 16 : std::countr_zero(unsigned(tile[2]));
  geometry.tile_t = tile[3];
  geometry.columns = walk.columns;
  grid = {geometry.tiles_x * (extents[1] / tile[1]), extents[2] / tile[2], walk.columns};
  block = {tile[0], tile[1], tile[2] * tile[3]};
}

ListLaunch::ListLaunch(const Dims& dims, Parity parity, const ListWalk& walk, int groups)
    : TiledLaunch(dims, parity, walk.walk), abreast(walk.abreast), blocks((groups + abreast - 1) / abreast) {
  grid[0] *= blocks;
  block[1] *= abreast;
}

}  // namespace quadrille::dirac
