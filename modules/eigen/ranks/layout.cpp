#include "modules/eigen/ranks/layout.h"

#include <algorithm>
#include <cmath>

namespace quadrille::eigen {
namespace {

constexpr std::int64_t widest_block = 64, narrowest_block = 16;

/// The factor of `ranks` that is nearest to its root from below.
int grid_rows(int ranks) {
  int rows = int(std::sqrt(double(ranks)) + 0.5);
  while (ranks % rows != 0) --rows;
  return rows;
}

}  // namespace

Layout layout_for(std::int64_t n, int ranks) {
  constexpr int most_per_row = 4;
  int used = ranks, rows = grid_rows(used);
  const auto fits = [&] {
    const int columns = used / rows;
    return columns <= most_per_row * rows && columns * narrowest_block <= n;
  };
  while (used > 1 && !fits()) rows = grid_rows(--used);
  std::int64_t block = widest_block;
  while (block > narrowest_block && 4 * block * (used / rows) > n) block /= 2;
  return {n, block, rows, used / rows};
}

Layout columns_on_gpus(std::int64_t n, int ranks) {
  constexpr std::int64_t narrowest = narrowest_gpu_block;
  const std::int64_t block = n / (4 * ranks) / narrowest * narrowest;
  return {n, std::clamp(block, narrowest, widest_gpu_block), 1, ranks};
}

}  // namespace quadrille::eigen
