// Block-sparse matrices on grids of ranks against dense ones and against one rank: on every grid of each number of
// ranks.
#include "core/error.h"
#include "core/system/memory.h"
#include "modules/block_dft/functions/matrix_functions.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/matrix/block_exchange.h"
#include "tests/ranks/blocks_on_ranks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using ::testing::HasSubstr;
constexpr Transpose both[] = {Transpose::no, Transpose::yes};

template <class T>
class RankBlockProducts : public ::testing::Test {};
using Numbers = ::testing::Types<double, float>;
TYPED_TEST_SUITE(RankBlockProducts, Numbers);

TYPED_TEST(RankBlockProducts, AreDenseOnes) {
  using T = TypeParam;
  const std::pair<double, double> coefficients[] = {{1, 0}, {1, 1}, {-1.5, 0.75}};
  std::mt19937_64 random(seed());
  for (const Transpose op_a : both) {
    for (const Transpose op_b : both) {
      const auto [alpha, beta] = coefficients[random() % 3];
      for_each_problem<T>(op_a, op_b, 0, [&, alpha = alpha, beta = beta](const Problem<T>& alone, Problem<T> shared) {
        const Dense expected = alone.expected(alpha, beta);
        const MultiplyReport report =
            multiply(T(alpha), op_a, shared.a, op_b, shared.b, T(beta), shared.c, {.driver = Driver::own});
        EXPECT_LE(largest_difference(whole(shared.c), expected), rounding<T>(alone.k.total(), alpha));
        EXPECT_EQ(report.skipped, 0);
        EXPECT_EQ(report.bound, 0);
        BlockMatrix<T> c = alone.c;
        const MultiplyReport of_one =
            multiply(T(alpha), op_a, alone.a, op_b, alone.b, T(beta), c, {.driver = Driver::own});
        EXPECT_EQ(report.products, of_one.products);
        EXPECT_EQ(report.flops, of_one.flops);
      });
    }
  }
}

TYPED_TEST(RankBlockProducts, OfSymmetricMatrices) {
  using T = TypeParam;
  const auto ranks = all_ranks();
  for (const Grid& grid : grids(*ranks)) {
    SCOPED_TRACE(name_of(grid));
    for (const Symmetry symmetry : {Symmetry::symmetric, Symmetry::antisymmetric}) {
      const BlockSizes alone = shared_sizes(17), shared = alone.on(grid);
      const std::uint64_t numbers = seed();
      const Dense a = whole(random_blocks<T>(alone, alone, symmetry, 0.4, numbers));
      const BlockMatrix<T> same = random_blocks<T>(shared, shared, symmetry, 0.4, numbers);
      const std::int64_t n = alone.total();
      const DenseFactor factor{a, n, n, Transpose::no};
      const Dense expected = dense_product(1, factor, factor, 0, a, n, n);
      BlockMatrix<T> half(shared, shared, Symmetry::symmetric), full(shared, shared);
      multiply(T(1), Transpose::no, same, Transpose::no, same, T(0), half);
      multiply(T(1), Transpose::no, same, Transpose::no, same, T(0), full);
      EXPECT_LE(largest_difference(whole(half), expected), rounding<T>(n));
      EXPECT_LE(largest_difference(whole(full), expected), rounding<T>(n));
    }
  }
}

