// Block-sparse matrices against dense ones: storage, symmetries, what is done with them short of multiplying.
#include "modules/block_dft/matrix/block_algebra.h"

#include "core/error.h"
#include "tests/modules/block_dft/dense.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using ::testing::HasSubstr;

template <class T>
class BlockMatrices : public ::testing::Test {
 protected:
  static constexpr double eps = std::numeric_limits<T>::epsilon();
};
using Numbers = ::testing::Types<double, float>;
TYPED_TEST_SUITE(BlockMatrices, Numbers);

TYPED_TEST(BlockMatrices, BlocksPutInAnyOrderAreThoseThatAreGot) {
  using T = TypeParam;
  for (const Symmetry symmetry : symmetries) {
    const BlockSizes sizes = some_sizes(9);
    const BlockMatrix<T> source = random_blocks<T>(sizes, sizes, symmetry, 0.5, next_seed());
    std::vector<BlockPlace> places;
    source.for_each([&](std::int32_t i, std::int32_t j, std::int64_t) { places.push_back({i, j}); });
    std::shuffle(places.begin(), places.end(), std::mt19937_64(next_seed()));
    BlockMatrix<T> a(sizes, sizes, symmetry);
    a.reserve(std::span(places).first(places.size() / 2));
    for (const BlockPlace& place : places) {
      // Through the mirror image where there is one.
      const bool mirrored = symmetry != Symmetry::none && (place.row + place.column) % 2 == 1;
      const std::int32_t i = mirrored ? place.column : place.row, j = mirrored ? place.row : place.column;
      a.put(i, j, source.get(i, j));
    }
    EXPECT_EQ(a.block_count(), source.block_count());
    EXPECT_EQ(a.to_dense(), source.to_dense());
    EXPECT_NEAR(a.occupation(), source.occupation(), 1e-14);
    const BlockPlace first = places.front();
    a.put(first.row, first.column, a.get(first.row, first.column), true);
    BlockMatrix<T> twice = source;
    scale(twice, T(2));
    EXPECT_EQ(a.get(first.row, first.column), twice.get(first.row, first.column));
  }
}

TYPED_TEST(BlockMatrices, DenseAndBack) {
  using T = TypeParam;
  for (const Symmetry symmetry : symmetries) {
    const BlockSizes sizes = some_sizes(8);
    const BlockMatrix<T> a = random_blocks<T>(sizes, sizes, symmetry, 0.4, next_seed());
    const std::vector<T> dense = a.to_dense();
    const BlockMatrix<T> back = BlockMatrix<T>::from_dense(dense, sizes, sizes, symmetry);
    if (symmetry != Symmetry::antisymmetric) {  // whose diagonal blocks of one number are zero, and left out
      EXPECT_EQ(back.block_count(), a.block_count());
    }
    EXPECT_EQ(back.to_dense(), dense);
    const std::int64_t n = sizes.total();
    for (std::int64_t p = 0; p < n && symmetry != Symmetry::none; ++p) {
      for (std::int64_t q = 0; q < n; ++q) {
        ASSERT_EQ(dense[std::size_t(p * n + q)], T(mirror_sign(symmetry)) * dense[std::size_t(q * n + p)]);
      }
    }
  }
  const BlockSizes rows = some_sizes(5), columns = some_sizes(11);
  const BlockMatrix<T> a = random_blocks<T>(rows, columns, Symmetry::none, 0.5, next_seed());
  EXPECT_EQ(BlockMatrix<T>::from_dense(a.to_dense(), rows, columns).to_dense(), a.to_dense());
}

