// Block-sparse products on the GPU against those of the CPU and dense ones, what is said of filtered ones, and bits.
#include "core/error.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "tests/gpu/block_matrices.h"
#include "tests/gpu/poison.h"
#include "tests/testing/backend_under_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using quadrille::testing::poison_free_memory;
using ::testing::HasSubstr;
using Matrix = BlockMatrix<double>;

struct OnBoth {
  Matrix cpu, gpu;
  MultiplyReport of_cpu, of_gpu;
};

/// The product on the CPU, block by block, and on the GPU; the latter again with the same bits.
OnBoth multiply_on_both(double alpha, Transpose op_a, const Matrix& a, Transpose op_b, const Matrix& b, double beta,
                        const Matrix& c, MultiplyOptions options = {}) {
  options.driver = Driver::own;
  OnBoth out;
  out.cpu = c;
  out.of_cpu = multiply(alpha, op_a, a, op_b, b, beta, out.cpu, options);
  const DeviceMatrix a_there(a), b_there(b);
  for (int time = 0; time < 2; ++time) {
    DeviceMatrix c_there(c);
    poison_free_memory();
    out.of_gpu = multiply(alpha, op_a, a_there, op_b, b_there, beta, c_there, options);
    const Matrix found = c_there.fetch();
    if (time > 0) {
      EXPECT_TRUE(same_bits(found, out.gpu));
    }
    out.gpu = found;
  }
  return out;
}

void expect_same(const OnBoth& both, double tolerance) {
  std::vector<std::int32_t> columns[2];
  both.cpu.for_each([&](std::int32_t, std::int32_t j, std::int64_t) { columns[0].push_back(j); });
  both.gpu.for_each([&](std::int32_t, std::int32_t j, std::int64_t) { columns[1].push_back(j); });
  for (std::int32_t i = 0; i < both.cpu.rows().count(); ++i) EXPECT_EQ(both.cpu.end(i), both.gpu.end(i));
  EXPECT_EQ(columns[0], columns[1]);
  EXPECT_LE(largest_difference(dense_of(both.cpu), dense_of(both.gpu)), tolerance);
  EXPECT_EQ(both.of_cpu.products, both.of_gpu.products);
  EXPECT_EQ(both.of_cpu.skipped, both.of_gpu.skipped);
  EXPECT_EQ(both.of_cpu.filtered_blocks, both.of_gpu.filtered_blocks);
  EXPECT_DOUBLE_EQ(both.of_cpu.flops, both.of_gpu.flops);
  EXPECT_EQ(both.of_cpu.device_flops, 0);
  EXPECT_EQ(both.of_gpu.device_flops, both.of_gpu.flops);
  EXPECT_NEAR(both.of_cpu.skipped_bound, both.of_gpu.skipped_bound, 1e-12 * both.of_cpu.skipped_bound);
  EXPECT_NEAR(both.of_cpu.filtered_norm, both.of_gpu.filtered_norm, 1e-10 * (1 + both.of_cpu.filtered_norm));
}

double norm_of_largest(const Matrix& a) {
  const std::vector<double> norms = block_norms(a);
  return norms.empty() ? 0 : *std::max_element(norms.begin(), norms.end());
}

TEST(CudaBlockMatrix, ComesBackAsItWasSent) {
  const BlockSizes rows = any_sizes(20, 40), columns = any_sizes(17, 40);
  const Matrix a = random_matrix(rows, columns, 0.3);
  const DeviceMatrix there(a);
  EXPECT_EQ(there.block_count(), a.block_count());
  EXPECT_EQ(there.fetch().to_dense(), a.to_dense());
  Matrix put(BlockSizes({2, 1}), BlockSizes({2}));  // whose blocks lie in the order in which they came
  put.put(1, 0, std::vector<double>{5, 6});
  put.put(0, 0, std::vector<double>{1, 2, 3, 4});
  EXPECT_EQ(DeviceMatrix(put).fetch().to_dense(), put.to_dense());
  EXPECT_EQ(DeviceMatrix(Matrix(rows, columns)).fetch().block_count(), 0);
}

