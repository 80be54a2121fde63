// The sites of a lattice in rectangular blocks, each of which is a site of a coarser lattice.
#pragma once

#include "core/api.h"
#include "core/layout/lattice.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace quadrille::multigrid {

/// Extents of blocks near `wanted` that leave a lattice of even extents: in each direction the divisor that is nearest
/// by ratio, the smaller of two. ErrorCode::unsupported for a lattice of 2 sites in each direction.
QUADRILLE_API Dims fitting_blocks(const Dims& dims, const Dims& wanted);

class QUADRILLE_API Aggregates {
 public:
  /// `fine` outlives this object. ErrorCode::invalid_input unless `block` divides its extents with an even quotient;
  /// an extent of 1 goes with a quotient of 2 alone, as else both faces of a block would be one.
  Aggregates(const Lattice& fine, const Dims& block);

  const Lattice& fine() const { return fine_; }
  const Lattice& coarse() const { return *coarse_; }
  const Dims& block() const { return block_; }
  /// Of an aggregate.
  int sites() const { return int(volume(block_)); }
  std::int64_t count() const { return coarse_->volume(); }

  // Aggregate number a is the coarse site of parity a / coarse().half_volume(), the rest its even-odd index.

  struct Site {
    Parity parity;
    std::int32_t index;  ///< even-odd
  };
  /// Its sites: `evens(a)` even ones, then the odd ones.
  std::span<const Site> sites_of(std::int64_t a) const {
    return std::span(sites_).subspan(std::size_t(a * sites()), std::size_t(sites()));
  }
  /// Aggregates of one kind (0 or 1) have the same numbers of even sites and the same faces.
  int kind(std::int64_t a) const { return kind_[std::size_t(a)]; }
  int evens(std::int64_t a) const { return evens_[kind_[std::size_t(a)]]; }
  /// The numbers, among its sites, of those on one face: direction 0 ... 3 forward, 4 ... 7 backward. Where the block
  /// has extent 1 the only sites are those on the forward one.
  const std::vector<std::int32_t>& face(std::int64_t a, int direction) const {
    return faces_[kind_[std::size_t(a)]][std::size_t(direction)];
  }

  /// Colours of aggregates, 8 of them, by which images of a nearest-neighbour operator can be told apart: an aggregate
  /// and its neighbours in the four directions have different ones. The neighbours forward and backward in one
  /// direction have the same: what comes from them arrives at opposite faces.
  static constexpr int colours = 8;
  int colour(std::int64_t a) const { return colours_[std::size_t(a)]; }
  /// Where the images of a source in the aggregates of `colour` come from at aggregate a: itself (-1), its neighbours
  /// in direction mu (0 ... 3), or nowhere (-2).
  int origin(std::int64_t a, int colour) const;

 private:
  const Lattice& fine_;
  Dims block_;
  std::unique_ptr<const Lattice> coarse_;
  std::vector<Site> sites_;
  std::vector<std::uint8_t> kind_, colours_;  ///< kind: parity of the aggregate's first site
  std::array<int, 2> evens_{};
  std::array<std::array<std::vector<std::int32_t>, 8>, 2> faces_;
};

}  // namespace quadrille::multigrid
