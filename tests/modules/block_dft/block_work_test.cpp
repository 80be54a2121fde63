// What a GPU does with blocks (cuda/block_work.h), by loops over items and lanes here, against block_algebra.h.
#include "modules/block_dft/matrix/cuda/block_work.h"

#include "modules/block_dft/matrix/block_algebra.h"
#include "tests/modules/block_dft/dense.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using Matrix = BlockMatrix<double>;

/// A matrix in the arrays that kernels have.
struct Arrays {
  std::vector<std::int64_t> first{0}, at{0}, row;
  std::vector<std::int32_t> column;
  std::vector<double> data;

  explicit Arrays(const Matrix& a) : row(offsets(a.rows())) {
    a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
      column.push_back(j);
      const std::int64_t count = std::int64_t(a.rows().size(i)) * a.columns().size(j);
      data.insert(data.end(), a.block(slot), a.block(slot) + count);
      at.push_back(std::int64_t(data.size()));
    });
    for (std::int32_t i = 0; i < a.rows().count(); ++i) first.push_back(a.end(i));
  }
  static std::vector<std::int64_t> offsets(const BlockSizes& sizes) {
    std::vector<std::int64_t> out;
    for (std::int32_t block = 0; block <= sizes.count(); ++block) out.push_back(sizes.offset(block));
    return out;
  }
  MatrixView view() const {
    return {first.data(),
            column.data(),
            at.data(),
            data.data(),
            std::int32_t(first.size() - 1),
            std::int64_t(column.size())};
  }
  std::int64_t rows() const { return std::int64_t(first.size()) - 1; }
  std::int64_t blocks() const { return std::int64_t(column.size()); }
};

/// Some number of lanes, in any order.
template <class Work>
void run(std::int64_t items, const Work& work) {
  for (std::int64_t item = items; item-- > 0;) {
    for (int lane = 5; lane-- > 0;) work(item, lane, 5);
  }
}

template <class Work>
double sum_of(std::int64_t items, const Work& work) {
  double sum = 0;
  for (std::int64_t item = 0; item < items; ++item) {
    for (int lane = 0; lane < 5; ++lane) sum += work(item, lane, 5);
  }
  return sum;
}

void sum_before(std::vector<std::int64_t>& counts) {
  std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), std::int64_t(0));
}

Matrix random_square(const BlockSizes& sizes, double occupation, Symmetry symmetry) {
  return random_blocks<double>(sizes, sizes, symmetry, occupation, next_seed());
}

TEST(BlockWork, TheUnionOfPlaces) {
  for (const double occupation : {0.0, 0.2, 1.0}) {
    const BlockSizes sizes = some_sizes(30);
    Matrix sum = random_square(sizes, 0.3, Symmetry::none);
    const Matrix other = random_square(sizes, occupation, Symmetry::none);
    const Arrays a(sum), b(other);
    std::vector<std::int64_t> missing(std::size_t(b.blocks() + 1), -7);
    run(b.blocks(), MarkMissing{a.view(), b.view(), missing.data()});
    missing.back() = 0;
    sum_before(missing);
    add(1.5, sum, -0.5, other);
    Arrays both(sum);
    ASSERT_EQ(both.blocks(), a.blocks() + missing.back());
    std::vector<std::int64_t> first(both.first.size(), -7), at(both.at.size(), 0);
    std::vector<std::int32_t> column(both.column.size(), -7);
    run(a.rows() + 1, BeginUnion{a.view(), b.view(), missing.data(), first.data()});
    for (const bool of_a : {true, false}) {
      run(of_a ? a.blocks() : b.blocks(),
          PlaceInUnion{a.view(), b.view(), of_a, missing.data(), column.data(), at.data()});
    }
    sum_before(at);
    EXPECT_EQ(first, both.first);
    EXPECT_EQ(column, both.column);
    EXPECT_EQ(at, both.at);
    std::vector<double> data(both.data.size(), NAN);
    run(both.blocks(), AddBlocks{both.view(), a.view(), b.view(), data.data(), 1.5, -0.5});
    EXPECT_EQ(data, both.data);
  }
}

