// What the tests of eigenproblems on a CPU and on a GPU compare, for both kinds of numbers.
#pragma once

#include "tests/modules/eigen/matrices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <vector>

namespace quadrille::eigen::testing {

using Numbers = ::testing::Types<double, Complex>;

inline void expect_close(const std::vector<double>& found, const std::vector<double>& expected, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], tolerance) << what << ", " << k;
}

/// The largest component of each vector, the first of those that are as large to 1e-6, is real and positive.
template <class T>
void expect_signs(const Pairs<T>& pairs, const std::string& what) {
  for (std::int64_t k = 0; k < pairs.range.count; ++k) {
    const T* const x = pairs.vectors.data() + k * pairs.n;
    double most = 0;
    std::for_each_n(x, pairs.n, [&](const T& number) { most = std::max(most, std::abs(number)); });
    const T* const largest =
        std::find_if(x, x + pairs.n, [&](const T& one) { return std::abs(one) >= most * (1 - 1e-6); });
    EXPECT_GT(std::real(*largest), 0) << what << ", vector " << k;
    EXPECT_EQ(std::imag(*largest), 0) << what << ", vector " << k;
  }
}

}  // namespace quadrille::eigen::testing
