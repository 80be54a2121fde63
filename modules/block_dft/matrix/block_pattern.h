// The places of a block-sparse matrix's blocks: blocked compressed sparse rows without the numbers.
//
// On a grid of ranks each has the blocks of its own place in the grid, with the rows and columns of the whole matrix.
// What is said of one is true of the whole where it is collective: called by all ranks in the same order.
#pragma once

#include "modules/block_dft/matrix/block_sizes.h"

#include <cstddef>
#include <vector>

namespace quadrille::block_dft {

enum class Symmetry { none, symmetric, antisymmetric };

/// The place of a block.
struct BlockPlace {
  std::int32_t row, column;
  auto operator<=>(const BlockPlace&) const = default;
};

class QUADRILLE_API BlockPattern {
 public:
  BlockPattern() = default;
  /// Without blocks. Errors: ErrorCode::invalid_input for a symmetry whose rows and columns are cut differently.
  BlockPattern(BlockSizes rows, BlockSizes columns, Symmetry symmetry);
  /// Row i has the columns [first[i], first[i + 1]) of `column`, ascending.
  BlockPattern(BlockSizes rows, BlockSizes columns, Symmetry symmetry, std::vector<std::int64_t> first,
               std::vector<std::int32_t> column);

  const BlockSizes& rows() const { return rows_; }
  const BlockSizes& columns() const { return columns_; }
  Symmetry symmetry() const { return symmetry_; }

  // Slots [begin(i), end(i)) are the blocks of row i in ascending column.
  std::int64_t block_count() const { return std::int64_t(column_.size()); }
  std::int64_t begin(std::int32_t row) const { return first_[std::size_t(row)]; }
  std::int64_t end(std::int32_t row) const { return first_[std::size_t(row) + 1]; }
  std::int32_t column(std::int64_t slot) const { return column_[std::size_t(slot)]; }
  /// The first slot of row i with a column of at least j; end(i) where there is none.
  std::int64_t lower_slot(std::int32_t i, std::int32_t j) const;
  /// The slot of a block, -1 where there is none.
  std::int64_t find(std::int32_t i, std::int32_t j) const;
  /// body(i, j, slot) for each block, by rows.
  template <class Body>
  void for_each(Body&& body) const {
    for (std::int32_t i = 0; i < rows_.count(); ++i) {
      for (std::int64_t slot = begin(i); slot < end(i); ++slot) body(i, column(slot), slot);
    }
  }
  /// Numbers of a block.
  std::size_t numbers(std::int32_t i, std::int32_t j) const {
    return std::size_t(rows_.size(i)) * std::size_t(columns_.size(j));
  }

  /// Null for a matrix on one rank.
  const std::shared_ptr<const MatrixGrid>& grid() const { return rows_.grid(); }
  /// The rank that has the block (i, j) as it is stored; 0 without a grid.
  int owner(std::int32_t i, std::int32_t j) const {
    return grid() ? grid()->rank_at(rows_.place(i) % grid()->rows(), columns_.place(j) % grid()->columns()) : 0;
  }
  bool owns(std::int32_t i, std::int32_t j) const { return !grid() || owner(i, j) == grid()->ranks().rank(); }

 protected:
  /// Errors: ErrorCode::invalid_input for a place outside of the matrix; require_own: or another rank's.
  void require_place(std::int32_t i, std::int32_t j) const;
  void require_own(std::int32_t i, std::int32_t j) const;

  BlockSizes rows_, columns_;
  Symmetry symmetry_ = Symmetry::none;
  std::vector<std::int64_t> first_{0};  // [row block + 1]
  std::vector<std::int32_t> column_;    // [slot]
};

}  // namespace quadrille::block_dft