TEST(CudaBlockProducts, EverySize) {
  for (std::int32_t size = 1; size <= 128; size += size < 50 ? 1 : 13) {
    SCOPED_TRACE(size);
    const BlockSizes m({size, 1, size, size}), k({3, size, size}), n({size, 2, size, size, size, size, size});
    const Matrix a = random_matrix(m, k, 0.8), b = random_matrix(k, n, 0.8);
    expect_same(multiply_on_both(1, Transpose::no, a, Transpose::no, b, 0, Matrix(m, n)), rounding(k.total()));
    const BlockSizes alike(std::vector<std::int32_t>(13, size));
    const Matrix c = random_matrix(alike, alike, 0.5), d = random_matrix(alike, alike, 0.5);
    expect_same(multiply_on_both(1, Transpose::no, c, Transpose::no, d, 0, Matrix(alike, alike)),
                rounding(alike.total()));
  }
}

TEST(CudaBlockProducts, MixedSizesAndOccupationsAgainstDenseProducts) {
  for (const std::int32_t largest : {3, 8, 13, 24, 32, 80}) {
    for (const double occupation : {0.02, 0.3, 1.0}) {
      SCOPED_TRACE(largest);
      const BlockSizes m = any_sizes(41, largest), k = any_sizes(37, largest), n = any_sizes(29, largest);
      const Matrix a = random_matrix(m, k, occupation), b = random_matrix(k, n, occupation);
      const OnBoth both = multiply_on_both(1, Transpose::no, a, Transpose::no, b, 0, Matrix(m, n));
      expect_same(both, rounding(k.total()));
      const Dense dense = dense_multiplied(dense_of(a), dense_of(b), m.total(), k.total(), n.total());
      EXPECT_LE(largest_difference(dense_of(both.gpu), dense), rounding(k.total()));
    }
  }
}

/// Whose products are shared by warps.
TEST(CudaBlockProducts, LargeBlocksOfMixedSizes) {
  for (const std::vector<std::int32_t>& kinds :
       {std::vector<std::int32_t>{33, 41, 45, 48}, {50, 57, 64}, {70, 75, 80}, {33, 64, 80, 129}}) {
    for (const double occupation : {0.3, 1.0}) {
      SCOPED_TRACE(kinds.front());
      const BlockSizes m = random_sizes(11, kinds, next_seed()), n = random_sizes(13, kinds, next_seed());
      const BlockSizes k = any_sizes(12, 90);
      const Matrix a = random_matrix(k, m, occupation), b = random_matrix(k, n, occupation),
                   c = random_matrix(m, n, 0.3);
      expect_same(multiply_on_both(1.5, Transpose::yes, a, Transpose::no, b, -0.5, c), rounding(k.total(), 2));
      const Matrix d = random_matrix(m, m, occupation, 0.5), e = random_matrix(m, n, occupation, 0.5);
      expect_same(multiply_on_both(1, Transpose::no, d, Transpose::no, e, 0, Matrix(m, n), {.eps = 0.3}),
                  rounding(m.total()));
    }
  }
}

TEST(CudaBlockProducts, AllTransposesAlphaAndBeta) {
  for (const Transpose op_a : {Transpose::no, Transpose::yes}) {
    for (const Transpose op_b : {Transpose::no, Transpose::yes}) {
      for (const auto& [alpha, beta] : {std::pair(1.0, 0.0), std::pair(-1.5, 0.75), std::pair(0.0, 2.0)}) {
        const BlockSizes m = any_sizes(19, 40), k = any_sizes(23, 40), n = any_sizes(21, 40);
        const bool turn_a = op_a == Transpose::yes, turn_b = op_b == Transpose::yes;
        const Matrix a = random_matrix(turn_a ? k : m, turn_a ? m : k, 0.4);
        const Matrix b = random_matrix(turn_b ? n : k, turn_b ? k : n, 0.4);
        const Matrix c = random_matrix(m, n, 0.2);
        expect_same(multiply_on_both(alpha, op_a, a, op_b, b, beta, c), rounding(k.total(), alpha));
        expect_same(multiply_on_both(alpha, op_a, a, op_b, b, beta, c, {.retain_sparsity = true}),
                    rounding(k.total(), alpha));
      }
    }
  }
}

