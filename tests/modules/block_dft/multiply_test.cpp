// Products of block-sparse matrices against dense ones, and what is said of those that are filtered.
#include "modules/block_dft/product/multiply.h"

#include "core/error.h"
#include "core/simd/isa.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "tests/modules/block_dft/dense.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cstdlib>
#include <limits>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using ::testing::HasSubstr;

template <class T>
class BlockProducts : public ::testing::Test {};
using Numbers = ::testing::Types<double, float>;
TYPED_TEST_SUITE(BlockProducts, Numbers);

/// alpha op(A) op(B) + beta C.
template <class T>
Dense expected_product(double alpha, Transpose op_a, const BlockMatrix<T>& a, Transpose op_b, const BlockMatrix<T>& b,
                       double beta, const BlockMatrix<T>& c) {
  Dense left = dense_of(a), right = dense_of(b), out = dense_of(c);
  const bool turn_a = op_a == Transpose::yes, turn_b = op_b == Transpose::yes;
  if (turn_a) left = dense_transposed(left, a.rows().total(), a.columns().total());
  if (turn_b) right = dense_transposed(right, b.rows().total(), b.columns().total());
  const Dense product = dense_multiplied(left, right, c.rows().total(), turn_a ? a.rows().total() : a.columns().total(),
                                         c.columns().total());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = alpha * product[k] + beta * out[k];
  return out;
}

/// A and B (or their transposes), and a C of other blocks.
template <class T>
struct Problem {
  BlockSizes m, k, n;
  BlockMatrix<T> a, b, c;
  Problem(std::int32_t blocks, double occupation, Transpose op_a = Transpose::no, Transpose op_b = Transpose::no,
          double decay = 0)
      : m(some_sizes(blocks)), k(some_sizes(blocks + 2)), n(some_sizes(blocks - 1)) {
    const bool turn_a = op_a == Transpose::yes, turn_b = op_b == Transpose::yes;
    a = random_blocks<T>(turn_a ? k : m, turn_a ? m : k, Symmetry::none, occupation, next_seed(), decay);
    b = random_blocks<T>(turn_b ? n : k, turn_b ? k : n, Symmetry::none, occupation, next_seed(), decay);
    c = random_blocks<T>(m, n, Symmetry::none, 0.3, next_seed());
  }
};

TYPED_TEST(BlockProducts, AllTransposesAlphaAndBeta) {
  using T = TypeParam;
  for (const Transpose op_a : {Transpose::no, Transpose::yes}) {
    for (const Transpose op_b : {Transpose::no, Transpose::yes}) {
      for (const auto& [alpha, beta] : {std::pair(1.0, 0.0), std::pair(-1.5, 0.75), std::pair(0.0, 2.0)}) {
        Problem<T> p(9, 0.5, op_a, op_b);
        const Dense expected = expected_product(alpha, op_a, p.a, op_b, p.b, beta, p.c);
        const MultiplyReport report = multiply(T(alpha), op_a, p.a, op_b, p.b, T(beta), p.c);
        EXPECT_LE(largest_difference(dense_of(p.c), expected), rounding<T>(p.k.total(), alpha));
        EXPECT_EQ(report.skipped, 0);
        EXPECT_EQ(report.bound, 0);
      }
    }
  }
}

