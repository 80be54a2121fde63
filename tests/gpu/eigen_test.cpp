// The eigenproblem on a GPU: the CPU's answers, hard spectra, fractions, the same bits in every run, bad input.
#include "modules/eigen/device.h"
#include "tests/modules/eigen/matrices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

namespace quadrille::eigen {
namespace {

using namespace testing;
using quadrille::testing::next_seed;
using ::testing::AllOf;
using ::testing::HasSubstr;

template <class T>
class DeviceEigenproblem : public ::testing::Test {};
using Numbers = ::testing::Types<double, Complex>;
TYPED_TEST_SUITE(DeviceEigenproblem, Numbers);

template <class T>
Pairs<T> solved_there(std::int64_t n, const std::vector<T>& a, const std::vector<T>& b, const Fraction& fraction = {}) {
  std::unique_ptr<DeviceFactor<T>> factor;
  if (!b.empty()) factor = std::make_unique<DeviceFactor<T>>(n, b.data(), n, Triangle::lower);
  return solve_on_device(DeviceProblem<T>{n, a.data(), n, Triangle::lower, factor.get(), fraction});
}

void expect_close(const std::vector<double>& found, const std::vector<double>& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t k = 0; k < found.size(); ++k) ASSERT_NEAR(found[k], expected[k], tolerance) << what << ", " << k;
}

TYPED_TEST(DeviceEigenproblem, AgreesWithTheCpuForHardSpectra) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 64, 65, 66, 130, 333}) {
    for (const std::string kind : hard_kinds) {
      if (n > 200 && kind != "random" && kind != "wilkinson" && kind != "clustered") continue;
      const std::vector<T> a = hard_matrix<T>(kind, n, next_seed());
      for (const double pivot : {0.0, 1.0, 1e-6}) {  // 0: the standard problem
        const std::vector<T> b = pivot == 0 ? std::vector<T>() : metric_with_pivot<T>(n, pivot, next_seed());
        const std::string what = fmt::format("{}, n = {}, pivot {}", kind, n, pivot);
        const Pairs<T> pairs = solved_there(n, a, b), expected = solved(n, a, b);
        const Accuracy accuracy = check_pairs(n, a.data(), b.empty() ? nullptr : b.data(), pairs);
        const double singular = pivot > 0 && pivot < 1 ? 1 / (pivot * pivot) : 1;  // what rounding of B is worth
        EXPECT_LE(accuracy.residual, 10 * eps * singular) << what;
        EXPECT_LE(accuracy.orthogonality, 10 * eps * singular) << what;
        const double inverse = pivot == 0 ? 1 : 16 * singular * singular, size = norm_of(n, a) + 1e-300;
        expect_close(pairs.values, expected.values, 4 * double(n) * eps * inverse * size, what);
        const Pairs<T> alone = solved_there(n, a, b, Fraction::none());
        EXPECT_TRUE(alone.vectors.empty());
        expect_close(alone.values, expected.values, 4 * double(n) * eps * inverse * size, what + ", values only");
      }
    }
  }
}