TEST(CudaBlockProducts, SymmetriesOfFactorsAndResult) {
  const BlockSizes sizes = any_sizes(31, 45);
  for (const Symmetry symmetry : {Symmetry::symmetric, Symmetry::antisymmetric}) {
    const Matrix a = random_matrix(sizes, sizes, 0.3, 0, symmetry), b = random_matrix(sizes, sizes, 0.3);
    expect_same(multiply_on_both(1, Transpose::yes, a, Transpose::no, b, 0, Matrix(sizes, sizes)),
                rounding(sizes.total()));
    const OnBoth square =
        multiply_on_both(1, Transpose::no, a, Transpose::no, a, 0, Matrix(sizes, sizes, Symmetry::symmetric));
    expect_same(square, rounding(sizes.total()));
    for (std::int32_t i = 0; i < sizes.count(); ++i) {
      const std::vector<double> block = square.gpu.get(i, i);
      for (std::int32_t p = 0; p < sizes.size(i) && !block.empty(); ++p) {
        for (std::int32_t q = 0; q < p; ++q) {
          ASSERT_EQ(block[std::size_t(p * sizes.size(i) + q)], block[std::size_t(q * sizes.size(i) + p)]);
        }
      }
    }
  }
}

TEST(CudaBlockProducts, WhatIsFilteredStaysWithinItsBound) {
  std::int64_t skipped = 0, filtered = 0;
  for (const std::int32_t largest : {13, 24, 50}) {
    const BlockSizes m = any_sizes(60, largest), k = any_sizes(70, largest), n = any_sizes(55, largest);
    const Matrix a = random_matrix(m, k, 0.7, 0.7), b = random_matrix(k, n, 0.7, 0.7), c = random_matrix(m, n, 0.1);
    for (const double eps : {1e-6, 1e-3, 0.1}) {
      for (const double beta : {0.0, 0.5}) {
        const OnBoth exact = multiply_on_both(-3, Transpose::no, a, Transpose::no, b, beta, c);
        const OnBoth both = multiply_on_both(-3, Transpose::no, a, Transpose::no, b, beta, c, {.eps = eps});
        expect_same(both, rounding(k.total(), 3));
        EXPECT_LE(difference_norm(dense_of(both.gpu), dense_of(exact.gpu)),
                  both.of_gpu.bound + 1e-13 * frobenius_norm(exact.gpu));
        for (const double norm : block_norms(both.gpu)) EXPECT_GE(norm, eps * (1 - 1e-14));
        skipped += both.of_gpu.skipped;
        filtered += both.of_gpu.filtered_blocks;
      }
    }
  }
  EXPECT_GT(skipped, 0);
  EXPECT_GT(filtered, 0);
}

/// Products in single precision are told from the norms; what they and the filter change stays within the bound, and
/// there is no more of it than there has to be: a bound from norms is not far from what random blocks make of it.
TEST(CudaBlockProducts, MixedPrecisionStaysWithinItsBound) {
  for (const std::int32_t largest : {5, 13, 24, 32, 70}) {
    SCOPED_TRACE(largest);
    const BlockSizes m = any_sizes(40, largest), k = any_sizes(50, largest), n = any_sizes(45, largest);
    const Matrix a = random_matrix(m, k, 0.7, 0.7), b = random_matrix(k, n, 0.7, 0.7), c = random_matrix(m, n, 0.1);
    for (const double eps : {1e-8, 1e-3}) {
      for (const double beta : {0.0, 0.5}) {
        const OnBoth exact = multiply_on_both(-3, Transpose::no, a, Transpose::no, b, beta, c);
        const OnBoth both =
            multiply_on_both(-3, Transpose::no, a, Transpose::no, b, beta, c, {.eps = eps, .mixed = true});
        EXPECT_GT(both.of_gpu.single_products, 0);
        EXPECT_LT(both.of_gpu.single_products, both.of_gpu.products);
        EXPECT_GT(both.of_gpu.rounding_bound, 0);
        EXPECT_EQ(both.of_gpu.skipped, both.of_cpu.skipped);
        const double error = difference_norm(dense_of(both.gpu), dense_of(exact.gpu));
        EXPECT_LE(error, both.of_gpu.bound + 1e-13 * frobenius_norm(exact.gpu));
        // Where nothing is taken out of C, what rounding alone changes.
        const OnBoth kept = multiply_on_both(-3, Transpose::no, a, Transpose::no, b, beta, c,
                                             {.eps = eps, .retain_sparsity = true, .mixed = true});
        const OnBoth kept_exact =
            multiply_on_both(-3, Transpose::no, a, Transpose::no, b, beta, c, {.retain_sparsity = true});
        EXPECT_LE(difference_norm(dense_of(kept.gpu), dense_of(kept_exact.gpu)),
                  kept.of_gpu.skipped_bound + kept.of_gpu.rounding_bound + 1e-13 * frobenius_norm(exact.gpu));
      }
    }
  }
}

