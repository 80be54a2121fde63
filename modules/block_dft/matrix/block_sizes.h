// How the rows, or the columns, of a matrix are cut into blocks, and on a grid of ranks, which of them share each.
#pragma once

#include "core/api.h"
#include "modules/block_dft/matrix/matrix_grid.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace quadrille::block_dft {

class QUADRILLE_API BlockSizes {
 public:
  BlockSizes() = default;
  /// `grid`: null, or what matrices of these rows (columns) are spread over. Errors: ErrorCode::invalid_input for a
  /// size below 1 or above 2^20, and for more than 2^31 - 1 blocks.
  explicit BlockSizes(std::vector<std::int32_t> sizes, std::shared_ptr<const MatrixGrid> grid = nullptr);
  /// The same sizes over another grid.
  BlockSizes on(std::shared_ptr<const MatrixGrid> grid) const { return BlockSizes(sizes_, std::move(grid)); }

  std::int32_t count() const { return std::int32_t(sizes_.size()); }
  std::int32_t size(std::int32_t block) const { return sizes_[std::size_t(block)]; }
  /// The first row (column) of a block; offset(count()) is the number of rows.
  std::int64_t offset(std::int32_t block) const { return offsets_[std::size_t(block)]; }
  std::int64_t total() const { return offsets_.back(); }
  const std::vector<std::int32_t>& sizes() const { return sizes_; }
  /// The block that a row (column) is in.
  std::int32_t block_of(std::int64_t row) const;

  const std::shared_ptr<const MatrixGrid>& grid() const { return grid_; }
  /// Where MatrixGrid has dealt a block; on a grid only.
  std::int32_t place(std::int32_t block) const { return places_[std::size_t(block)]; }

  bool operator==(const BlockSizes& other) const { return sizes_ == other.sizes_ && same_grid(grid_, other.grid_); }

 private:
  std::vector<std::int32_t> sizes_;
  std::vector<std::int64_t> offsets_{0};
  std::shared_ptr<const MatrixGrid> grid_;
  std::vector<std::int32_t> places_;  // [block]; empty without a grid
};

/// Throws ErrorCode::invalid_input, naming the first block that differs, unless both are cut alike and on the same
/// grid. `what` says whose they are: "columns of A and rows of B".
void require_same(const BlockSizes& one, const BlockSizes& other, const std::string& what);

}  // namespace quadrille::block_dft
