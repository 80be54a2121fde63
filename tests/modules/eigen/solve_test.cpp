// The eigenproblem in phases: LAPACK's drivers, exact spectra, fractions, extreme scales, bad input.
#include "modules/eigen/solve.h"

#include "modules/eigen/device_needs.h"
#include "modules/eigen/lapack.h"
#include "modules/eigen/pairs/tridiagonal.h"
#include "tests/modules/eigen/comparisons.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>

namespace quadrille::eigen {
namespace {

using namespace testing;
using quadrille::testing::next_seed;
using ::testing::AllOf;
using ::testing::HasSubstr;

template <class T>
class Eigenproblem : public ::testing::Test {};
TYPED_TEST_SUITE(Eigenproblem, Numbers);

TYPED_TEST(Eigenproblem, AgreesWithLapackForHardSpectra) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 8, 43, 130}) {
    for (const std::string kind : hard_kinds) {
      const std::vector<T> a = hard_matrix<T>(kind, n, next_seed());
      for (const double pivot : {0.0, 1.0, 1e-6}) {  // 0: the standard problem
        const std::vector<T> b = pivot == 0 ? std::vector<T>() : metric_with_pivot<T>(n, pivot, next_seed());
        const std::string what = fmt::format("{}, n = {}, pivot {}", kind, n, pivot);
        const Pairs<T> pairs = solved(n, a, b), theirs = of_lapack(n, a, b);
        const Accuracy accuracy = check_pairs(n, a.data(), b.empty() ? nullptr : b.data(), pairs);
        const double singular = pivot > 0 && pivot < 1 ? 1 / (pivot * pivot) : 1;  // what rounding of B is worth
        EXPECT_LE(accuracy.residual, 10 * eps * singular) << what;
        EXPECT_LE(accuracy.orthogonality, 10 * eps * singular) << what;
        const double inverse = pivot == 0 ? 1 : 16 * singular;
        expect_close(pairs.values, theirs.values, 4 * double(n) * eps * inverse * (norm_of(n, a) + 1e-300), what);
        expect_signs(pairs, what);
        EXPECT_EQ(pairs.phases.size(), b.empty() ? 4U : 6U);
      }
    }
  }
}

TYPED_TEST(Eigenproblem, ExactSpectraAreFound) {
  using T = TypeParam;
  const std::int64_t n = 211;
  std::vector<double> clement, toeplitz;
  for (std::int64_t k = 1; k <= n; ++k) {
    clement.push_back(double(2 * k - 1 - n));
    toeplitz.push_back(2 - 2 * std::cos(std::numbers::pi * double(k) / double(n + 1)));
  }
  for (const Fraction& fraction : {Fraction::all(), Fraction::none()}) {
    expect_close(solved(n, generated_matrix<T>("clement", n, next_seed()), {}, fraction).values, clement,
                 4 * double(n) * double(n) * eps, "Clement");
    expect_close(solved(n, generated_matrix<T>("toeplitz", n, next_seed()), {}, fraction).values, toeplitz,
                 16 * double(n) * eps, "Toeplitz");
  }
}

