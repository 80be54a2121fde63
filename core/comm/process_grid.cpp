#include "core/comm/process_grid.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace quadrille {
namespace {

/// Sites of one rank's part that lie on faces towards other ranks.
std::int64_t exchanged_sites(const Dims& global, const Dims& grid) {
  std::int64_t local = 1, faces = 0;
  for (std::size_t mu = 0; mu < 4; ++mu) local *= global[mu] / grid[mu];
  for (std::size_t mu = 0; mu < 4; ++mu) {
    if (grid[mu] > 1) faces += 2 * (local / (global[mu] / grid[mu]));
  }
  return faces;
}

std::string lattice_text(const Dims& dims) {
  return fmt::format("lattice of {} x {} x {} x {}", dims[0], dims[1], dims[2], dims[3]);
}

std::string proposals(const Dims& global, int ranks) {
  const std::vector<Dims> grids = possible_grids(global, ranks);
  std::string text;
  if (!grids.empty()) {
    for (std::size_t k = 0; k < std::min<std::size_t>(grids.size(), 4); ++k)
      text += (k == 0 ? "" : k + 1 == std::min<std::size_t>(grids.size(), 4) ? " or " : ", ") + grid_text(grids[k]);
    return "possible grids are " + text;
  }
  std::vector<int> near;
  for (int other = ranks - 1; other > 0 && near.empty(); --other) {
    if (!possible_grids(global, other).empty()) near.push_back(other);
  }
  for (int other = ranks + 1; other <= 2 * ranks && near.size() < 2; ++other) {
    if (!possible_grids(global, other).empty()) near.push_back(other);
  }
  if (near.empty()) return "its extents must be even";
  for (const int number : near) text += (text.empty() ? "" : " or ") + std::to_string(number);
  return fmt::format("start {} ranks instead of {}", text, ranks);
}

}  // namespace

bool divides(const Dims& global, const Dims& grid) {
  for (std::size_t mu = 0; mu < 4; ++mu) {
    if (grid[mu] < 1 || global[mu] % (2 * grid[mu]) != 0) return false;
  }
  return true;
}

std::vector<Dims> possible_grids(const Dims& global, int ranks) {
  std::vector<Dims> grids;
  for (int t = 1; t <= ranks; ++t) {
    if (ranks % t != 0) continue;
    for (int z = 1; z <= ranks / t; ++z) {
      if (ranks / t % z != 0) continue;
      for (int y = 1; y <= ranks / t / z; ++y) {
        if (ranks / t / z % y != 0) continue;
        const Dims grid{ranks / t / z / y, y, z, t};
        if (divides(global, grid)) grids.push_back(grid);
      }
    }
  }
  std::sort(grids.begin(), grids.end(), [&](const Dims& a, const Dims& b) {
    const std::int64_t sites_a = exchanged_sites(global, a), sites_b = exchanged_sites(global, b);
    // Rows along x stay whole: they are what memory and files read as one.
    return std::tuple(sites_a, a[0], a[1], a[2]) < std::tuple(sites_b, b[0], b[1], b[2]);
  });
  return grids;
}

Dims choose_grid(const Dims& global, int ranks, const std::optional<Dims>& wanted) {
  if (wanted) {
    const Dims& grid = *wanted;
    const std::int64_t product = std::int64_t(grid[0]) * grid[1] * grid[2] * grid[3];
    if (product != ranks) {
      throw Error(ErrorCode::invalid_input, fmt::format("the grid {} has {} ranks, but {} {} started", grid_text(grid),
                                                        product, ranks, ranks == 1 ? "was" : "were"));
    }
    if (divides(global, grid)) return grid;
    throw Error(ErrorCode::invalid_input,
                fmt::format("the grid {} does not divide a {} into equal parts of even extents; {}", grid_text(grid),
                            lattice_text(global), proposals(global, ranks)));
  }
  const std::vector<Dims> grids = possible_grids(global, ranks);
  if (!grids.empty()) return grids.front();
  throw Error(ErrorCode::invalid_input,
              fmt::format("a {} cannot be divided over {} ranks into parts of even extents: {}", lattice_text(global),
                          ranks, proposals(global, ranks)));
}

std::string grid_text(const Dims& grid) { return fmt::format("{} {} {} {}", grid[0], grid[1], grid[2], grid[3]); }

}  // namespace quadrille