/// With a large eps and norms that are all alike, every product is in single precision.
TEST(CudaBlockProducts, SinglePrecisionOfEverySize) {
  for (std::int32_t size = 1; size <= 128; size += size < 50 ? 1 : 13) {
    SCOPED_TRACE(size);
    const BlockSizes m({size, 1, size, size}), k({3, size, size}), n({size, 2, size, size, size, size, size});
    const Matrix a = random_matrix(m, k, 0.8), b = random_matrix(k, n, 0.8);
    const double largest = norm_of_largest(a) * norm_of_largest(b);
    const double eps = 0.05 * largest;  // of at most 3 products a row; no block of C is as small
    const MultiplyOptions options{.eps = eps, .retain_sparsity = false, .mixed = true};
    const OnBoth both = multiply_on_both(1, Transpose::no, a, Transpose::no, b, 0, Matrix(m, n), options);
    EXPECT_EQ(both.of_gpu.single_products, both.of_gpu.products);
    const OnBoth exact = multiply_on_both(1, Transpose::no, a, Transpose::no, b, 0, Matrix(m, n), {.eps = eps});
    const double error = difference_norm(dense_of(both.gpu), dense_of(exact.gpu));
    EXPECT_LE(error, both.of_gpu.rounding_bound + both.of_gpu.filtered_norm + exact.of_gpu.filtered_norm);
    // Rounding of random numbers adds up as a random walk: far below the bound, far above double precision.
    if (size > 3) {
      EXPECT_GT(error, 1e-7 * frobenius_norm(exact.gpu));
    }
  }
}

TEST(CudaBlockProducts, FilteredSquaresOfSymmetricMatrices) {
  const BlockSizes sizes = any_sizes(80, 30);
  const Matrix a = random_matrix(sizes, sizes, 0.8, 0.6, Symmetry::symmetric);
  const OnBoth both = multiply_on_both(1, Transpose::no, a, Transpose::no, a, 0,
                                       Matrix(sizes, sizes, Symmetry::symmetric), {.eps = 1e-4});
  expect_same(both, rounding(sizes.total()));
  EXPECT_GT(both.of_gpu.skipped, 0);
}

TEST(CudaBlockProducts, ResultMayBeAFactor) {
  const BlockSizes sizes = any_sizes(25, 30);
  const Matrix a = random_matrix(sizes, sizes, 0.4);
  Matrix on_cpu = a;
  multiply(2.0, Transpose::no, on_cpu, Transpose::yes, on_cpu, 1.0, on_cpu);
  DeviceMatrix there(a);
  multiply(2, Transpose::no, there, Transpose::yes, there, 1, there);
  EXPECT_LE(largest_difference(dense_of(there.fetch()), dense_of(on_cpu)), rounding(sizes.total(), 2));
}

TEST(CudaBlockProducts, ManyTasks) {
  const BlockSizes sizes = random_sizes(700, {5, 13}, next_seed());
  const Matrix a = random_matrix(sizes, sizes, 0.05), b = random_matrix(sizes, sizes, 0.05);
  expect_same(multiply_on_both(1, Transpose::no, a, Transpose::no, b, 0, Matrix(sizes, sizes)),
              rounding(sizes.total()));
}