TYPED_TEST(BlockMatrices, SumsOfAllSymmetries) {
  using T = TypeParam;
  for (const Symmetry of_a : symmetries) {
    for (const Symmetry of_b : symmetries) {
      if (of_a != Symmetry::none && of_a != of_b) continue;
      const BlockSizes sizes = some_sizes(7);
      BlockMatrix<T> a = random_blocks<T>(sizes, sizes, of_a, 0.4, next_seed());
      const BlockMatrix<T> b = random_blocks<T>(sizes, sizes, of_b, 0.4, next_seed());
      Dense expected = dense_of(a);
      const Dense other = dense_of(b);
      for (std::size_t k = 0; k < expected.size(); ++k) expected[k] = 1.5 * expected[k] - 0.25 * other[k];
      add(T(1.5), a, T(-0.25), b);
      EXPECT_LE(largest_difference(dense_of(a), expected), 4 * this->eps);
    }
  }
}

TYPED_TEST(BlockMatrices, TransposesAndSymmetries) {
  using T = TypeParam;
  const BlockSizes rows = some_sizes(6), columns = some_sizes(9);
  const BlockMatrix<T> a = random_blocks<T>(rows, columns, Symmetry::none, 0.5, next_seed());
  EXPECT_EQ(dense_of(transposed(a)), dense_transposed(dense_of(a), rows.total(), columns.total()));
  for (const Symmetry symmetry : {Symmetry::symmetric, Symmetry::antisymmetric}) {
    const BlockMatrix<T> b = random_blocks<T>(rows, rows, symmetry, 0.5, next_seed());
    EXPECT_EQ(without_symmetry(b).to_dense(), b.to_dense());
    EXPECT_EQ(dense_of(transposed(b)), dense_transposed(dense_of(b), rows.total(), rows.total()));
    EXPECT_EQ(with_symmetry(without_symmetry(b), symmetry).to_dense(), b.to_dense());
    const BlockMatrix<T> c = random_blocks<T>(rows, rows, Symmetry::none, 0.5, next_seed());
    Dense expected = dense_of(c);
    const Dense mirror = dense_transposed(expected, rows.total(), rows.total());
    for (std::size_t k = 0; k < expected.size(); ++k)
      expected[k] = (expected[k] + mirror_sign(symmetry) * mirror[k]) / 2;
    EXPECT_LE(largest_difference(dense_of(with_symmetry(c, symmetry)), expected), this->eps);
  }
}

TYPED_TEST(BlockMatrices, TraceDotAndNorms) {
  using T = TypeParam;
  for (const Symmetry symmetry : symmetries) {
    const BlockSizes sizes = some_sizes(9);
    BlockMatrix<T> a = random_blocks<T>(sizes, sizes, symmetry, 0.5, next_seed());
    const BlockMatrix<T> b = random_blocks<T>(sizes, sizes, symmetry, 0.5, next_seed());
    const Dense one = dense_of(a), other = dense_of(b);
    const std::int64_t n = sizes.total();
    double diagonal = 0, product = 0, squares = 0, largest = 0;
    for (std::size_t k = 0; k < one.size(); ++k) {
      product += one[k] * other[k];
      squares += one[k] * one[k];
      largest = std::max(largest, std::abs(one[k]));
      if (std::int64_t(k) / n == std::int64_t(k) % n) diagonal += one[k];
    }
    EXPECT_NEAR(trace(a), diagonal, 1e-11 * double(n));
    EXPECT_NEAR(dot(a, b), product, 1e-11 * double(n));
    EXPECT_NEAR(dot(a, without_symmetry(b)), product, 1e-11 * double(n));
    EXPECT_NEAR(frobenius_norm(a), std::sqrt(squares), 1e-12 * std::sqrt(squares));
    EXPECT_EQ(max_norm(a), largest);
    const std::vector<double> norms = block_norms(a);
    a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
      double sum = 0;
      for (T number : a.get(i, j)) sum += double(number) * double(number);
      EXPECT_NEAR(norms[std::size_t(slot)], std::sqrt(sum), 1e-13 * (1 + std::sqrt(sum)));
    });
    if (symmetry == Symmetry::antisymmetric) continue;
    Dense shifted = dense_of(a);
    for (std::int64_t p = 0; p < n; ++p)
      shifted[std::size_t(p * (n + 1))] = double(T(shifted[std::size_t(p * (n + 1))] + T(0.75)));
    add_identity(a, T(0.75));
    EXPECT_LE(largest_difference(dense_of(a), shifted), this->eps);
  }
}

