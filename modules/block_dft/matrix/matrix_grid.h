// A grid of ranks that share matrices: rows of blocks go to rows of the grid, columns to its columns.
//
// Blocks are dealt at random, for balance: of each P successive blocks every one of the P places has one, where P is
// the least common multiple of the grid's rows and columns, its virtual order. A block of place v is in row v mod rows,
// and as a column in column v mod columns: so the columns of A are dealt as the rows of B are, on grids that are no
// squares, too, and P panels of them make the product (cannon.h).
#pragma once

#include "core/api.h"
#include "core/comm/communicator.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace quadrille::block_dft {

class QUADRILLE_API MatrixGrid {
 public:
  /// All of `ranks`, which outlive it, as rows x columns, or, where these are 0, as near to a square as there is; null
  /// for one rank. `seed` decides which blocks are whose. Collective in its effect: the same on all ranks. Errors:
  /// ErrorCode::invalid_input for a grid of another number of ranks.
  static std::shared_ptr<const MatrixGrid> over(const Communicator& ranks, int rows = 0, int columns = 0,
                                                std::uint64_t seed = 1);

  const Communicator& ranks() const { return ranks_; }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  /// Of this rank.
  int row() const { return ranks_.rank() / columns_; }
  int column() const { return ranks_.rank() % columns_; }
  int rank_at(int row, int column) const { return row * columns_ + column; }
  /// The ranks that have this rank's rows, or its columns, itself included, ascending.
  std::vector<int> ranks_of_row() const;
  std::vector<int> ranks_of_column() const;
  /// P.
  int places() const { return places_; }
  /// Whether both deal blocks alike to the same ranks.
  bool operator==(const MatrixGrid& other) const {
    return &ranks_ == &other.ranks_ && rows_ == other.rows_ && columns_ == other.columns_ && seed_ == other.seed_;
  }
  /// The places of `count` successive blocks: the same for any count, as far as they go.
  std::vector<std::int32_t> deal(std::int32_t count) const;
  /// What the devices of these ranks keep for exchanges among them (cuda/device_exchange.h).
  std::shared_ptr<void>& of_devices() const { return of_devices_; }

 private:
  MatrixGrid(const Communicator& ranks, int rows, int columns, std::uint64_t seed);

  const Communicator& ranks_;
  int rows_, columns_, places_;
  std::uint64_t seed_;
  mutable std::shared_ptr<void> of_devices_;
};

/// Sums of all ranks of a grid; of one rank its own, where there is none.
inline void sum_over_ranks(const std::shared_ptr<const MatrixGrid>& grid, double* values, std::size_t count) {
  if (grid) grid->ranks().sum(values, count);
}

/// The same of grids that may be null, which is one rank.
inline bool same_grid(const std::shared_ptr<const MatrixGrid>& one, const std::shared_ptr<const MatrixGrid>& other) {
  return one == other || (one && other && *one == *other);
}

}  // namespace quadrille::block_dft