TEST(CudaBlockProducts, WholeMatricesGiveTheSame) {
  const BlockSizes m = random_sizes(190, {5, 13}, next_seed()), k = random_sizes(220, {5, 13, 23}, next_seed());
  const Matrix a = random_matrix(m, k, 1), b = random_matrix(m, k, 1), c = random_matrix(m, m, 0.1);
  for (const auto& [alpha, beta] : {std::pair(1.0, 0.0), std::pair(-0.5, 2.0)}) {
    const OnBoth both = multiply_on_both(alpha, Transpose::no, a, Transpose::yes, b, beta, c);
    EXPECT_FALSE(both.of_gpu.dense);
    const DeviceMatrix a_there(a), b_there(b);
    DeviceMatrix c_there(c);
    poison_free_memory();
    const MultiplyReport report = multiply(alpha, Transpose::no, a_there, Transpose::yes, b_there, beta, c_there);
    EXPECT_TRUE(report.dense);
    EXPECT_EQ(report.flops, both.of_gpu.flops);
    EXPECT_LE(largest_difference(dense_of(c_there.fetch()), dense_of(both.gpu)), rounding(k.total()));
  }
  const Matrix d = random_matrix(k, k, 1, 0, Symmetry::symmetric);
  const OnBoth square = multiply_on_both(1, Transpose::no, d, Transpose::no, d, 0, Matrix(k, k, Symmetry::symmetric));
  const DeviceMatrix there(d);
  DeviceMatrix dense(Matrix(k, k, Symmetry::symmetric));
  EXPECT_TRUE(multiply(1, Transpose::no, there, Transpose::no, there, 0, dense).dense);
  EXPECT_LE(largest_difference(dense_of(dense.fetch()), dense_of(square.gpu)), rounding(k.total()));
}

TEST(CudaBlockProducts, EmptyMatrices) {
  const BlockSizes sizes = any_sizes(9, 30);
  const Matrix a = random_matrix(sizes, sizes, 0.5), none(sizes, sizes);
  expect_same(multiply_on_both(1, Transpose::no, a, Transpose::no, none, 0, none), 0);
  expect_same(multiply_on_both(1, Transpose::no, none, Transpose::no, none, 2, a), 1e-15);
}

TEST(CudaBlockProducts, NotANumberStaysInItsRowsAndColumns) {
  const BlockSizes sizes({13, 13, 23, 23, 5});
  Matrix a = random_matrix(sizes, sizes, 1);
  const Matrix b = random_matrix(sizes, sizes, 1);
  a.block(a.find(1, 2))[7] = std::numeric_limits<double>::quiet_NaN();  // row 0 of the block, row 13 of the matrix
  const OnBoth both = multiply_on_both(1, Transpose::no, a, Transpose::no, b, 0, Matrix(sizes, sizes));
  const Dense found = dense_of(both.gpu);
  const std::int64_t n = sizes.total();
  for (std::int64_t p = 0; p < n; ++p) {
    for (std::int64_t q = 0; q < n; ++q) EXPECT_EQ(std::isnan(found[std::size_t(p * n + q)]), p == 13);
  }
}

TEST(CudaBlockProducts, BadInput) {
  const BlockSizes sizes({2, 3}), others({3, 2});
  const DeviceMatrix a(Matrix(sizes, sizes)), b(Matrix(others, sizes));
  DeviceMatrix c(Matrix(sizes, sizes));
  const auto message = [&](const DeviceMatrix& right, const MultiplyOptions& options) -> std::string {
    try {
      multiply(1, Transpose::no, a, Transpose::no, right, 0, c, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(b, {}), HasSubstr("columns of op(A) and rows of op(B) must be divided into the same blocks"));
  EXPECT_THAT(message(a, {.eps = -1}), HasSubstr("eps = -1"));
  EXPECT_EQ(message(a, {}), "");
}

}  // namespace
}  // namespace quadrille::block_dft