/// What the filter leaves out is what it leaves out on one rank, and within its bound.
TEST(RankBlockFilter, HasThePlacesAndBoundsOfOneRank) {
  for (const bool mixed : {false, true}) {
    for (const double eps : {1e-6, 1e-2, 0.3}) {
      for_each_problem<double>(
          Transpose::no, Transpose::yes, 0.3, [&](const Problem<double>& alone, Problem<double> shared) {
            const MultiplyOptions options{.eps = eps, .mixed = mixed, .driver = Driver::own};
            const Dense exact = alone.expected(0.7, 0);
            BlockMatrix<double> c = alone.c;
            const MultiplyReport one = multiply(0.7, alone.op_a, alone.a, alone.op_b, alone.b, 0.0, c, options);
            const MultiplyReport many =
                multiply(0.7, shared.op_a, shared.a, shared.op_b, shared.b, 0.0, shared.c, options);
            EXPECT_LE(difference_norm(whole(shared.c), exact), many.bound + rounding<double>(alone.k.total()));
            EXPECT_EQ(many.products, one.products);
            EXPECT_EQ(many.skipped, one.skipped);
            EXPECT_EQ(many.single_products, one.single_products);
            EXPECT_EQ(many.flops, one.flops);
            EXPECT_NEAR(many.skipped_bound, one.skipped_bound, 1e-12 * one.skipped_bound);
            EXPECT_NEAR(many.rounding_bound, one.rounding_bound, 1e-12 * one.rounding_bound);
            EXPECT_NEAR(many.filtered_norm, one.filtered_norm, 1e-5 * (one.filtered_norm + eps));
            if (!mixed) {
              EXPECT_LE(difference_norm(whole(shared.c), whole(c)), rounding<double>(alone.k.total()));
            }
          });
    }
  }
}

TEST(RankBlockFilter, RetainedPlaces) {
  for_each_problem<double>(Transpose::no, Transpose::no, 0, [&](const Problem<double>& alone, Problem<double> shared) {
    const std::int64_t before = shared.c.block_count();
    BlockMatrix<double> c = alone.c;
    const MultiplyOptions options{.retain_sparsity = true, .driver = Driver::own};
    multiply(1.0, alone.op_a, alone.a, alone.op_b, alone.b, 1.0, c, options);
    multiply(1.0, shared.op_a, shared.a, shared.op_b, shared.b, 1.0, shared.c, options);
    EXPECT_EQ(shared.c.block_count(), before);
    EXPECT_LE(largest_difference(whole(shared.c), whole(c)), rounding<double>(alone.k.total()));
  });
}

TEST(RankBlockPanels, TheSameGridGivesTheSameBitsAndSmallMemoryTheSameResult) {
  const auto ranks = all_ranks();
  const BlockSizes m = shared_sizes(12), k = shared_sizes(80), n = shared_sizes(11);
  for (const Grid& grid : grids(*ranks)) {
    if (!grid) continue;
    SCOPED_TRACE(name_of(grid));
    const auto a = random_blocks<double>(m.on(grid), k.on(grid), Symmetry::none, 0.5, seed());
    const auto b = random_blocks<double>(k.on(grid), n.on(grid), Symmetry::none, 0.5, seed());
    const auto product = [&](double panel_bytes) {
      BlockMatrix<double> c(m.on(grid), n.on(grid));
      multiply(1.0, Transpose::no, a, Transpose::no, b, 0.0, c, {.panel_bytes = panel_bytes});
      return whole(c);
    };
    const Dense first = product(0);
    EXPECT_EQ(product(0), first);
    double numbers = double(a.stored() + b.stored());
    ranks->sum(&numbers, 1);
    EXPECT_LE(largest_difference(product(8 * numbers / 2), first), rounding<double>(k.total()));
    std::string said;
    try {
      product(1);
    } catch (const NotEnoughMemory& error) {
      said = error.message();
    }
    EXPECT_THAT(said, HasSubstr("panels of one block along k need about"));
  }
}

TEST(RankBlockProductsRefuse, GridsThatDoNotMatch) {
  const auto ranks = all_ranks();
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_THAT(
      message_of([&] { (void)MatrixGrid::over(*ranks, ranks->size() + 1, 1); }),
      HasSubstr(fmt::format("a grid of {0} x 1 has {0} ranks, but there are {1}", ranks->size() + 1, ranks->size())));
  if (ranks->size() == 1) return;
  const Grid flat = MatrixGrid::over(*ranks, 1, ranks->size()), other = MatrixGrid::over(*ranks, ranks->size(), 1);
  const BlockSizes sizes = shared_sizes(9), one = sizes.on(flat), two = sizes.on(other);
  const BlockMatrix<double> a(one, one), b(two, two), alone(sizes, sizes);
  BlockMatrix<double> c(one, one);
  EXPECT_THAT(message_of([&] { multiply(1.0, Transpose::no, a, Transpose::no, b, 0.0, c); }),
              HasSubstr("must be on the same grid of ranks: they are on a grid of 1 x"));
  EXPECT_THAT(message_of([&] { add(1.0, c, 1.0, alone); }), HasSubstr("and on one rank"));
  EXPECT_THAT(message_of([&] { BlockMatrix<double>(one, two); }), HasSubstr("on the same grid"));
  for (std::int32_t i = 0; i < 9; ++i) {
    const std::vector<double> block(std::size_t(sizes.size(i)) * std::size_t(sizes.size(0)));
    const std::string said = message_of([&] { c.put(i, 0, block); });
    EXPECT_EQ(said.empty(), c.owns(i, 0));
    if (!c.owns(i, 0)) {
      EXPECT_THAT(said, HasSubstr(fmt::format("block ({}, 0) belongs to rank {}", i, c.owner(i, 0))));
    }
  }
}