TYPED_TEST(Eigenproblem, FractionsAreThoseOfTheWhole) {
  using T = TypeParam;
  const std::int64_t n = 150;
  for (const std::string kind : {"random", "clement", "wilkinson", "clustered", "zero"}) {
    const std::vector<T> a = hard_matrix<T>(kind, n, next_seed()), b = metric_with_pivot<T>(n, 1, next_seed());
    for (const std::vector<T>& metric : {std::vector<T>(), b}) {
      const Pairs<T> whole = solved(n, a, metric);
      const double tolerance = 16 * double(n) * eps * (norm_of(n, a) + 1e-300);
      EXPECT_EQ(whole.tridiagonal_form, "divide and conquer");
      const auto check = [&](const Fraction& fraction, std::int64_t first, std::int64_t count) {
        const std::string what = fmt::format("{}, {} from {}", kind, count, first);
        const Pairs<T> part = solved(n, a, metric, fraction);
        ASSERT_EQ(part.range.first, first) << what;
        ASSERT_EQ(part.range.count, count) << what;
        expect_close(part.spectrum, whole.values, tolerance, what);
        const auto begin = whole.values.begin() + std::ptrdiff_t(first);
        expect_close(part.values, {begin, begin + std::ptrdiff_t(count)}, tolerance, what);
        const Accuracy accuracy = check_pairs(n, a.data(), metric.empty() ? nullptr : metric.data(), part);
        EXPECT_LE(accuracy.residual, 20 * eps) << what;
        EXPECT_LE(accuracy.orthogonality, 20 * eps) << what;
        expect_signs(part, what);
        if (kind != "random") return;
        for (std::size_t k = 0; k < part.vectors.size(); ++k) {
          EXPECT_NEAR(std::abs(part.vectors[k] - whole.vectors[std::size_t(first * n) + k]), 0, 1e-7) << what;
        }
      };
      check(Fraction::lowest(1), 0, 1);
      check(Fraction::lowest(n), 0, n);
      check(Fraction::range(31, 60), 30, 30);   // one by one
      check(Fraction::range(31, 120), 30, 90);  // of all
      check(Fraction::range(n, n), n - 1, 1);
      check(Fraction::chosen([&](const std::vector<double>& all) {
              expect_close(all, whole.values, tolerance, kind);
              return IndexRange{5, 10};
            }),
            5, 10);
      if (kind == "random" || kind == "clement") {
        const auto between = [&](std::size_t k) { return (whole.values[k - 1] + whole.values[k]) / 2; };
        check(Fraction::interval(between(20), between(25)), 20, 5);
        check(Fraction::interval(whole.values.front() - 1, between(70)), 0, 70);
        check(Fraction::interval(-1e9, 1e9), 0, n);
      }
      EXPECT_TRUE(solved(n, a, metric, Fraction::none()).vectors.empty());
      expect_close(solved(n, a, metric, Fraction::none()).values, whole.values, tolerance, kind);
    }
  }
}

TYPED_TEST(Eigenproblem, EitherTriangleIsReadAndTheOtherIsNot) {
  using T = TypeParam;
  const std::int64_t n = 70;
  const std::vector<T> a = generated_matrix<T>("random", n, next_seed()), b = metric_with_pivot<T>(n, 1, next_seed());
  const auto half = [&](std::vector<T> m, Triangle triangle) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        if (triangle == Triangle::lower ? i < j : i > j) m[std::size_t(i + j * n)] = NAN;
      }
    }
    return m;
  };
  const Pairs<T> expected = solved(n, a, b);
  for (const Triangle of_a : {Triangle::lower, Triangle::upper}) {
    for (const Triangle of_b : {Triangle::lower, Triangle::upper}) {
      const Factor<T> factor(n, half(b, of_b), of_b);
      std::vector<T> matrix = half(a, of_a);
      const Pairs<T> pairs = solve(Problem<T>{n, matrix.data(), n, of_a, &factor, {}, {}});
      EXPECT_EQ(pairs.values, expected.values);
      EXPECT_EQ(pairs.vectors, expected.vectors);
    }
  }
}

