#include "modules/block_dft/matrix/block_pattern.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille::block_dft {

BlockPattern::BlockPattern(BlockSizes rows, BlockSizes columns, Symmetry symmetry)
    : rows_(std::move(rows)),
      columns_(std::move(columns)),
      symmetry_(symmetry),
      first_(std::size_t(rows_.count()) + 1) {
  if (symmetry_ != Symmetry::none) require_same(rows_, columns_, "rows and columns of a symmetric matrix");
  if (!same_grid(rows_.grid(), columns_.grid())) {
    throw Error(ErrorCode::invalid_input, "rows and columns of a matrix must be on the same grid of ranks");
  }
}

BlockPattern::BlockPattern(BlockSizes rows, BlockSizes columns, Symmetry symmetry, std::vector<std::int64_t> first,
                           std::vector<std::int32_t> column)
    : BlockPattern(std::move(rows), std::move(columns), symmetry) {
  first_ = std::move(first);
  column_ = std::move(column);
}

void BlockPattern::require_place(std::int32_t i, std::int32_t j) const {
  if (i >= 0 && i < rows_.count() && j >= 0 && j < columns_.count()) return;
  throw Error(ErrorCode::invalid_input, fmt::format("block ({}, {}) is outside a matrix of {} x {} blocks", i, j,
                                                    rows_.count(), columns_.count()));
}

void BlockPattern::require_own(std::int32_t i, std::int32_t j) const {
  if (owns(i, j)) return;
  throw Error(ErrorCode::invalid_input, fmt::format("block ({}, {}) belongs to rank {}, this is rank {}", i, j,
                                                    owner(i, j), grid()->ranks().rank()));
}

std::int64_t BlockPattern::lower_slot(std::int32_t i, std::int32_t j) const {
  return std::lower_bound(column_.begin() + begin(i), column_.begin() + end(i), j) - column_.begin();
}

std::int64_t BlockPattern::find(std::int32_t i, std::int32_t j) const {
  const std::int64_t slot = lower_slot(i, j);
  return slot < end(i) && column(slot) == j ? slot : -1;
}

}  // namespace quadrille::block_dft
