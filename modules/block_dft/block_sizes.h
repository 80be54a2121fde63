// How the rows, or the columns, of a matrix are cut into blocks.
#pragma once

#include "core/api.h"

#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::block_dft {

class QUADRILLE_API BlockSizes {
 public:
  BlockSizes() = default;
  /// Errors: ErrorCode::invalid_input for a size below 1 or above 2^20, and for more than 2^31 - 1 blocks.
  explicit BlockSizes(std::vector<std::int32_t> sizes);

  std::int32_t count() const { return std::int32_t(sizes_.size()); }
  std::int32_t size(std::int32_t block) const { return sizes_[std::size_t(block)]; }
  /// The first row (column) of a block; offset(count()) is the number of rows.
  std::int64_t offset(std::int32_t block) const { return offsets_[std::size_t(block)]; }
  std::int64_t total() const { return offsets_.back(); }
  const std::vector<std::int32_t>& sizes() const { return sizes_; }
  /// The block that a row (column) is in.
  std::int32_t block_of(std::int64_t row) const;

  bool operator==(const BlockSizes& other) const { return sizes_ == other.sizes_; }

 private:
  std::vector<std::int32_t> sizes_;
  std::vector<std::int64_t> offsets_{0};
};

/// Throws ErrorCode::invalid_input, naming the first block that differs, unless both are cut alike. `what` says whose
/// they are: "columns of A and rows of B".
void require_same(const BlockSizes& one, const BlockSizes& other, const std::string& what);

}  // namespace quadrille::block_dft