TYPED_TEST(Eigenproblem, AFactorServesOneMatrixAfterAnother) {
  using T = TypeParam;
  const std::int64_t n = 60, lda = 77;
  const std::vector<T> b = metric_with_pivot<T>(n, 1, next_seed());
  const Factor<T> factor(n, b, Triangle::lower);
  for (int pass = 0; pass < 2; ++pass) {
    const std::vector<T> a = generated_matrix<T>("random", n, next_seed());
    std::vector<T> apart(std::size_t(lda * n), T(NAN));
    for (std::int64_t j = 0; j < n; ++j) std::copy_n(a.data() + j * n, n, apart.data() + j * lda);
    const Pairs<T> pairs = solve(Problem<T>{n, apart.data(), lda, Triangle::lower, &factor, {}, {}});
    const Pairs<T> expected = solved(n, a, b);
    // Another leading dimension may take another kernel of the library, with other rounding.
    ASSERT_EQ(pairs.vectors.size(), expected.vectors.size());
    double worst = 0;
    for (std::size_t i = 0; i < pairs.vectors.size(); ++i) {
      worst = std::max(worst, std::abs(pairs.vectors[i] - expected.vectors[i]));
    }
    EXPECT_LE(worst, 1e-7);
  }
}

TYPED_TEST(Eigenproblem, ScalesOfAAndBDoNotMatter) {
  using T = TypeParam;
  const std::int64_t n = 40;
  const std::vector<T> a = generated_matrix<T>("random", n, next_seed()), b = metric_with_pivot<T>(n, 1, next_seed());
  const Pairs<T> expected = solved(n, a, b);
  for (const auto& [of_a, of_b] : {std::pair(1000, 200), {-1000, -200}, {500, -450}, {-300, 600}}) {
    std::vector<T> scaled_a = a, scaled_b = b;
    for (T& x : scaled_a) x *= std::ldexp(1.0, of_a);
    for (T& x : scaled_b) x *= std::ldexp(1.0, of_b);
    const Pairs<T> pairs = solved(n, scaled_a, scaled_b);
    for (std::size_t k = 0; k < std::size_t(n); ++k) {
      EXPECT_NEAR(std::ldexp(pairs.values[k], of_b - of_a), expected.values[k], 1e-12) << of_a << ' ' << of_b;
    }
    for (std::size_t k = 0; k < pairs.vectors.size(); ++k) {
      EXPECT_NEAR(std::abs(pairs.vectors[k] * std::ldexp(1.0, of_b / 2) - expected.vectors[k]), 0, 1e-9);
    }
  }
  std::vector<T> huge = a, tiny = b;
  for (T& x : huge) x *= 1e250;
  for (T& x : tiny) x *= 1e-250;
  EXPECT_THAT(message_of([&] { solved(n, huge, tiny); }), HasSubstr("beyond the largest double"));
}