TEST(BlockWork, Scaling) {
  const BlockSizes sizes = some_sizes(20);
  Matrix a = random_square(sizes, 0.4, Symmetry::symmetric);
  Arrays arrays(a);
  std::vector<double> factors;
  for (std::int32_t i = 0; i < sizes.count(); ++i) factors.push_back(0.3 * i - 2);
  run(arrays.blocks(), ScaleBlock{arrays.view(), arrays.data.data(), -3});
  run(arrays.blocks(), ScaleByMean{arrays.view(), arrays.data.data(), factors.data()});
  scale(a, -3.0);
  scale_by_means(a, factors);
  EXPECT_EQ(arrays.data, Arrays(a).data);
}

TEST(BlockWork, Diagonals) {
  const BlockSizes sizes = some_sizes(25);
  Matrix a = random_square(sizes, 0.3, Symmetry::symmetric);
  Arrays arrays(a);
  double lacking = 0, numbers = 0;
  for (std::int32_t i = 0; i < sizes.count(); ++i) {
    lacking += a.find(i, i) < 0 ? 1 : 0;
    numbers += a.find(i, i) < 0 ? 0 : double(sizes.size(i)) * sizes.size(i);
  }
  EXPECT_EQ(sum_of(arrays.rows(), LacksDiagonal{arrays.view()}), lacking);
  EXPECT_EQ(sum_of(arrays.rows(), NumbersOnDiagonal{arrays.view()}), numbers);
  EXPECT_NEAR(sum_of(arrays.rows(), TraceOfRow{arrays.view(), arrays.row.data()}), trace(a), 1e-11);
  add_identity(a, 0.0);
  Arrays with(a);
  run(with.rows(), AddToDiagonal{with.view(), with.row.data(), with.data.data(), -2.5});
  add_identity(a, -2.5);
  EXPECT_EQ(with.data, Arrays(a).data);
}

TEST(BlockWork, DotsAndDisks) {
  for (const Symmetry symmetry : symmetries) {
    const BlockSizes sizes = some_sizes(25);
    const Matrix a = random_square(sizes, 0.4, symmetry), b = random_square(sizes, 0.4, symmetry);
    const Arrays left(a), right(b);
    const bool mirrored = symmetry != Symmetry::none;
    EXPECT_NEAR(sum_of(left.blocks(), DotOfBlock{left.view(), right.view(), mirrored}), dot(a, b), 1e-10);
    std::vector<std::int64_t> by_column(left.column.size()), column_first{0};
    std::iota(by_column.begin(), by_column.end(), 0);
    std::stable_sort(by_column.begin(), by_column.end(), [&](std::int64_t x, std::int64_t y) {
      return left.column[std::size_t(x)] < left.column[std::size_t(y)];
    });
    for (std::int32_t j = 0; j < sizes.count(); ++j) {
      column_first.push_back(column_first.back() + std::count(left.column.begin(), left.column.end(), j));
    }
    std::vector<double> centre(std::size_t(sizes.total()), NAN), radius = centre;
    run(left.rows(), DisksOfRow{left.view(), left.row.data(), left.row.data(), mirrored ? by_column.data() : nullptr,
                                column_first.data(), centre.data(), radius.data()});
    Interval found{INFINITY, -INFINITY};
    for (std::size_t p = 0; p < centre.size(); ++p) {
      found.low = std::min(found.low, centre[p] - radius[p]);
      found.high = std::max(found.high, centre[p] + radius[p]);
    }
    const Interval expected = gershgorin(a);
    EXPECT_NEAR(found.low, expected.low, 1e-11);
    EXPECT_NEAR(found.high, expected.high, 1e-11);
  }
}

}  // namespace
}  // namespace quadrille::block_dft
