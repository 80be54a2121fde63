#include "modules/mgemm/product/split_product.h"

#include "modules/mgemm/product/large_product.h"
#include "modules/mgemm/product/small_product.h"

#include <omp.h>
#include <limits>

namespace quadrille::mgemm {

void SplitFactor::assign(DenseView<const double> matrix, double delta) {
  const std::int64_t numbers = matrix.rows * matrix.cols;
  if (numbers > capacity_) {
    memory_.reset();
    memory_ = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(numbers));
    capacity_ = numbers;
  }
  exact_ = matrix;
  delta_ = delta;
  small_ = split_by_magnitude(matrix, delta, memory_.get(), large_).constant();
}

void multiply_split(double alpha, const SplitFactor& a, const SplitFactor& b, double beta, DenseView<double> c,
                    std::int64_t depth, const Tile& tile, int threads) {
  add_small_product(alpha, a.small(), b.small().transposed(), beta, c, depth, tile, threads);
  // A_large B^T, and (A_small B_large^T)^T = B_large A_small^T.
  add_large_product(alpha, a.large(), b.exact().transposed(), std::numeric_limits<double>::infinity(), c);
  add_large_product(alpha, b.large(), a.exact().transposed(), a.delta(), c.transposed());
}

void multiply_split(double alpha, const SplitFactor& a, const SplitFactor& b, double beta, DenseView<double> c,
                    std::int64_t depth) {
  if (c.by_rows) return multiply_split(alpha, b, a, beta, c.transposed(), depth);
  const OneBlasThread threads;
  const Tile tile = choose_tile(c.rows, c.cols, std::numeric_limits<std::int64_t>::max());
  multiply_split(alpha, a, b, beta, c, depth, tile, omp_get_max_threads());
}

}  // namespace quadrille::mgemm
