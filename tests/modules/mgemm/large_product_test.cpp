// The sparse products and the product in single precision, each against the definition.
#include "modules/mgemm/product/large_product.h"

#include "core/simd/isa.h"
#include "modules/mgemm/product/blas.h"
#include "modules/mgemm/product/small_product.h"
#include "tests/modules/mgemm/salted.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cstdlib>
#include <vector>

namespace quadrille::mgemm {
namespace {

struct Matrix {
  std::vector<double> numbers;
  DenseView<double> view;

  Matrix(std::int64_t rows, std::int64_t cols, bool by_rows, double fraction, std::int64_t gap = 2) {
    const std::int64_t ld = (by_rows ? cols : rows) + gap;
    numbers = testing::salted_matrix(ld * (by_rows ? rows : cols), fraction, 50);
    view = {numbers.data(), rows, cols, ld, by_rows};
  }
};

/// Shapes around a vector, a block of columns, a block of results and a slab.
struct Shape {
  std::int64_t m, n, k;
  double fraction;
};
const Shape shapes[] = {{1, 1, 1, 1.0},       {70, 16, 20, 0.3},    {65, 17, 2100, 0.01}, {200, 90, 64, 0.5},
                        {3, 40, 4500, 0.005}, {150, 33, 70, 0.001}, {40, 1, 300, 0.2}};

void check_large_product(const Shape& shape, bool l_rows, bool d_rows, bool c_rows) {
  const Matrix a(shape.m, shape.k, l_rows, shape.fraction), d(shape.k, shape.n, d_rows, 0.1);
  Matrix c(shape.m, shape.n, c_rows, 0);
  const Matrix before = [&] {
    Matrix copy(shape.m, shape.n, c_rows, 0);
    copy.numbers = c.numbers;
    copy.view.data = copy.numbers.data();
    return copy;
  }();
  std::vector<float> small(std::size_t(shape.m * shape.k));
  LargeElements large;
  split_by_magnitude(a.view.constant(), 1.0, small.data(), large);
  const double alpha = -1.25, skip_above = 1.0;
  add_large_product(alpha, large, d.view.constant(), skip_above, c.view);
  for (std::int64_t i = 0; i < shape.m; ++i) {
    for (std::int64_t j = 0; j < shape.n; ++j) {
      long double sum = 0;
      for (std::int64_t l = 0; l < shape.k; ++l) {
        if (std::abs(a.view(i, l)) <= 1 || std::abs(d.view(l, j)) > skip_above) continue;
        sum += static_cast<long double>(a.view(i, l)) * d.view(l, j);
      }
      ASSERT_NEAR(c.view(i, j), double(before.view(i, j) + alpha * sum), 1e-15 * 60 * double(shape.k + 4))
          << i << ", " << j << " of " << shape.m << " x " << shape.n << " x " << shape.k;
    }
  }
}

TEST(LargeProduct, AllStorages) {
  for (const Shape& shape : shapes)
    for (int storage = 0; storage < 8; ++storage) check_large_product(shape, storage & 1, storage & 2, storage & 4);
}

TEST(LargeProduct, EveryInstructionSet) {
  for (Isa isa : available_isas()) {
    setenv("QUADRILLE_ISA", to_string(isa).c_str(), 1);
    check_large_product(shapes[2], true, false, false);
  }
  unsetenv("QUADRILLE_ISA");
}

TEST(LargeProduct, ThreadsDoNotChangeABit) {
  const int before = omp_get_max_threads();
  const Matrix a(500, 3000, false, 0.02), d(3000, 130, false, 0);
  std::vector<float> small(500 * 3000);
  LargeElements large;
  split_by_magnitude(a.view.constant(), 1.0, small.data(), large);
  std::vector<std::vector<double>> results;
  for (int threads = 1; threads <= 3; ++threads) {
    omp_set_num_threads(threads);
    results.emplace_back(500 * 130);
    add_large_product(0.7, large, d.view.constant(), 2.0, {results.back().data(), 500, 130, 500, false});
  }
  omp_set_num_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(SmallProduct, ShortSumsInSingleAreAddedInDouble) {
  constexpr std::int64_t m = 300, n = 270, k = 700, depth = 64;
  std::vector<float> a(m * k), b(k * n);
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  for (float& x : a) x = float(2 * random.uniform() - 1);
  for (float& x : b) x = float(2 * random.uniform() - 1);
  const OneBlasThread one;
  for (double beta : {0.0, 1.0, -0.5}) {
    std::vector<double> c(m * n, beta == 0 ? std::nan("") : 3.0);
    const DenseView<const float> view_a{a.data(), m, k, k, true}, view_b{b.data(), k, n, k, false};
    add_small_product(1.5, view_a, view_b, beta, {c.data(), m, n, m, false}, depth, {100, 77}, 2);
    for (std::int64_t i = 0; i < m; i += 7) {
      for (std::int64_t j = 0; j < n; j += 5) {
        long double sum = 0, magnitudes = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          sum += static_cast<long double>(view_a(i, l)) * view_b(l, j);
          magnitudes += std::abs(static_cast<long double>(view_a(i, l)) * view_b(l, j));
        }
        ASSERT_NEAR(c[std::size_t(j * m + i)], double(1.5 * sum) + (beta == 0 ? 0 : 3 * beta),
                    1.5 * (depth + 1) * 0x1p-24 * double(magnitudes));
      }
    }
  }
}

TEST(SmallProduct, TilesDependOnSizesOnly) {
  const Tile large = choose_tile(100000, 100000, 1 << 30);
  EXPECT_EQ(large.rows, 1024);
  EXPECT_EQ(large.cols, 1024);
  const Tile small = choose_tile(500, 500, 1 << 30);
  EXPECT_EQ(small.rows * small.cols, 256 * 256);
  for (std::int64_t numbers : {1, 2, 100, 70000}) {
    const Tile tile = choose_tile(5000, 3000, numbers);
    EXPECT_LE(tile.rows * tile.cols, numbers);
    EXPECT_GT(4 * tile.rows * tile.cols, numbers);
  }
}

}  // namespace
}  // namespace quadrille::mgemm