TEST(RankBlockGrid, BlocksAreDealtEvenlyAndOnce) {
  const auto ranks = all_ranks();
  for (const Grid& grid : grids(*ranks)) {
    if (!grid) continue;
    const BlockSizes rows = shared_sizes(60).on(grid), columns = shared_sizes(45).on(grid);
    const BlockPattern pattern(rows, columns, Symmetry::none);
    double mine = 0;
    for (std::int32_t i = 0; i < 60; ++i) {
      for (std::int32_t j = 0; j < 45; ++j) mine += pattern.owns(i, j) ? 1 : 0;
    }
    const double least = std::floor(60.0 / grid->places()) * (grid->places() / grid->rows()) *
                         std::floor(45.0 / grid->places()) * (grid->places() / grid->columns());
    EXPECT_GE(mine, least) << name_of(grid);
    ranks->sum(&mine, 1);
    EXPECT_EQ(mine, 60 * 45);
  }
}

/// Each operation on all grids against the same on one rank.
class RankBlockAlgebra : public ::testing::TestWithParam<Symmetry> {
 protected:
  using Matrix = BlockMatrix<double>;
  const std::shared_ptr<const Communicator> ranks = all_ranks();
  const BlockSizes sizes = shared_sizes(19);
  const std::uint64_t numbers = seed();