TYPED_TEST(DeviceEigenproblem, FractionsHaveTheBitsOfTheWholeAndSignsAsStated) {
  using T = TypeParam;
  for (const std::string kind : {"random", "clement", "wilkinson"}) {
    const std::int64_t n = 411;
    const std::vector<T> a = hard_matrix<T>(kind, n, next_seed()), b = metric_with_pivot<T>(n, 1, next_seed());
    const Pairs<T> whole = solved_there(n, a, b), again = solved_there(n, a, b);
    EXPECT_EQ(whole.values, again.values) << kind;
    EXPECT_EQ(whole.vectors, again.vectors) << kind;
    for (std::int64_t k = 0; k < n; ++k) {
      const T* const x = whole.vectors.data() + k * n;
      double most = 0;
      std::for_each_n(x, n, [&](const T& number) { most = std::max(most, std::abs(number)); });
      const T* const largest = std::find_if(x, x + n, [&](const T& one) { return std::abs(one) >= most * (1 - 1e-6); });
      EXPECT_GT(std::real(*largest), 0) << kind << ", vector " << k;
      EXPECT_EQ(std::imag(*largest), 0) << kind << ", vector " << k;
    }
    for (const Fraction& fraction : {Fraction::range(31, 120), Fraction::lowest(1), Fraction::range(n, n),
                                     Fraction::interval((whole.values[19] + whole.values[20]) / 2, 1e9)}) {
      const Pairs<T> part = solved_there(n, a, b, fraction);
      EXPECT_EQ(part.spectrum, whole.values) << kind;
      const Accuracy accuracy = check_pairs(n, a.data(), b.data(), part);
      EXPECT_LE(accuracy.residual, 10 * eps) << kind;
      EXPECT_LE(accuracy.orthogonality, 10 * eps) << kind;
      const std::size_t first = std::size_t(part.range.first);
      for (std::size_t k = 0; k < part.values.size(); ++k) EXPECT_EQ(part.values[k], whole.values[first + k]) << kind;
    }
  }
}

TYPED_TEST(DeviceEigenproblem, ExtremeScalesAndEitherTriangle) {
  using T = TypeParam;
  const std::int64_t n = 150;
  const std::vector<T> a = hard_matrix<T>("random", n, next_seed()), b = metric_with_pivot<T>(n, 1, next_seed());
  const Pairs<T> plain = solved_there(n, a, b);
  for (const double scale : {std::ldexp(1.0, 900), std::ldexp(1.0, -900)}) {
    std::vector<T> large = a, large_b = b;
    for (T& x : large) x *= scale;
    for (T& x : large_b) x *= scale;
    expect_close(solved_there(n, large, large_b).values, plain.values, 1e-11, "both scaled");
  }
  std::vector<T> upper = a;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j + 1; i < n; ++i) upper[std::size_t(i + j * n)] = std::numeric_limits<double>::quiet_NaN();
  }
  const Pairs<T> of_upper = solve_on_device(DeviceProblem<T>{n, upper.data(), n, Triangle::upper, nullptr, {}});
  expect_close(of_upper.values, solved_there<T>(n, a, {}).values, 0, "the upper triangle");
}

TYPED_TEST(DeviceEigenproblem, RefusesBadInput) {
  using T = TypeParam;
  const std::int64_t n = 100;
  const std::vector<T> a = hard_matrix<T>("random", n, next_seed());
  std::vector<T> b = metric_with_pivot<T>(n, 1, next_seed());
  b[std::size_t(70 + 70 * n)] = -1;
  EXPECT_THAT(message_of([&] { (void)solved_there(n, a, b); }),
              HasSubstr("B is not positive definite: its leading 71 x 71 submatrix is not"));
  std::vector<T> broken = a;
  broken[std::size_t(20 + 10 * n)] = std::numeric_limits<double>::infinity();
  EXPECT_THAT(message_of([&] { (void)solved_there<T>(n, broken, {}); }),
              HasSubstr("A: the element in row 21, column 11 is not finite"));
  EXPECT_THAT(message_of([&] { (void)solved_there<T>(n, a, {}, Fraction::interval(1e6, 1e7)); }),
              HasSubstr("interval"));
  EXPECT_THAT(message_of([&] {
                (void)solve_on_device(DeviceProblem<T>{n, a.data(), n - 1});
              }),
              HasSubstr("the leading dimension of A is 99: it must be at least the number of rows, 100"));
  const T small[] = {1};
  const DeviceFactor<T> factor(1, small, 1, Triangle::lower);
  EXPECT_THAT(message_of([&] {
                (void)solve_on_device(DeviceProblem<T>{n, a.data(), n, Triangle::lower, &factor});
              }),
              HasSubstr("A has 100 rows, but B has 1"));
  EXPECT_THAT(message_of([&] {
                (void)solve_on_device(DeviceProblem<T>{150000, a.data(), 150000});
              }),
              AllOf(HasSubstr("not enough memory"), HasSubstr("fewer vectors")));
}

}  // namespace
}  // namespace quadrille::eigen
