// The split into large and small elements, against the definition.
#include "modules/shared/dense/magnitude_split.h"

#include "core/random/random.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace quadrille {
namespace {

constexpr double delta = 0.9;

/// Uniform in [-1, 1] with some elements exactly at the cutoff.
std::vector<double> numbers(std::int64_t count) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = 2 * random.uniform() - 1;
    result.push_back(random.uniform() < 0.01 ? std::copysign(delta, x) : x);
  }
  return result;
}

struct Case {
  std::int64_t rows, cols, gap;
  bool by_rows;
};
const Case cases[] = {{1, 1, 0, false},      {1, 1, 0, true},     {130, 70, 3, false},  {130, 70, 3, true},
                      {64, 4500, 0, false},  {64, 4500, 5, true}, {5000, 33, 1, false}, {5000, 33, 0, true},
                      {300, 2049, 0, false}, {3, 4096, 0, true},  {0, 5, 0, false},     {5, 0, 0, true}};

DenseView<const double> view_of(const Case& c, std::vector<double>& memory) {
  const std::int64_t length = c.by_rows ? c.cols : c.rows, lines = c.by_rows ? c.rows : c.cols;
  memory = numbers((length + c.gap) * lines + 1);
  // Gaps belong to somebody else.
  for (std::int64_t n = 0; n < lines; ++n)
    for (std::int64_t i = length; i < length + c.gap; ++i) memory[std::size_t(n * (length + c.gap) + i)] = std::nan("");
  return {memory.data(), c.rows, c.cols, length + c.gap, c.by_rows};
}

TEST(MagnitudeSplit, SmallAndLargeElementsMakeTheMatrix) {
  for (const Case& c : cases) {
    std::vector<double> memory;
    const DenseView<const double> a = view_of(c, memory);
    std::vector<float> small(std::size_t(c.rows * c.cols) + 1, -7.0f);
    LargeElements large;
    const DenseView<float> s = split_by_magnitude(a, delta, small.data(), large);
    EXPECT_EQ(small.back(), -7.0f);
    std::vector<double> found(std::size_t(c.rows * c.cols));
    std::int64_t slab_before = -1, seen = 0;
    for (const LargeElements::Slab& slab : large.slabs) {
      ASSERT_FALSE(slab.rows.empty());
      const std::int64_t number = slab.columns.front() / large_slab;
      EXPECT_GT(number, slab_before);
      slab_before = number;
      std::int32_t row_before = -1;
      for (const LargeElements::Row& row : slab.rows) {
        EXPECT_GT(row.row, row_before);
        row_before = row.row;
        EXPECT_EQ(row.first, seen);
        seen += row.count;
        for (std::int64_t e = row.first; e < row.first + row.count; ++e) {
          const std::int64_t column = slab.columns.at(std::size_t(large.slots[std::size_t(e)]));
          EXPECT_EQ(column / large_slab, number);
          found[std::size_t(row.row * c.cols + column)] += large.values[std::size_t(e)];
        }
      }
    }
    EXPECT_EQ(seen, large.count());
    for (std::int64_t i = 0; i < c.rows; ++i) {
      for (std::int64_t j = 0; j < c.cols; ++j) {
        const double x = a(i, j);
        const bool is_large = std::abs(x) > delta;
        ASSERT_EQ(found[std::size_t(i * c.cols + j)], is_large ? x : 0.0) << i << ", " << j;
        ASSERT_EQ(s(i, j), is_large ? 0.0f : float(x)) << i << ", " << j;
      }
    }
  }
}

TEST(MagnitudeSplit, CutoffsOfAllAndNothing) {
  std::vector<double> memory;
  const DenseView<const double> a = view_of({100, 90, 0, false}, memory);
  std::vector<float> small(9000);
  LargeElements large;
  split_by_magnitude(a, 0.0, small.data(), large);
  EXPECT_EQ(large.count(), 9000);
  split_by_magnitude(a, std::numeric_limits<double>::infinity(), small.data(), large);
  EXPECT_EQ(large.count(), 0);
  EXPECT_TRUE(large.slabs.empty());
}