TYPED_TEST(BlockProducts, EveryDriverAndInstructionSetAndSize) {
  using T = TypeParam;
  std::vector<Driver> drivers = {Driver::automatic, Driver::own, Driver::blas};
  if (has_xsmm()) drivers.push_back(Driver::xsmm);
  const char* before = std::getenv("QUADRILLE_ISA");
  const std::string kept = before == nullptr ? "" : before;
  for (const Isa isa : available_isas()) {
    ::setenv("QUADRILLE_ISA", to_string(isa).c_str(), 1);
    for (std::int32_t size = 1; size <= 70; size += size < 34 ? 1 : 7) {
      const BlockSizes m({size, 1, size}), k({3, size}), n({size, 2});
      const BlockMatrix<T> a = random_blocks<T>(m, k, Symmetry::none, 1, next_seed());
      const BlockMatrix<T> b = random_blocks<T>(k, n, Symmetry::none, 1, next_seed());
      const Dense expected = expected_product(1, Transpose::no, a, Transpose::no, b, 0, BlockMatrix<T>(m, n));
      for (const Driver driver : drivers) {
        BlockMatrix<T> c(m, n);
        multiply(T(1), Transpose::no, a, Transpose::no, b, T(0), c, {.driver = driver});
        ASSERT_LE(largest_difference(dense_of(c), expected), rounding<T>(k.total()))
            << "size " << size << ", driver " << to_string(driver) << ", " << to_string(isa);
      }
    }
  }
  before == nullptr ? ::unsetenv("QUADRILLE_ISA") : ::setenv("QUADRILLE_ISA", kept.c_str(), 1);
}

TYPED_TEST(BlockProducts, LargeBlocksGoToOpenBlas) {
  using T = TypeParam;
  const BlockSizes sizes({130, 20, 97});
  const BlockMatrix<T> a = random_blocks<T>(sizes, sizes, Symmetry::none, 1, next_seed());
  const BlockMatrix<T> b = random_blocks<T>(sizes, sizes, Symmetry::none, 1, next_seed());
  BlockMatrix<T> c(sizes, sizes);
  const Dense expected = expected_product(1, Transpose::no, a, Transpose::no, b, 0, c);
  multiply(T(1), Transpose::no, a, Transpose::no, b, T(0), c);
  EXPECT_LE(largest_difference(dense_of(c), expected), rounding<T>(sizes.total()));
}

TYPED_TEST(BlockProducts, SymmetriesOfFactorsAndResult) {
  using T = TypeParam;
  const BlockSizes sizes = some_sizes(10);
  for (const Symmetry of_a : {Symmetry::symmetric, Symmetry::antisymmetric}) {
    const BlockMatrix<T> a = random_blocks<T>(sizes, sizes, of_a, 0.4, next_seed());
    const BlockMatrix<T> b = random_blocks<T>(sizes, sizes, Symmetry::none, 0.4, next_seed());
    BlockMatrix<T> c(sizes, sizes);
    const Dense expected = expected_product(1, Transpose::yes, a, Transpose::no, b, 0, c);
    multiply(T(1), Transpose::yes, a, Transpose::no, b, T(0), c);
    EXPECT_LE(largest_difference(dense_of(c), expected), rounding<T>(sizes.total()));

    BlockMatrix<T> square(sizes, sizes, Symmetry::symmetric), whole(sizes, sizes);
    const MultiplyReport half = multiply(T(1), Transpose::no, a, Transpose::no, a, T(0), square);
    const MultiplyReport full = multiply(T(1), Transpose::no, a, Transpose::no, a, T(0), whole);
    EXPECT_EQ(square.to_dense(), whole.to_dense());
    EXPECT_LT(half.flops, full.flops);
  }
}

TYPED_TEST(BlockProducts, ResultMayBeAFactor) {
  using T = TypeParam;
  const BlockSizes sizes = some_sizes(8);
  BlockMatrix<T> a = random_blocks<T>(sizes, sizes, Symmetry::none, 0.4, next_seed());
  const Dense expected = expected_product(2, Transpose::no, a, Transpose::yes, a, 1, a);
  multiply(T(2), Transpose::no, a, Transpose::yes, a, T(1), a);
  EXPECT_LE(largest_difference(dense_of(a), expected), rounding<T>(sizes.total(), 2));
}