TYPED_TEST(BlockMatrices, GershgorinIsWhatRowsOfTheDenseMatrixSay) {
  using T = TypeParam;
  for (const Symmetry symmetry : {Symmetry::none, Symmetry::symmetric}) {
    const BlockSizes sizes = some_sizes(6);
    const BlockMatrix<T> a = random_blocks<T>(sizes, sizes, symmetry, 0.5, next_seed());
    const Dense dense = dense_of(a);
    const std::int64_t n = sizes.total();
    double low = INFINITY, high = -INFINITY;
    for (std::int64_t p = 0; p < n; ++p) {
      double radius = 0;
      for (std::int64_t q = 0; q < n; ++q) radius += q == p ? 0 : std::abs(dense[std::size_t(p * n + q)]);
      low = std::min(low, dense[std::size_t(p * (n + 1))] - radius);
      high = std::max(high, dense[std::size_t(p * (n + 1))] + radius);
    }
    EXPECT_NEAR(gershgorin(a).low, low, 1e-11);
    EXPECT_NEAR(gershgorin(a).high, high, 1e-11);
  }
}

TYPED_TEST(BlockMatrices, FilterTakesOutSmallBlocksAndSaysHowMuch) {
  using T = TypeParam;
  for (const Symmetry symmetry : symmetries) {
    const BlockSizes sizes = some_sizes(12);
    const BlockMatrix<T> a = random_blocks<T>(sizes, sizes, symmetry, 0.6, next_seed(), 1.0);
    BlockMatrix<T> b = a;
    const Filtered filtered = filter(b, 1e-2);
    EXPECT_GT(filtered.blocks, 0);
    EXPECT_EQ(b.block_count() + filtered.blocks, a.block_count());
    EXPECT_NEAR(filtered.norm, difference_norm(dense_of(a), dense_of(b)), 1e-12);
    for (double norm : block_norms(b)) EXPECT_GE(norm, 1e-2);
  }
}

TEST(BlockMatrices, PrecisionsAndBadInput) {
  const BlockSizes sizes({2, 3});
  const BlockMatrix<double> a = random_blocks<double>(sizes, sizes, Symmetry::symmetric, 1, next_seed());
  EXPECT_LE(largest_difference(dense_of(to_single(a)), dense_of(a)), 0x1p-24);
  EXPECT_EQ(to_double(to_single(a)).block_count(), a.block_count());

  EXPECT_THAT(message_of([] { BlockSizes({4, 0}); }), HasSubstr("block 1 has size 0"));
  BlockMatrix<double> b(sizes, sizes, Symmetry::symmetric);
  EXPECT_THAT(message_of([&] { b.put(0, 2, std::vector<double>(4)); }), HasSubstr("block (0, 2) is outside"));
  EXPECT_THAT(message_of([&] { b.put(0, 1, std::vector<double>(4)); }), HasSubstr("2 x 3 numbers, but 4 were given"));
  EXPECT_THAT(message_of([&] { b.put(0, 0, std::vector<double>{1, 2, 3, 4}); }), HasSubstr("diagonal block 0"));
  EXPECT_THAT(message_of([&] {
                BlockMatrix<double>(sizes, BlockSizes({3, 2}), Symmetry::symmetric);
              }),
              HasSubstr("block 0 has size 2 and 3"));
  BlockMatrix<double> plain(sizes, sizes);
  EXPECT_THAT(message_of([&] { add(1.0, b, 1.0, plain); }), HasSubstr("without_symmetry"));
  plain.put(1, 0, std::vector<double>{0, 1, 2, NAN, 4, 5});
  EXPECT_THAT(message_of([&] { require_finite(plain, "H"); }), HasSubstr("H: element [3, 1] is nan"));
  EXPECT_TRUE(std::isnan(max_norm(plain)));
}

}  // namespace
}  // namespace quadrille::block_dft