TEST(MagnitudeSplit, ProfilesAreThoseOfTheDefinition) {
  for (const Case& c : cases) {
    std::vector<double> memory;
    const DenseView<const double> a = view_of(c, memory);
    const MagnitudeProfile profile = profile_magnitudes(a, delta, c.rows * c.cols);
    std::vector<long double> squares(static_cast<std::size_t>(c.rows)), larger(squares);
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < c.rows; ++i) {
      for (std::int64_t j = 0; j < c.cols; ++j) {
        const double x = a(i, j);
        (std::abs(x) > delta ? larger : squares)[std::size_t(i)] += static_cast<long double>(x) * x;
        count += std::abs(x) > delta ? 1 : 0;
      }
    }
    EXPECT_EQ(profile.count, count);
    ASSERT_TRUE(profile.listed);
    EXPECT_EQ(std::int64_t(profile.larger.size()), count);
    for (const MagnitudeProfile::Larger& e : profile.larger) {
      larger.at(std::size_t(e.row)) -= static_cast<long double>(e.magnitude) * e.magnitude;
    }
    for (std::int64_t i = 0; i < c.rows; ++i) {
      EXPECT_NEAR(profile.row_squares[std::size_t(i)], double(squares[std::size_t(i)]), 1e-12 * double(c.cols));
      EXPECT_NEAR(double(larger[std::size_t(i)]), 0, 1e-12 * double(c.cols));
    }
    if (count < 2) continue;
    const MagnitudeProfile cut = profile_magnitudes(a, delta, count - 1);
    EXPECT_FALSE(cut.listed);
    EXPECT_TRUE(cut.larger.empty());
    EXPECT_EQ(cut.count, count);
  }
}

TEST(MagnitudeSplit, ElementsThatAreNotFiniteAreFound) {
  for (const Case& c : cases) {
    std::vector<double> memory;
    const DenseView<const double> a = view_of(c, memory);
    double most = 0;
    for (std::int64_t i = 0; i < c.rows; ++i)
      for (std::int64_t j = 0; j < c.cols; ++j) most = std::max(most, std::abs(a(i, j)));
    EXPECT_EQ(check_finite(a).row, -1);
    EXPECT_EQ(check_finite(a).max_abs, most);
    if (c.rows * c.cols == 0) continue;
    SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
    for (double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      const std::int64_t i = std::int64_t(random.uniform() * double(c.rows));
      const std::int64_t j = std::int64_t(random.uniform() * double(c.cols));
      double& place = memory[std::size_t(&a(i, j) - memory.data())];
      const double good = std::exchange(place, bad);
      EXPECT_EQ(check_finite(a).row, i);
      EXPECT_EQ(check_finite(a).col, j);
      place = good;
    }
  }
}

TEST(MagnitudeSplit, SampledQuantiles) {
  std::vector<double> memory = numbers(1000 * 1000);
  const DenseView<const double> a{memory.data(), 1000, 1000, 1000, false};
  // Sixteen standard errors of 2^15 draws; one in a hundred elements is at the cutoff.
  for (double quantile : {0.1, 0.5, 0.8}) EXPECT_NEAR(sampled_quantile(a, quantile), quantile / 0.99, 0.04);
  EXPECT_EQ(sampled_quantile(DenseView<const double>{nullptr, 0, 3, 1, false}, 0.5), 0);
}

TEST(MagnitudeSplit, ThreadsDoNotChangeABit) {
  std::vector<double> memory;
  const Case c{700, 3000, 0, false};
  const DenseView<const double> a = view_of(c, memory);
  const int before = omp_get_max_threads();
  std::vector<std::vector<float>> small;
  std::vector<LargeElements> large(3);
  std::vector<MagnitudeProfile> profiles;
  for (int threads = 1; threads <= 3; ++threads) {
    omp_set_num_threads(threads);
    small.emplace_back(std::size_t(c.rows * c.cols));
    split_by_magnitude(a, delta, small.back().data(), large[std::size_t(threads - 1)]);
    profiles.push_back(profile_magnitudes(a, delta, c.rows * c.cols));
  }
  omp_set_num_threads(before);
  for (std::size_t i : {1u, 2u}) {
    EXPECT_EQ(small[0], small[i]);
    EXPECT_EQ(large[0].values, large[i].values);
    EXPECT_EQ(large[0].slots, large[i].slots);
    EXPECT_EQ(profiles[0].row_squares, profiles[i].row_squares);
  }
}

}  // namespace
}  // namespace quadrille
