// The error bound against its definition, computed element by element.
#include "modules/mgemm/error_bound.h"

#include "tests/modules/mgemm/salted.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace quadrille::mgemm {
namespace {

struct Example {
  std::int64_t m = 60, n = 50, k = 300;
  std::vector<double> a = testing::salted_matrix(m * k, 0.01, 100), b = testing::salted_matrix(k * n, 0.01, 100);
  ProductProfile profile;

  /// Analysed with the cutoff 1.
  Example() {
    const DenseView<const double> view_a{a.data(), m, k, k, true}, view_b{b.data(), k, n, k, false};
    profile.shape = {m, n, k};
    profile.a = profile_magnitudes(view_a, 1, m * k);
    profile.b = profile_magnitudes(view_b.transposed(), 1, k * n);
    profile.max_a = check_finite(view_a).max_abs;
    profile.max_b = check_finite(view_b).max_abs;
  }
  /// max_ij sum_l |a_il| |b_lj| over the small elements.
  double largest_small_sum(double delta) const {
    double most = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const double x = std::abs(a[std::size_t(i * k + l)]), y = std::abs(b[std::size_t(j * k + l)]);
          if (x <= delta && y <= delta) sum += x * y;
        }
        most = std::max(most, sum);
      }
    }
    return most;
  }
};

TEST(ErrorBound, GammaIsHighams) {
  EXPECT_DOUBLE_EQ(gamma_bound(4, 0x1p-4), 0.25 / 0.75);
  EXPECT_EQ(gamma_bound(16, 0x1p-4), HUGE_VAL);
  EXPECT_EQ(gamma_bound(0, 0x1p-24), 0);
}

TEST(ErrorBound, IsAboveTheSumsAndNotFarAbove) {
  const Example example;
  for (double delta : {1.0, 50.0, 200.0}) {
    for (std::int64_t depth : {16, 128, 300, 1000}) {
      const double exact =
          gamma_bound(double(std::min<std::int64_t>(depth, 300)) + 2, 0x1p-24) * example.largest_small_sum(delta);
      const ErrorBound bound = error_bound(example.profile, delta, depth);
      EXPECT_GE(bound.certain, exact);
      // Cauchy and Schwarz lose 4/3 for uniform numbers; rare large ones do not meet.
      if (delta == 1) {
        EXPECT_LE(bound.certain, 2 * exact);
      }
      EXPECT_LE(bound.probable, bound.certain);
    }
  }
}

TEST(ErrorBound, AProfileServesLargerCutoffs) {
  const Example example;
  for (double delta : {2.0, 95.0, 105.0, 1000.0}) {
    const DenseView<const double> view_a{example.a.data(), example.m, example.k, example.k, true};
    const DenseView<const double> view_b{example.b.data(), example.k, example.n, example.k, false};
    ProductProfile direct = example.profile;
    direct.a = profile_magnitudes(view_a, delta, example.m * example.k);
    direct.b = profile_magnitudes(view_b.transposed(), delta, example.k * example.n);
    const ErrorBound from_smaller = error_bound(example.profile, delta, 100), at_once = error_bound(direct, delta, 100);
    EXPECT_NEAR(from_smaller.certain, at_once.certain, 1e-12 * at_once.certain);
    EXPECT_EQ(count_large(example.profile, delta).a, direct.a.count);
    EXPECT_EQ(count_large(example.profile, delta).b, direct.b.count);
  }
}

TEST(ErrorBound, WithoutAListItIsStillABound) {
  Example example;
  const ErrorBound listed = error_bound(example.profile, 1, 100);
  example.profile.a.listed = example.profile.b.listed = false;
  example.profile.a.larger.clear();
  example.profile.b.larger.clear();
  EXPECT_GE(error_bound(example.profile, 1, 100).certain, listed.certain);
}

TEST(ErrorBound, OverflowOfSinglePrecisionHasNoBound) {
  Example example;
  example.profile.max_a = 1e39;
  EXPECT_EQ(error_bound(example.profile, 1e40, 100).certain, HUGE_VAL);
  EXPECT_LT(error_bound(example.profile, 1, 100).certain, 1);
  example.profile.a.row_squares[3] = 1e38;
  example.profile.b.row_squares[3] = 1e40;
  EXPECT_EQ(error_bound(example.profile, 1, 100).certain, HUGE_VAL);
}

}  // namespace
}  // namespace quadrille::mgemm
