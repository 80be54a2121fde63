#include "modules/mgemm/product/small_product.h"

#include <algorithm>
#include <memory>

namespace quadrille::mgemm {
namespace {

/// C = beta C + alpha T.
void add_tile(double alpha, const float* tile, double beta, const DenseView<double>& c) {
  for (std::int64_t j = 0; j < c.cols; ++j) {
    double* column = c.line(j);
    const float* sums = tile + j * c.rows;
    if (beta == 0) {
      for (std::int64_t i = 0; i < c.rows; ++i) column[i] = alpha * double(sums[i]);
    } else if (beta == 1) {
      for (std::int64_t i = 0; i < c.rows; ++i) column[i] += alpha * double(sums[i]);
    } else {
      for (std::int64_t i = 0; i < c.rows; ++i) column[i] = beta * column[i] + alpha * double(sums[i]);
    }
  }
}

}  // namespace

void add_small_product(double alpha, DenseView<const float> a, DenseView<const float> b, double beta,
                       DenseView<double> c, std::int64_t depth, Tile tile, int threads) {
  const std::int64_t row_tiles = tiles_along(c.rows, tile.rows), column_tiles = tiles_along(c.cols, tile.cols);
#pragma omp parallel num_threads(threads)
  {
    const std::int64_t size = std::min(tile.rows, c.rows) * std::min(tile.cols, c.cols);
    const auto sums = std::make_unique_for_overwrite<float[]>(std::size_t(size));
#pragma omp for schedule(dynamic)
    for (std::int64_t number = 0; number < row_tiles * column_tiles; ++number) {
      const std::int64_t i = number % row_tiles * tile.rows, j = number / row_tiles * tile.cols;
      const std::int64_t rows = std::min(tile.rows, c.rows - i), cols = std::min(tile.cols, c.cols - j);
      for (std::int64_t l = 0; l < a.cols; l += depth) {
        const std::int64_t terms = std::min(depth, a.cols - l);
        dense_product(1.0f, a.block(i, l, rows, terms), b.block(l, j, terms, cols), 0.0f,
                      {sums.get(), rows, cols, rows, false});
        add_tile(alpha, sums.get(), l == 0 ? beta : 1, c.block(i, j, rows, cols));
      }
    }
  }
}

}  // namespace quadrille::mgemm
