// The CPU layout: a vector holds the same component of several virtual sub-lattices.
//
// The local lattice is cut into `lanes` equal sub-lattices, a grid of lane_grid() of them, each of block_dims() sites.
// Lane l of block b is the site of sub-lattice l at the coordinates that b has within it. In a direction that is cut
// the sub-lattice extent is even, so all lanes of a block share one parity, and a shift by one site moves to another
// block in the same lane, except at the edge of the sub-lattices, where it also rotates the lanes.
//
// Widths in use (lanes = register bytes / bytes of the compute type): AVX-512 16 single, 8 double; AVX2 8, 4;
// generic 4, 2; and 1 for lattices that cannot be cut.
#pragma once

#include "core/api.h"
#include "core/layout/lattice.h"

#include <array>
#include <cstdint>
#include <vector>

namespace quadrille {

class QUADRILLE_API VectorLayout {
 public:
  /// `lanes` must be a power of two for which fits() holds (ErrorCode::internal otherwise).
  VectorLayout(const Lattice& lattice, int lanes);

  /// Whether a lattice of these local extents can be cut into `lanes` sub-lattices.
  static bool fits(const Dims& dims, int lanes);

  int lanes() const { return lanes_; }
  const Dims& lane_grid() const { return lane_grid_; }
  const Dims& block_dims() const { return block_dims_; }
  /// Blocks of one parity.
  std::int64_t blocks() const { return blocks_; }

  /// block * lanes + lane of each site, by parity and even-odd index.
  const std::vector<std::int32_t>& slots(Parity p) const { return slots_[int(p)]; }

  /// The other way: the even-odd index of each slot.
  const std::vector<std::int32_t>& sites(Parity p) const { return sites_[int(p)]; }

  /// Block coordinates within a sub-lattice, for the sites of parity `p` (lane 0's local coordinates).
  Dims block_coordinates(Parity p, std::int64_t block) const;

  /// For each block of parity `p` and each direction d (0..3 forward x..t, 4..7 backward) the block of the other parity
  /// that holds the neighbour: neighbours(p)[block * 8 + d].
  const std::vector<std::int32_t>& neighbours(Parity p) const { return neighbours_[int(p)]; }
  /// Bit d is set when the shift crosses the edge of the sub-lattices.
  const std::vector<std::uint8_t>& wraps(Parity p) const { return wraps_[int(p)]; }
  /// Where a shift in direction d that wraps finds its data: lane l of the result is lane rotation(d)[l] of the
  /// neighbour.
  const std::vector<std::int32_t>& rotation(int d) const { return rotations_[d]; }
  /// Coordinate in direction mu of each lane's sub-lattice in the lane grid.
  int lane_coordinate(int lane, int mu) const;

  /// The blocks of parity `p` from which a shift in direction d crosses the edge of the sub-lattices, rising; as many
  /// for each parity. The neighbours of those of one parity are those of the opposite direction and parity, in the same
  /// order.
  std::vector<std::int32_t> edge_blocks(Parity p, int d) const;

 private:
  static bool cut(const Dims& dims, int lanes, const std::array<bool, 4>& divided, Dims& grid);
  void place_sites(const Lattice& lattice);
  void connect_blocks();
  std::int64_t block_index(const Dims& x) const;

  int lanes_;
  Dims lane_grid_, block_dims_;
  std::int64_t blocks_;
  std::array<std::vector<std::int32_t>, 2> slots_, sites_, neighbours_;
  std::array<std::vector<std::uint8_t>, 2> wraps_;
  std::array<std::vector<std::int32_t>, 8> rotations_;
};

}  // namespace quadrille
