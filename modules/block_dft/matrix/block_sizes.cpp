#include "modules/block_dft/matrix/block_sizes.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace quadrille::block_dft {

BlockSizes::BlockSizes(std::vector<std::int32_t> sizes, std::shared_ptr<const MatrixGrid> grid)
    : sizes_(std::move(sizes)), grid_(std::move(grid)) {
  constexpr std::int32_t largest = 1 << 20;
  if (sizes_.size() >= std::size_t(std::numeric_limits<std::int32_t>::max())) {
    throw Error(ErrorCode::invalid_input, fmt::format("{} blocks: there may be at most 2^31 - 2", sizes_.size()));
  }
  offsets_.reserve(sizes_.size() + 1);
  for (std::size_t k = 0; k < sizes_.size(); ++k) {
    if (sizes_[k] < 1 || sizes_[k] > largest) {
      throw Error(ErrorCode::invalid_input,
                  fmt::format("block {} has size {}: it must be 1 to {}", k, sizes_[k], largest));
    }
    offsets_.push_back(offsets_.back() + sizes_[k]);
  }
  if (grid_) places_ = grid_->deal(count());
}

std::int32_t BlockSizes::block_of(std::int64_t row) const {
  return std::int32_t(std::upper_bound(offsets_.begin(), offsets_.end(), row) - offsets_.begin()) - 1;
}

void require_same(const BlockSizes& one, const BlockSizes& other, const std::string& what) {
  if (one == other) return;
  const std::int32_t shared = std::min(one.count(), other.count());
  for (std::int32_t k = 0; k < shared; ++k) {
    if (one.size(k) == other.size(k)) continue;
    throw Error(ErrorCode::invalid_input,
                fmt::format("{} must be divided into the same blocks: block {} has size {} and {}", what, k,
                            one.size(k), other.size(k)));
  }
  if (one.count() != other.count()) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("{} must be divided into the same blocks: there are {} and {} of them", what, one.count(),
                            other.count()));
  }
  const auto grid = [](const BlockSizes& sizes) -> std::string {
    if (!sizes.grid()) return "one rank";
    return fmt::format("a grid of {} x {} ranks", sizes.grid()->rows(), sizes.grid()->columns());
  };
  throw Error(ErrorCode::invalid_input, fmt::format("{} must be on the same grid of ranks: they are on {} and on {}",
                                                    what, grid(one), grid(other)));
}

}  // namespace quadrille::block_dft