TYPED_TEST(BlockProducts, RetainedSparsity) {
  using T = TypeParam;
  Problem<T> p(10, 0.5);
  const BlockMatrix<T> old = p.c;
  const Dense product = expected_product(1, Transpose::no, p.a, Transpose::no, p.b, 0, p.c);
  multiply(T(1), Transpose::no, p.a, Transpose::no, p.b, T(0), p.c, {.retain_sparsity = true});
  ASSERT_EQ(p.c.block_count(), old.block_count());
  const BlockMatrix<T> all = BlockMatrix<T>::from_dense(std::vector<T>(product.begin(), product.end()), p.m, p.n);
  old.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    std::vector<T> expected = all.get(i, j);
    expected.resize(std::size_t(p.m.size(i)) * std::size_t(p.n.size(j)));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      ASSERT_NEAR(p.c.block(slot)[k], expected[k], rounding<T>(p.k.total())) << i << " " << j;
    }
  });
}

TYPED_TEST(BlockProducts, WhatIsFilteredStaysWithinItsBound) {
  using T = TypeParam;
  std::int64_t skipped = 0, filtered = 0;
  for (const double eps : {1e-4, 1e-2, 0.3}) {
    for (const double alpha : {1.0, -3.0}) {
      Problem<T> p(16, 0.7, Transpose::no, Transpose::no, 1.0);
      BlockMatrix<T> exact = p.c;
      multiply(T(alpha), Transpose::no, p.a, Transpose::no, p.b, T(0.5), exact);
      const MultiplyReport report =
          multiply(T(alpha), Transpose::no, p.a, Transpose::no, p.b, T(0.5), p.c, {.eps = eps});
      const double error = difference_norm(dense_of(p.c), dense_of(exact));
      const double rounded = frobenius_norm(exact) * 100 * std::numeric_limits<T>::epsilon();
      EXPECT_LE(error, report.bound + rounded) << "eps " << eps;
      // The bound must say something: norms of blocks overestimate products by an order of magnitude, not by more.
      if (report.filtered_norm > 10 * report.skipped_bound) {
        EXPECT_GE(error, 0.5 * report.bound - rounded);
      }
      for (double norm : block_norms(p.c)) EXPECT_GE(norm, eps);
      skipped += report.skipped;
      filtered += report.filtered_blocks;
    }
  }
  EXPECT_GT(skipped, 0);
  EXPECT_GT(filtered, 0);
}

TYPED_TEST(BlockProducts, EveryBlockChangesByLessThanEps) {
  using T = TypeParam;
  constexpr double eps = 0.05;
  Problem<T> p(16, 0.8, Transpose::no, Transpose::no, 0.8);
  BlockMatrix<T> exact(p.m, p.n), c(p.m, p.n);
  multiply(T(1), Transpose::no, p.a, Transpose::no, p.b, T(0), exact);
  const MultiplyReport report = multiply(T(1), Transpose::no, p.a, Transpose::no, p.b, T(0), c, {.eps = eps});
  EXPECT_GT(report.skipped, 0);
  exact.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    const std::vector<T> found = c.get(i, j);
    double squares = 0;
    for (std::size_t k = 0; k < std::size_t(p.m.size(i)) * std::size_t(p.n.size(j)); ++k) {
      const double difference = exact.block(slot)[k] - (found.empty() ? 0.0 : double(found[k]));
      squares += difference * difference;
    }
    // Below eps of skipped products, and below eps of a block that is taken out.
    EXPECT_LE(std::sqrt(squares), 2 * eps + 1e-4);
  });
}

TYPED_TEST(BlockProducts, NeitherThreadsNorCacheChangeABit) {
  using T = TypeParam;
  Problem<T> p(24, 0.5, Transpose::no, Transpose::no, 0.2);
  std::vector<T> first;
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 5}) {
    for (const double cache_bytes : {2e3, 4e4, 1e9}) {
      omp_set_num_threads(threads);
      BlockMatrix<T> c(p.m, p.n);
      multiply(T(0.7), Transpose::no, p.a, Transpose::no, p.b, T(0), c, {.eps = 1e-3, .cache_bytes = cache_bytes});
      if (first.empty()) first = c.to_dense();
      EXPECT_EQ(c.to_dense(), first) << threads << " threads, " << cache_bytes << " bytes";
    }
  }
  omp_set_num_threads(before);
}

