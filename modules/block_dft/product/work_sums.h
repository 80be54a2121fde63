// What the symbolic phase of a product counts, and what of it goes into the report: on the CPU and on a GPU alike.
#pragma once

#include "core/host_device.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/product/multiply.h"

#include <cmath>
#include <cstdint>
#include <iterator>

namespace quadrille::block_dft {

/// Sums over products of blocks.
struct WorkSums {
  std::int64_t products = 0, skipped = 0, single_products = 0;
  double flops = 0, single_flops = 0;
  /// The square of the Frobenius norm of all that is skipped is at most this: the sum over blocks of C of (the sum of
  /// norm(A) norm(B) of their skipped products)^2; the same of what single precision may lose.
  double skipped_squares = 0, rounding_squares = 0;

  QUADRILLE_HOST_DEVICE WorkSums& operator+=(const WorkSums& more) {
    products += more.products;
    skipped += more.skipped;
    single_products += more.single_products;
    flops += more.flops;
    single_flops += more.single_flops;
    skipped_squares += more.skipped_squares;
    rounding_squares += more.rounding_squares;
    return *this;
  }
};

/// Those of all ranks of a grid, or of the one that there is.
inline WorkSums sum_over_ranks(const std::shared_ptr<const MatrixGrid>& grid, const WorkSums& mine) {
  double all[] = {double(mine.products), double(mine.skipped), double(mine.single_products), mine.flops,
                  mine.single_flops,     mine.skipped_squares, mine.rounding_squares};
  sum_over_ranks(grid, all, std::size(all));
  return {std::int64_t(all[0]), std::int64_t(all[1]), std::int64_t(all[2]), all[3], all[4], all[5], all[6]};
}

/// Sets what the report of a product has of them; `report.dense`: nothing was in single precision.
inline void set_work(MultiplyReport& report, const WorkSums& sums, double alpha) {
  report.products = sums.products;
  report.skipped = sums.skipped;
  report.flops = sums.flops;
  report.skipped_bound = std::abs(alpha) * std::sqrt(sums.skipped_squares);
  if (report.dense) return;
  report.single_products = sums.single_products;
  report.single_flops = sums.single_flops;
  report.rounding_bound = std::abs(alpha) * std::sqrt(sums.rounding_squares);
}

/// What it has of the filter of C.
inline void set_filtered(MultiplyReport& report, const Filtered& filtered) {
  report.filtered_blocks = filtered.blocks;
  report.filtered_norm = filtered.norm;
}

/// The bound of all, of its parts.
inline void set_bound(MultiplyReport& report) {
  report.bound = report.skipped_bound + report.rounding_bound + report.filtered_norm;
}

}  // namespace quadrille::block_dft
