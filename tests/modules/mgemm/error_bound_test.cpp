// The error bound against its definition, computed element by element.
#include "modules/mgemm/choice/error_bound.h"

#include "modules/shared/dense/magnitude_split.h"
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
  AnalysedProduct product = analysed({1, 2, 50, 95, 105, 200, 1000});

  AnalysedProduct analysed(const std::vector<double>& deltas, double listed = 1) const {
    const DenseView<const double> view_a{a.data(), m, k, k, true}, view_b{b.data(), n, k, k, true};
    return {{m, n, k},
            profile_on_host(view_a, check_finite(view_a).max_abs, deltas, listed),
            profile_on_host(view_b, check_finite(view_b).max_abs, deltas, listed)};
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
  for (const std::size_t cutoff : {0u, 2u, 5u}) {
    const double delta = example.product.a.deltas[cutoff];
    for (std::int64_t depth : {16, 128, 300, 1000}) {
      const double exact =
          gamma_bound(double(std::min<std::int64_t>(depth, 300)) + 2, 0x1p-24) * example.largest_small_sum(delta);
      const ErrorBound bound = error_bound(example.product, cutoff, depth);
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
  for (std::size_t cutoff = 0; cutoff < example.product.a.deltas.size(); ++cutoff) {
    const AnalysedProduct direct = example.analysed({example.product.a.deltas[cutoff]});
    const ErrorBound of_many = error_bound(example.product, cutoff, 100), at_once = error_bound(direct, 0, 100);
    EXPECT_NEAR(of_many.certain, at_once.certain, 1e-12 * at_once.certain);
    EXPECT_EQ(large_of(example.product, cutoff).a, large_of(direct, 0).a);
    EXPECT_EQ(large_of(example.product, cutoff).b, large_of(direct, 0).b);
  }
}

TEST(ErrorBound, WithoutAListItIsStillABound) {
  const Example example;
  const AnalysedProduct unlisted = example.analysed({1, 2}, 1e-4);
  ASSERT_EQ(unlisted.a.deltas.size(), 1u);
  EXPECT_GT(error_bound(unlisted, 0, 100).certain, error_bound(example.product, 0, 100).certain);
}

TEST(ErrorBound, OverflowOfSinglePrecisionHasNoBound) {
  Example example;
  example.product.a.max_abs = 1e39;
  example.product.a.deltas.back() = 1e40;
  EXPECT_EQ(error_bound(example.product, example.product.a.deltas.size() - 1, 100).certain, HUGE_VAL);
  EXPECT_LT(error_bound(example.product, 0, 100).certain, 1);
  example.product.a.extremes[0].small_squares = 1e38;
  example.product.b.extremes[0].small_squares = 1e40;
  EXPECT_EQ(error_bound(example.product, 0, 100).certain, HUGE_VAL);
}

}  // namespace
}  // namespace quadrille::mgemm