TEST(MixedPrecision, StaysWithinItsBoundAndEps) {
  using Matrix = BlockMatrix<double>;
  double single = 0;
  for (const double eps : {1e-7, 1e-5, 1e-3}) {
    for (const double alpha : {1.0, -3.0}) {
      Problem<double> p(16, 0.9, Transpose::no, Transpose::no, 1.0);
      Matrix exact(p.m, p.n), c(p.m, p.n), plain(p.m, p.n);
      const MultiplyReport all = multiply(alpha, Transpose::no, p.a, Transpose::no, p.b, 0.0, exact);
      multiply(alpha, Transpose::no, p.a, Transpose::no, p.b, 0.0, plain, {.eps = eps});
      const MultiplyReport report =
          multiply(alpha, Transpose::no, p.a, Transpose::no, p.b, 0.0, c, {.eps = eps, .mixed = true});
      EXPECT_EQ(all.single_products, 0);
      EXPECT_DOUBLE_EQ(report.bound, report.skipped_bound + report.rounding_bound + report.filtered_norm);
      EXPECT_LE(difference_norm(dense_of(c), dense_of(exact)), report.bound + 1e-12) << "eps " << eps;
      // The rounding alone, and the bound says something of it: worst cases are two or three orders above the rule.
      const double rounded = difference_norm(dense_of(c), dense_of(plain));
      EXPECT_LE(rounded, report.rounding_bound + 2 * report.filtered_norm + 1e-12);
      if (report.single_products > 1000) {
        EXPECT_GT(rounded, 1e-4 * report.rounding_bound);
      }
      exact.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
        const std::vector<double> found = c.get(i, j);
        double squares = 0;
        for (std::size_t k = 0; k < std::size_t(p.m.size(i)) * std::size_t(p.n.size(j)); ++k) {
          const double difference = exact.block(slot)[k] - (found.empty() ? 0.0 : found[k]);
          squares += difference * difference;
        }
        EXPECT_LE(std::sqrt(squares), (found.empty() ? 2 : 1) * eps + 1e-12);
      });
      single += double(report.single_products);
    }
  }
  EXPECT_GT(single, 0);
}

TEST(MixedPrecision, SymmetricSquares) {
  const BlockSizes sizes = random_sizes(40, {5, 13}, next_seed());
  const auto a = random_blocks<double>(sizes, sizes, Symmetry::symmetric, 1, next_seed(), 0.5);
  BlockMatrix<double> exact(sizes, sizes, Symmetry::symmetric), c = exact;
  multiply(1.0, Transpose::no, a, Transpose::no, a, 0.0, exact);
  const MultiplyReport report =
      multiply(1.0, Transpose::no, a, Transpose::no, a, 0.0, c, {.eps = 1e-6, .mixed = true, .driver = Driver::own});
  EXPECT_GT(report.single_products, report.products / 10);
  EXPECT_LE(difference_norm(dense_of(c), dense_of(exact)), report.bound + 1e-12);
}

TEST(MixedPrecision, NumbersBeyondSinglePrecisionStayInDouble) {
  const BlockSizes sizes({4, 4});
  BlockMatrix<double> a(sizes, sizes), b(sizes, sizes), c(sizes, sizes), exact(sizes, sizes);
  a.put(0, 0, std::vector<double>(16, 1e200));
  a.put(0, 1, std::vector<double>(16, 1e-60));
  b.put(0, 0, std::vector<double>(16, 1e-201));
  b.put(1, 0, std::vector<double>(16, 1e55));
  multiply(1.0, Transpose::no, a, Transpose::no, b, 0.0, exact);
  const MultiplyReport report = multiply(1.0, Transpose::no, a, Transpose::no, b, 0.0, c, {.eps = 1e-5, .mixed = true});
  EXPECT_EQ(report.single_products, 0);
  EXPECT_EQ(dense_of(c), dense_of(exact));
}