TYPED_TEST(Eigenproblem, BadInputIsNamed) {
  using T = TypeParam;
  const std::int64_t n = 12;
  const std::vector<T> a = generated_matrix<T>("toeplitz", n, 1), one = diagonal_matrix<T>(std::vector<double>(12, 1));
  const auto with = [&](std::vector<T> m, std::int64_t i, std::int64_t j, T value) {
    m[std::size_t(i + j * n)] = value;
    return m;
  };
  EXPECT_THAT(message_of([&] { solved(n, a, with(one, 4, 4, -1)); }),
              HasSubstr("B is not positive definite: its leading 5 x 5 submatrix is not"));
  EXPECT_THAT(message_of([&] { solved(n, a, with(one, 0, 0, 0)); }), HasSubstr("its leading 1 x 1 submatrix"));
  for (const double bad : {double(NAN), double(INFINITY), -double(INFINITY)}) {
    EXPECT_THAT(message_of([&] { solved(n, with(a, 7, 3, bad), one); }),
                AllOf(HasSubstr("element [7, 3] of A is"), HasSubstr("it must be finite")));
    EXPECT_THAT(message_of([&] { solved(n, a, with(one, 11, 11, bad)); }), HasSubstr("element [11, 11] of B is"));
  }
  EXPECT_THAT(message_of([&] { solved(n, a, {}, Fraction::range(5, 13)); }),
              HasSubstr("eigenvectors 5 to 13 of a matrix of 12 rows: the last is 12"));
  EXPECT_THAT(message_of([&] { solved(n, a, {}, Fraction::interval(5, 6)); }),
              AllOf(HasSubstr("no eigenvalue is in the interval [5, 6]; the nearest below is 3.9"),
                    ::testing::Not(HasSubstr("above"))));
  EXPECT_THAT(message_of([&] { Fraction::interval(1, 0); }), HasSubstr("the interval [1, 0] is empty"));
  EXPECT_THAT(message_of([&] { Fraction::interval(NAN, 0); }), HasSubstr("is empty"));
  EXPECT_THAT(message_of([&] { Fraction::range(0, 3); }), HasSubstr("count from 1"));
  EXPECT_THAT(message_of([&] { Fraction::range(4, 3); }), HasSubstr("must not be before the first"));
  EXPECT_THAT(message_of([&] { Fraction::lowest(0); }), HasSubstr("at least 1"));
  std::vector<T> matrix = a;
  const Factor<T> smaller(2, diagonal_matrix<T>({1, 1}), Triangle::lower);
  EXPECT_THAT(message_of([&] {
                solve(Problem<T>{n, matrix.data(), n, Triangle::lower, &smaller, {}, {}});
              }),
              HasSubstr("A has 12 rows, but B has 2"));
  EXPECT_THAT(message_of([&] {
                solve(Problem<T>{n, matrix.data(), n - 1, Triangle::lower, nullptr, {}, {}});
              }),
              HasSubstr("the leading dimension of A is 11"));
  EXPECT_THAT(message_of([&] {
                solve(Problem<T>{0, matrix.data(), 1, Triangle::lower, nullptr, {}, {}});
              }),
              HasSubstr("A has 0 rows"));
  EXPECT_THAT(message_of([&] {
                solve(Problem<T>{5'000'000'000, matrix.data(), 5'000'000'000, {}, nullptr, {}, {}});
              }),
              HasSubstr("counts in 32 bits"));
  EXPECT_THAT(message_of([&] {
                solve(Problem<T>{20'000'000, matrix.data(), 20'000'000, {}, nullptr, {}, {}});
              }),
              AllOf(HasSubstr("not enough memory"), HasSubstr("20000000 rows")));
  EXPECT_THAT(message_of([&] { Factor<T>(3, std::vector<T>(8), Triangle::lower); }), HasSubstr("3 rows need 9"));
}

TEST(DeviceNeeds, AGpuThatCannotIsRefusedInWords) {
  const DeviceLimits a100{108, 163 << 10}, l40{142, 99 << 10}, small{16, 64 << 10};
  const auto of_real = [](std::int64_t n, const DeviceLimits& device) {
    return message_of([&] { require_limits<double>(n, device); });
  };
  const auto of_complex = [](std::int64_t n, const DeviceLimits& device) {
    return message_of([&] { require_limits<Complex>(n, device); });
  };
  EXPECT_EQ(of_real(640 * 142 + 64, l40), "");
  EXPECT_EQ(of_complex(640 * 108 + 64, a100), "");
  EXPECT_EQ(of_complex(10, l40),
            "complex eigenproblems on a GPU take 142 KiB of shared memory for each block, this GPU has 99 KiB: use "
            "--backend cpu");
  EXPECT_THAT(of_real(10, small), HasSubstr("real eigenproblems on a GPU take 75 KiB"));
  EXPECT_EQ(of_complex(70000, a100),
            "an eigenproblem of 70000 rows: this GPU takes at most 69184, 640 for each of its 108 multiprocessors and "
            "64: use --backend cpu");
  try {
    require_limits<Complex>(10, l40);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
  }
}

TEST(DeviceNeeds, TheHostKeepsTheMatricesAndTakesTheVectors) {
  const double square = 1e6 * sizeof(double);
  EXPECT_DOUBLE_EQ(host_bytes<double>(1000, Fraction::all(), true, false), 3 * square);
  EXPECT_DOUBLE_EQ(host_bytes<double>(1000, Fraction::none(), false, false), square);
  EXPECT_DOUBLE_EQ(host_bytes<Complex>(1000, Fraction::lowest(100), true, true), 2 * 2.4 * square);
}

