#include "core/layout/vector_layout.h"

#include "core/error.h"

#include <fmt/format.h>

#include <limits>

namespace quadrille {

// Halves z and y first, the longer of them, as long as their sub-lattices keep 6 sites; then the longest extent that
// stays even, t before z, y and x, until there are `lanes` of them. Slices of constant t become small, so that the
// neighbours in t of a site, two slices apart, are still in a cache; rows along x stay whole. Directions that are
// divided over ranks come last: where they are whole, all lanes of a block at the edge come from the other rank.
bool VectorLayout::cut(const Dims& dims, int lanes, const std::array<bool, 4>& divided, Dims& grid) {
  grid = {1, 1, 1, 1};
  Dims block = dims;
  const auto longest = [&](int first, int last, int at_least, bool among_divided) {
    int best = -1;
    for (int mu = first; mu >= last; --mu) {
      if (divided[mu] != among_divided) continue;
      if (block[mu] % 4 == 0 && block[mu] >= at_least && (best < 0 || block[mu] > block[best])) best = mu;
    }
    return best;
  };
  for (int made = 1; made < lanes; made *= 2) {
    int mu = longest(2, 1, 12, false);
    if (mu < 0) mu = longest(3, 0, 4, false);
    if (mu < 0) mu = longest(3, 0, 4, true);
    if (mu < 0) return false;
    block[mu] /= 2;
    grid[mu] *= 2;
  }
  return true;
}

bool VectorLayout::fits(const Dims& dims, int lanes) {
  Dims grid;
  return cut(dims, lanes, {}, grid);
}

VectorLayout::VectorLayout(const Lattice& lattice, int lanes) : lanes_(lanes) {
  const Dims& dims = lattice.dims();
  std::array<bool, 4> divided{};
  for (int mu = 0; mu < 4; ++mu) divided[mu] = lattice.communicator().splits(mu);
  if (lanes < 1 || (lanes & (lanes - 1)) != 0 || !cut(dims, lanes, divided, lane_grid_)) {
    throw Error(ErrorCode::internal, fmt::format("a lattice of {} {} {} {} cannot be divided into {} sub-lattices",
                                                 dims[0], dims[1], dims[2], dims[3], lanes));
  }
  for (int mu = 0; mu < 4; ++mu) block_dims_[mu] = dims[mu] / lane_grid_[mu];
  blocks_ = volume(block_dims_) / 2;
  if (lattice.half_volume() > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("a process holds at most 2^31 sites of each parity, not {}: use more "
                            "ranks",
                            lattice.half_volume()));
  }
  place_sites(lattice);
  connect_blocks();
}

int VectorLayout::lane_coordinate(int lane, int mu) const {
  for (int nu = 0; nu < mu; ++nu) lane /= lane_grid_[nu];
  return lane % lane_grid_[mu];
}

std::vector<std::int32_t> VectorLayout::edge_blocks(Parity p, int d) const {
  std::vector<std::int32_t> blocks;
  for (std::int64_t block = 0; block < blocks_; ++block) {
    if (wraps(p)[std::size_t(block)] >> d & 1u) blocks.push_back(std::int32_t(block));
  }
  return blocks;
}

std::int64_t VectorLayout::block_index(const Dims& x) const {
  return (((std::int64_t(x[3]) * block_dims_[2] + x[2]) * block_dims_[1] + x[1]) * block_dims_[0] + x[0]) / 2;
}

Dims VectorLayout::block_coordinates(Parity p, std::int64_t block) const {
  std::int64_t rest = 2 * block;
  Dims x;
  for (int mu = 0; mu < 4; ++mu) {
    x[mu] = int(rest % block_dims_[mu]);
    rest /= block_dims_[mu];
  }
  x[0] += (Lattice::parity(x) != int(p)) ? 1 : 0;
  return x;
}

void VectorLayout::place_sites(const Lattice& lattice) {
  for (Parity p : {Parity::Even, Parity::Odd}) {
    auto& slots = slots_[int(p)];
    auto& sites = sites_[int(p)];
    slots.resize(std::size_t(lattice.half_volume()));
    sites.resize(slots.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t index = 0; index < lattice.half_volume(); ++index) {
      Dims x = lattice.coordinates(p, index);
      int lane = 0;
      for (int mu = 3; mu >= 0; --mu) lane = lane * lane_grid_[mu] + x[mu] / block_dims_[mu];
      for (int mu = 0; mu < 4; ++mu) x[mu] %= block_dims_[mu];
      const std::int64_t slot = block_index(x) * lanes_ + lane;
      slots[std::size_t(index)] = std::int32_t(slot);
      sites[std::size_t(slot)] = std::int32_t(index);
    }
  }
}

void VectorLayout::connect_blocks() {
  for (Parity p : {Parity::Even, Parity::Odd}) {
    auto& neighbours = neighbours_[int(p)];
    auto& wraps = wraps_[int(p)];
    neighbours.resize(std::size_t(blocks_) * 8);
    wraps.assign(std::size_t(blocks_), 0);
#pragma omp parallel for schedule(static)
    for (std::int64_t block = 0; block < blocks_; ++block) {
      const Dims x = block_coordinates(p, block);
      for (int d = 0; d < 8; ++d) {
        const int mu = d % 4;
        Dims y = x;
        y[mu] = (x[mu] + (d < 4 ? 1 : block_dims_[mu] - 1)) % block_dims_[mu];
        const bool wrap = d < 4 ? x[mu] == block_dims_[mu] - 1 : x[mu] == 0;
        neighbours[std::size_t(block * 8 + d)] = std::int32_t(block_index(y));
        if (wrap) wraps[std::size_t(block)] |= std::uint8_t(1u << d);
      }
    }
  }
  for (int d = 0; d < 8; ++d) {
    const int mu = d % 4;
    int stride = 1;
    for (int nu = 0; nu < mu; ++nu) stride *= lane_grid_[nu];
    for (int lane = 0; lane < lanes_; ++lane) {
      const int here = lane_coordinate(lane, mu);
      const int there = (here + (d < 4 ? 1 : lane_grid_[mu] - 1)) % lane_grid_[mu];
      rotations_[d].push_back(lane + (there - here) * stride);
    }
  }
}

}  // namespace quadrille