  Matrix random(const Grid& grid, int which, Symmetry symmetry) const {
    const BlockSizes on = sizes.on(grid);
    return random_blocks<double>(on, on, symmetry, 0.3, numbers + std::uint64_t(which));
  }
  /// expected(A, B) of one rank, to the last bit.
  void expect_same(const std::function<Matrix(Matrix, const Matrix&)>& operation) const {
    const Dense expected = whole(operation(random(nullptr, 0, GetParam()), random(nullptr, 1, GetParam())));
    for (const Grid& grid : grids(*ranks)) {
      const Matrix found = operation(random(grid, 0, GetParam()), random(grid, 1, GetParam()));
      EXPECT_EQ(found.grid(), grid);
      EXPECT_EQ(whole(found), expected) << name_of(grid);
    }
  }
  /// The same of a number, but for the order of sums.
  void expect_near(const std::function<double(const Matrix&, const Matrix&)>& operation) const {
    const double expected = operation(random(nullptr, 0, GetParam()), random(nullptr, 1, GetParam()));
    for (const Grid& grid : grids(*ranks)) {
      EXPECT_NEAR(operation(random(grid, 0, GetParam()), random(grid, 1, GetParam())), expected,
                  1e-11 * std::max(1.0, std::abs(expected)))
          << name_of(grid);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Symmetries, RankBlockAlgebra,
                         ::testing::Values(Symmetry::none, Symmetry::symmetric, Symmetry::antisymmetric));

TEST_P(RankBlockAlgebra, MatricesOfOneRank) {
  expect_same([](Matrix a, const Matrix&) { return a; });
  expect_same([](Matrix a, const Matrix& b) {
    scale(a, 0.3);
    add(2.0, a, -0.7, b);
    return a;
  });
  expect_same([](Matrix a, const Matrix&) { return transposed(a); });
  expect_same([](Matrix a, const Matrix&) { return without_symmetry(a); });
  expect_same([](Matrix a, const Matrix&) { return with_symmetry(a, Symmetry::symmetric); });
  expect_same([](Matrix a, const Matrix&) { return with_symmetry(a, Symmetry::antisymmetric); });
  expect_same([](Matrix a, const Matrix&) {
    filter(a, 3.0);
    return a;
  });
  expect_same([](Matrix a, const Matrix&) { return to_double(to_single(a)); });
  if (GetParam() == Symmetry::antisymmetric) return;
  expect_same([](Matrix a, const Matrix&) {
    add_identity(a, 1.25);
    return a;
  });
}

TEST_P(RankBlockAlgebra, NumbersOfOneRank) {
  expect_near([](const Matrix& a, const Matrix&) { return trace(a); });
  expect_near([](const Matrix& a, const Matrix& b) { return dot(a, b); });
  expect_near([](const Matrix& a, const Matrix& b) { return dot(a, without_symmetry(b)); });
  expect_near([](const Matrix& a, const Matrix&) { return frobenius_norm(a); });
  expect_near([](const Matrix& a, const Matrix&) { return max_norm(a); });
  expect_near([](const Matrix& a, const Matrix&) { return row_sum_norm(a); });
  expect_near([](const Matrix& a, const Matrix&) { return gershgorin(a).low; });
  expect_near([](const Matrix& a, const Matrix&) { return gershgorin(a).high; });
  expect_near([](const Matrix& a, const Matrix&) { return a.occupation(); });
  expect_near([](Matrix a, const Matrix&) { return filter(a, 3.0).norm; });
  expect_near([](Matrix a, const Matrix&) { return double(filter(a, 3.0).blocks); });
}

TEST_P(RankBlockAlgebra, ScatteringAndCollecting) {
  const Matrix alone = random(nullptr, 0, GetParam());
  for (const Grid& grid : grids(*ranks)) {
    if (!grid) continue;
    const Matrix shared = scattered(ranks->rank() == 0 ? alone : Matrix(sizes, sizes, GetParam()), grid);
    EXPECT_EQ(whole(shared), whole(alone)) << name_of(grid);
    const Matrix back = collected(shared);
    EXPECT_EQ(back.to_dense(), ranks->rank() == 0 ? alone.to_dense() : Matrix(sizes, sizes, GetParam()).to_dense());
  }
}

TEST_P(RankBlockAlgebra, NotANumberOnOneRankIsSaidOnAll) {
  for (const Grid& grid : grids(*ranks)) {
    Matrix a = random(grid, 0, Symmetry::none);
    EXPECT_NO_THROW(require_finite(a, "A"));
    const std::int32_t i = 11, j = 4;
    std::vector<double> block(a.numbers(i, j), 1.0);
    block.back() = std::nan("");
    if (a.owns(i, j)) a.put(i, j, block);
    std::string said;
    try {
      require_finite(a, "A");
    } catch (const Error& error) {
      said = error.message();
    }
    EXPECT_THAT(said,
                HasSubstr(fmt::format("element [{}, {}] is nan", sizes.offset(i + 1) - 1, sizes.offset(j + 1) - 1)));
    EXPECT_TRUE(std::isnan(max_norm(a)));
  }
}

TEST(RankBlockFunctions, IllConditionedRoots) {
  using Matrix = BlockMatrix<double>;
  constexpr double condition = 1e7;
  const auto ranks = all_ranks();
  const Matrix alone = gaussian_chain(random_sizes(20, {1, 2, 4, 5}, seed()), condition);
  for (const Grid& grid : grids(*ranks)) {
    const Matrix s = grid ? scattered(alone, grid) : alone;
    for (const double eps : {1e-5, 1e-9}) {
      const Matrix z = square_roots(s, {.eps = eps}).inverse_root, one = identity<double>(s.rows());
      Matrix sz(s.rows(), s.rows());
      multiply(1.0, Transpose::no, s, Transpose::no, z, 0.0, sz);
      const double distance = norm_of_product(1.0, Transpose::yes, z, Transpose::no, sz, -1.0, without_symmetry(one));
      EXPECT_LE(distance / frobenius_norm(one), 20 * eps + 100 * 0x1p-52 * condition)
          << name_of(grid) << ", eps " << eps;
    }
  }
}

}  // namespace
}  // namespace quadrille::block_dft