TEST(MixedPrecision, ThreadsDoNotChangeABit) {
  Problem<double> p(24, 0.8, Transpose::no, Transpose::no, 0.5);
  Dense first;
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 5}) {
    omp_set_num_threads(threads);
    BlockMatrix<double> c(p.m, p.n);
    multiply(1.0, Transpose::no, p.a, Transpose::no, p.b, 0.0, c, {.eps = 1e-4, .mixed = true});
    if (first.empty()) first = dense_of(c);
    EXPECT_EQ(dense_of(c), first) << threads;
  }
  omp_set_num_threads(before);
}

TYPED_TEST(BlockProducts, WholeMatricesGiveTheSame) {
  using T = TypeParam;
  const BlockSizes sizes = random_sizes(90, {1, 2, 3}, next_seed());
  const int before = omp_get_max_threads();
  for (const Symmetry symmetry : {Symmetry::none, Symmetry::symmetric}) {
    const auto a = random_blocks<T>(sizes, sizes, symmetry, 0.9, next_seed());
    const auto old = random_blocks<T>(sizes, sizes, symmetry, 0.3, next_seed());
    for (const T alpha : {T(1), T(-0.5)}) {
      std::vector<T> first;
      BlockMatrix<T> own = old;
      EXPECT_FALSE(multiply(alpha, Transpose::no, a, Transpose::no, a, T(2), own, {.driver = Driver::own}).dense);
      for (const int threads : {1, 3}) {
        omp_set_num_threads(threads);
        BlockMatrix<T> c = old;
        const MultiplyReport report = multiply(alpha, Transpose::no, a, Transpose::no, a, T(2), c);
        EXPECT_TRUE(report.dense);
        EXPECT_LE(largest_difference(dense_of(c), dense_of(own)), rounding<T>(sizes.total(), 3));
        if (first.empty()) first = c.to_dense();
        EXPECT_EQ(c.to_dense(), first) << threads << " threads";
        BlockMatrix<T> kept = old;
        multiply(alpha, Transpose::no, a, Transpose::no, a, T(2), kept, {.retain_sparsity = true});
        EXPECT_EQ(kept.block_count(), old.block_count());
      }
    }
  }
  omp_set_num_threads(before);
}

TEST(BlockProducts, FlopsAreThoseOfTheBlocks) {
  const BlockSizes m({3, 4}), k({5}), n({2, 7});
  const BlockMatrix<double> a = random_blocks<double>(m, k, Symmetry::none, 1, next_seed());
  const BlockMatrix<double> b = random_blocks<double>(k, n, Symmetry::none, 1, next_seed());
  BlockMatrix<double> c(m, n);
  const MultiplyReport report = multiply(1.0, Transpose::no, a, Transpose::no, b, 0.0, c);
  EXPECT_EQ(report.flops, 2.0 * 7 * 5 * 9);
  EXPECT_EQ(report.products, 4);
}

TEST(BlockProducts, BadInput) {
  const BlockSizes sizes({2, 3}), others({3, 2});
  const BlockMatrix<double> a(sizes, sizes), b(others, sizes);
  BlockMatrix<double> c(sizes, sizes);
  const auto message = [&](const BlockMatrix<double>& right, double eps) -> std::string {
    try {
      multiply(1.0, Transpose::no, a, Transpose::no, right, 0.0, c, {.eps = eps});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(
      message(b, 0),
      HasSubstr("columns of op(A) and rows of op(B) must be divided into the same blocks: block 0 has size 2 and 3"));
  EXPECT_THAT(message(a, -1), HasSubstr("eps = -1"));
  EXPECT_THAT(message(a, NAN), HasSubstr("eps = nan"));
  EXPECT_EQ(message(a, 0), "");
  EXPECT_EQ(c.block_count(), 0);
  EXPECT_THROW(driver_named("best"), Error);
}

}  // namespace
}  // namespace quadrille::block_dft