TEST(EigenproblemPhases, ADiagonalIsReal) {
  std::vector<Complex> a = diagonal_matrix<Complex>({1, 2, 3});
  a[4] = {2, 0.5};
  EXPECT_THAT(message_of([&] { solved<Complex>(3, a, {}); }),
              HasSubstr("element [1, 1] of A is 2 + 0.5i: the diagonal of a Hermitian matrix is real"));
}

TEST(EigenproblemPhases, ProgressNamesThePhasesAndCanEndThem) {
  const std::int64_t n = 30;
  std::vector<double> a = generated_matrix<double>("random", n, next_seed());
  std::vector<std::string> named;
  double last = -1;
  const Progress note = [&](const std::string& phase, double fraction) {
    named.push_back(phase);
    EXPECT_GE(fraction, last);
    EXPECT_LE(fraction, 1);
    last = fraction;
  };
  solve(Problem<double>{n, a.data(), n, Triangle::lower, nullptr, Fraction::all(), note});
  EXPECT_THAT(named, ::testing::ElementsAre(phase::tridiagonalization, phase::tridiagonal, phase::back_to_standard,
                                            phase::normalization));
  const Progress stop = [](const std::string&, double) { throw Error(ErrorCode::internal, "stop"); };
  EXPECT_EQ(message_of([&] { solve(Problem<double>{n, a.data(), n, Triangle::lower, nullptr, {}, stop}); }), "stop");
}

TYPED_TEST(Eigenproblem, TwoStagesGiveTheSpectrumOfOne) {
  using T = TypeParam;
  const std::int64_t n = 140;
  for (const std::string kind : {"random", "zero", "banded", "diagonal"}) {
    const std::vector<T> a = hard_matrix<T>(kind, n, next_seed());
    std::vector<T> one = a, two = a;
    lapack::Tridiagonal<T> direct = lapack::sytrd(n, one.data(), n), by_band = lapack::sytrd_2stage(n, two.data(), n);
    ASSERT_EQ(lapack::sterf(direct.diagonal, direct.off_diagonal), 0);
    ASSERT_EQ(lapack::sterf(by_band.diagonal, by_band.off_diagonal), 0);
    expect_close(by_band.diagonal, direct.diagonal, 4 * double(n) * eps * (norm_of(n, a) + 1e-300), kind);
  }
}

TEST(Tridiagonal, FewVectorsAreOrthonormalInClustersToo) {
  // Wilkinson matrices joined more and more weakly: eigenvalues agree to all digits.
  for (const double glue : {1e-4, 1e-8, 1e-14, 0.0}) {
    const std::int64_t n = 420, count = 100;
    std::vector<double> d(std::size_t(n), 0.0), e(std::size_t(n), 0.0);
    for (std::int64_t i = 0; i < n; ++i) {
      d[std::size_t(i)] = std::abs(double(i % 21) - 10);
      e[std::size_t(i)] = i % 21 == 20 ? glue : 1;
    }
    const TridiagonalPairs pairs = solve_tridiagonal(d, e, Fraction::Kind::range, [&](const std::vector<double>&) {
      return IndexRange{n - count, count};
    });
    ASSERT_EQ(pairs.values.size(), std::size_t(count));
    double worst = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      for (std::int64_t l = 0; l <= k; ++l) {
        double sum = k == l ? -1 : 0;
        for (std::int64_t i = 0; i < n; ++i) {
          sum += pairs.vectors[std::size_t(i + k * n)] * pairs.vectors[std::size_t(i + l * n)];
        }
        worst = std::max(worst, std::abs(sum));
      }
    }
    EXPECT_LE(worst, 10 * double(n) * eps) << glue << ' ' << pairs.form;
  }
}

}  // namespace
}  // namespace quadrille::eigen
