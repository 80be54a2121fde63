// Refined pairs, of problems whose eigenvalues are known: A = N S D S N^H and B = N S S N^H with small whole numbers in
// N and powers of 2 in S have exactly the eigenvalues D, and B any condition number.
#include "modules/eigen/pairs/exact_products.h"
#include "tests/modules/eigen/comparisons.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace quadrille::eigen {
namespace {

using namespace testing;
using quadrille::testing::fresh_generator;
using quadrille::testing::next_seed;
using ::testing::HasSubstr;

template <class T>
struct KnownProblem {
  std::int64_t n;
  std::vector<T> a, b;
  std::vector<double> values;  ///< in rising order
};

template <class T>
T whole_number(std::mt19937_64& random) {
  const auto part = [&] { return double(random() % 3) - 1; };
  const double real = part();
  if constexpr (is_complex<T>) {
    return {real, part()};
  } else {
    return real;
  }
}

/// N: a product of triangles with 1 on their diagonals, so that it has an inverse.
template <class T>
std::vector<T> whole_numbers(std::int64_t n, std::mt19937_64& random) {
  std::vector<T> lower(std::size_t(n * n)), upper(lower.size()), product(lower.size());
  for (std::int64_t j = 0; j < n; ++j) {
    lower[std::size_t(j + j * n)] = upper[std::size_t(j + j * n)] = 1;
    for (std::int64_t i = j + 1; i < std::min(n, j + (is_complex<T> ? 2 : 3)); ++i) {
      lower[std::size_t(i + j * n)] = whole_number<T>(random);
      upper[std::size_t(j + i * n)] = whole_number<T>(random);
    }
  }
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < n; ++k) {
        product[std::size_t(i + j * n)] += lower[std::size_t(i + k * n)] * upper[std::size_t(k + j * n)];
      }
    }
  }
  return product;
}

/// `exponents` of S, `values` of D.
template <class T>
KnownProblem<T> known_problem(const std::vector<int>& exponents, std::vector<double> values, std::mt19937_64& random) {
  const auto n = std::int64_t(values.size());
  const std::vector<T> whole = whole_numbers<T>(n, random);
  KnownProblem<T> out{n, std::vector<T>(whole.size()), std::vector<T>(whole.size()), {}};
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < n; ++k) {
        T right = whole[std::size_t(j + k * n)];
        if constexpr (is_complex<T>) right = std::conj(right);
        const T term = whole[std::size_t(i + k * n)] * right * std::ldexp(1.0, 2 * exponents[std::size_t(k)]);
        out.b[std::size_t(i + j * n)] += term;
        out.a[std::size_t(i + j * n)] += term * values[std::size_t(k)];
      }
    }
  }
  std::sort(values.begin(), values.end());
  out.values = std::move(values);
  return out;
}

/// Of n numbers, from 0 to about -lowest.
std::vector<int> falling(std::int64_t n, int lowest) {
  std::vector<int> out;
  for (std::int64_t k = 0; k < n; ++k) out.push_back(n > 1 ? -int(k * lowest / (n - 1)) : 0);
  return out;
}

template <class T>
Pairs<T> refined(const KnownProblem<T>& known, int steps, const Fraction& fraction = Fraction::all(),
                 Triangle half = Triangle::lower) {
  const Factor<T> factor(known.n, known.b, half);
  std::vector<T> a = known.a;
  return solve(Problem<T>{known.n, a.data(), known.n, half, &factor, fraction, {}, steps});
}

/// The largest relative error of an eigenvalue.
template <class T>
double error_of(const Pairs<T>& pairs, const KnownProblem<T>& known) {
  double most = 0;
  for (std::size_t k = 0; k < pairs.values.size(); ++k) {
    const double value = known.values[std::size_t(pairs.range.first) + k];
    most = std::max(most, std::abs(pairs.values[k] - value) / std::abs(value));
  }
  return most;
}

/// As check_pairs(), in long double: sums in double do not see what refinement gains.
template <class T>
Accuracy long_accuracy(std::int64_t n, const std::vector<T>& a, const std::vector<T>& b, const Pairs<T>& pairs) {
  using Long = std::conditional_t<is_complex<T>, std::complex<long double>, long double>;
  const auto times = [&](const std::vector<T>& matrix, const T* x) {
    std::vector<Long> out(std::size_t(n), Long(0));
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) out[std::size_t(i)] += Long(matrix[std::size_t(i + j * n)]) * Long(x[j]);
    }
    return out;
  };
  long double residual = 0, size = 0, orthogonality = 0;
  for (std::int64_t j = 0; j < pairs.range.count; ++j) {
    const T* const x = pairs.vectors.data() + j * n;
    const std::vector<Long> ax = times(a, x), bx = b.empty() ? std::vector<Long>(x, x + n) : times(b, x);
    long double left = 0, length = 0, products = 0;
    for (std::size_t i = 0; i < std::size_t(n); ++i) {
      left += std::abs(ax[i] - Long(pairs.values[std::size_t(j)]) * bx[i]);
      length += std::abs(x[i]);
    }
    for (std::int64_t k = 0; k < pairs.range.count; ++k) {
      Long product = k == j ? -1 : 0;
      for (std::int64_t i = 0; i < n; ++i) {
        if constexpr (is_complex<T>) {
          product += std::conj(Long(pairs.vectors[std::size_t(i + k * n)])) * bx[std::size_t(i)];
        } else {
          product += Long(pairs.vectors[std::size_t(i + k * n)]) * bx[std::size_t(i)];
        }
      }
      products += std::abs(product);
    }
    residual = std::max(residual, left);
    size = std::max(size, length);
    orthogonality = std::max(orthogonality, products);
  }
  const long double scale = norm_of(n, a) * size * (long double)(n);
  return {double(scale > 0 ? residual / scale : residual), double(orthogonality / (long double)(n))};
}

/// B = L L^H, the columns of L one after the other.
template <class Long, class T>
std::vector<Long> long_cholesky(std::int64_t n, const std::vector<T>& b) {
  std::vector<Long> l(b.begin(), b.end());
  for (std::int64_t j = 0; j < n; ++j) {
    const long double pivot = std::sqrt(std::real(l[std::size_t(j + j * n)]));
    for (std::int64_t i = j; i < n; ++i) l[std::size_t(i + j * n)] /= pivot;
    for (std::int64_t k = j + 1; k < n; ++k) {
      Long right = l[std::size_t(k + j * n)];
      if constexpr (is_complex<T>) right = std::conj(right);
      for (std::int64_t i = k; i < n; ++i) l[std::size_t(i + k * n)] -= l[std::size_t(i + j * n)] * right;
    }
  }
  return l;
}

/// What pairs leave, in the norm of B^-1.
struct LongDefects {
  double defect = 0;    ///< as Defects has it
  double rounding = 0;  ///< the same, what rounding of the numbers of a pair leaves on average
  double whole = 0;     ///< root of the sum of all |r|^2, which bounds the errors of all eigenvalues together
  double scale = 0;     ///< the largest |r| of `defect` 1
};
template <class T>
LongDefects long_defects(std::int64_t n, const std::vector<T>& a, std::vector<T> b, const Pairs<T>& pairs) {
  using Long = std::conditional_t<is_complex<T>, std::complex<long double>, long double>;
  if (b.empty()) b = diagonal_matrix<T>(std::vector<double>(std::size_t(n), 1.0));
  const std::vector<Long> l = long_cholesky<Long>(n, b);
  const auto square_of = [&](std::vector<Long> r) {  // r^H B^-1 r
    long double square = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const Long y = r[std::size_t(j)] / l[std::size_t(j + j * n)];
      for (std::int64_t i = j + 1; i < n; ++i) r[std::size_t(i)] -= l[std::size_t(i + j * n)] * y;
      square += std::norm(y);
    }
    return square;
  };
  LongDefects out;
  long double whole = 0;
  for (std::int64_t k = 0; k < pairs.range.count; ++k) {
    const T* const x = pairs.vectors.data() + k * n;
    const long double value = pairs.values[std::size_t(k)];
    std::vector<Long> r(std::size_t(n), Long(0)), column(r.size());
    long double size = 0, moved = value * value;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = std::size_t(i + j * n);
        column[std::size_t(i)] = Long(a[at]) - value * Long(b[at]);
        r[std::size_t(i)] += column[std::size_t(i)] * Long(x[j]);
      }
      size += std::abs(x[j]);
      moved += std::norm(Long(x[j])) * square_of(column);
    }
    const long double scale = (norm_of(n, a) + std::abs(value) * norm_of(n, b)) * size, square = square_of(r);
    if (scale > 0) {
      out.defect = std::max(out.defect, double(std::sqrt(square) / scale));
      out.rounding = std::max(out.rounding, double(eps * std::sqrt(moved / 12) / scale));
    }
    whole += square;
    out.scale = std::max(out.scale, double(scale));
  }
  out.whole = double(std::sqrt(whole));
  return out;
}

/// What rounding of the vectors leaves of X^H B X = 1, and that of sums in long double.
template <class T>
double rounding_of(const KnownProblem<T>& known, const Pairs<T>& pairs) {
  const auto length = [&](const T* x) {
    double square = 0;
    for (std::int64_t i = 0; i < known.n; ++i) square += std::norm(x[i]);
    return std::sqrt(square);
  };
  double of_x = 0, of_bx = 0;
  for (std::int64_t k = 0; k < pairs.range.count; ++k) {
    const T* const x = pairs.vectors.data() + k * known.n;
    std::vector<T> bx(std::size_t(known.n));
    for (std::int64_t j = 0; j < known.n; ++j) {
      for (std::int64_t i = 0; i < known.n; ++i) bx[std::size_t(i)] += known.b[std::size_t(i + j * known.n)] * x[j];
    }
    of_x = std::max(of_x, length(x));
    of_bx = std::max(of_bx, length(bx.data()));
  }
  const double of_sums = std::numeric_limits<long double>::epsilon() * norm_of(known.n, known.b) * of_x;
  return (eps * of_bx + of_sums) * of_x;
}

template <class T>
class EigenRefinement : public ::testing::Test {};
TYPED_TEST_SUITE(EigenRefinement, Numbers);

/// Eigenvalues of moderate size, of which condition(B) eps is lost at first, with all their digits; repeated ones, too.
TYPED_TEST(EigenRefinement, EigenvaluesHaveAllDigits) {
  std::mt19937_64 random = fresh_generator();
  double before = 0;
  for (const std::int64_t n : {2, 5, 12}) {
    for (const int lowest : {0, 6, 12, 16}) {
      for (const bool repeated : {false, true}) {
        std::vector<double> values;
        for (std::int64_t k = 0; k < n; ++k) values.push_back(repeated ? double(k % 3 + 1) : double(k) - 1.5);
        std::shuffle(values.begin(), values.end(), random);
        const auto known = known_problem<TypeParam>(falling(n, lowest), values, random);
        const Triangle half = random() % 2 == 0 ? Triangle::lower : Triangle::upper;
        const Pairs<TypeParam> plain = refined(known, 0, Fraction::all(), half),
                               pairs = refined(known, 8, Fraction::all(), half);
        const std::string what = fmt::format("n = {}, S to 2^-{}, {}", n, lowest, repeated ? "repeated" : "simple");
        before = std::max(before, error_of(plain, known));
        EXPECT_LE(error_of(pairs, known), 8 * eps) << what;
        expect_signs(pairs, what);
        const Accuracy last = long_accuracy(n, known.a, known.b, pairs);
        EXPECT_LE(last.residual, 4 * eps) << what;
        EXPECT_LE(last.orthogonality, 2 * rounding_of(known, pairs)) << what;
      }
    }
  }
  EXPECT_GT(before, 1e-12);
}

/// Eigenvalues from 1 to 2^(2 lowest): the smallest are far below the rounding of the largest.
TYPED_TEST(EigenRefinement, SmallEigenvaluesHaveTheirOwnDigits) {
  std::mt19937_64 random = fresh_generator();
  for (const int lowest : {6, 10, 14}) {
    const std::int64_t n = 11;
    const std::vector<int> exponents = falling(n, lowest);
    std::vector<double> values;
    for (const int exponent : exponents) values.push_back(std::ldexp(double(values.size() + 3), -2 * exponent));
    const auto known = known_problem<TypeParam>(exponents, values, random);
    for (const Fraction& fraction : {Fraction::all(), Fraction::lowest(3), Fraction::range(2, 5)}) {
      const Pairs<TypeParam> pairs = refined(known, 8, fraction);
      EXPECT_LE(error_of(pairs, known), 8 * eps) << lowest;
    }
  }
}

TYPED_TEST(EigenRefinement, FractionsAreThoseOfTheWhole) {
  std::mt19937_64 random = fresh_generator();
  std::vector<double> values;
  for (int k = 0; k < 15; ++k) values.push_back(k < 6 ? 2 : k + 1.25);  // a fraction may begin amid the first
  const auto known = known_problem<TypeParam>(falling(15, 14), values, random);
  for (const auto& [fraction, first, count] : {std::tuple(Fraction::lowest(1), 0, 1),
                                               {Fraction::range(3, 4), 2, 2},
                                               {Fraction::range(5, 9), 4, 5},
                                               {Fraction::range(15, 15), 14, 1},
                                               {Fraction::interval(1.5, 2.5), 0, 6},
                                               {Fraction::interval(8, 11), 7, 3},
                                               {Fraction::all(), 0, 15}}) {
    const Pairs<TypeParam> pairs = refined(known, 8, fraction);
    const std::string what = fmt::format("{} from {}", count, first);
    ASSERT_EQ(pairs.range.first, first) << what;
    ASSERT_EQ(pairs.range.count, count) << what;
    ASSERT_EQ(pairs.vectors.size(), std::size_t(15 * count)) << what;
    EXPECT_LE(error_of(pairs, known), 8 * eps) << what;
    const Accuracy accuracy = long_accuracy(known.n, known.a, known.b, pairs);
    EXPECT_LE(accuracy.residual, 4 * eps) << what;
    EXPECT_LE(accuracy.orthogonality, 2 * rounding_of(known, pairs)) << what;
  }
}

/// Of any problem, with more steps than help.
TYPED_TEST(EigenRefinement, PairsAreNeverMadeWorse) {
  for (const std::string kind : hard_kinds) {
    for (const std::int64_t n : {1, 2, 17}) {
      for (const double pivot : {0.0, 1.0, 1e-3, 1e-6}) {
        const std::vector<TypeParam> a = hard_matrix<TypeParam>(kind, n, next_seed()),
                                     b = pivot == 0 ? std::vector<TypeParam>()
                                                    : metric_with_pivot<TypeParam>(n, pivot, next_seed());
        const std::string what = fmt::format("{}, n = {}, pivot {}", kind, n, pivot);
        const Pairs<TypeParam> plain = solved(n, a, b), pairs = solved(n, a, b, Fraction::all(), 6);
        const Accuracy before = long_accuracy(n, a, b, plain), after = long_accuracy(n, a, b, pairs);
        const double small = pivot > 0 ? pivot : 1;
        const LongDefects left = long_defects(n, a, b, plain), leaves = long_defects(n, a, b, pairs);
        const double of_sums = 4 * double(n) * double(std::numeric_limits<long double>::epsilon()) / small;
        EXPECT_LE(leaves.defect, 2.1 * left.defect + 8 * leaves.rounding + of_sums) << what;
        // What rounding of vectors leaves, which before may have been less by chance.
        if (small == 1) {
          EXPECT_LE(after.residual, 4 * before.residual + 10 * eps) << what;
        }
        EXPECT_LE(after.orthogonality, 4 * before.orthogonality + 20 * eps / small) << what;
        const double largest = std::max(std::abs(plain.values.front()), std::abs(plain.values.back()));
        expect_close(pairs.values, plain.values,
                     2 * (left.whole + leaves.whole) + 8 * eps * largest + of_sums * (left.scale + leaves.scale), what);
        expect_signs(pairs, what);
        bool ended = false;  // what follows the best pairs is undone
        for (const Refinement& step : pairs.refinements) {
          EXPECT_FALSE(ended && step.kept) << what;
          ended = !step.kept;
        }
        if (kind == "zero" || n == 1) continue;
        EXPECT_LE(pairs.refinements.size(), 6) << what;
      }
    }
  }
}

/// Where B is well-conditioned one step leaves rounding alone, and no other is taken.
TYPED_TEST(EigenRefinement, OneStepSuffices) {
  for (const std::string kind : {"random", "toeplitz", "clement"}) {
    const std::int64_t n = 30 + std::int64_t(next_seed() % 20);
    const std::vector<TypeParam> a = hard_matrix<TypeParam>(kind, n, next_seed());
    for (const bool generalized : {false, true}) {
      const Pairs<TypeParam> pairs =
          solved(n, a, generalized ? metric_with_pivot<TypeParam>(n, 1, next_seed()) : std::vector<TypeParam>(),
                 Fraction::all(), 8);
      ASSERT_LE(pairs.refinements.size(), 1) << kind;
      if (!pairs.refinements.empty()) {
        EXPECT_TRUE(pairs.refinements.front().kept) << kind;
      }
    }
  }
}

TYPED_TEST(EigenRefinement, ZeroLeavesNothingToRefine) {
  const Pairs<TypeParam> pairs =
      solved(7, diagonal_matrix<TypeParam>(std::vector<double>(7, 0.0)), std::vector<TypeParam>(), Fraction::all(), 3);
  EXPECT_EQ(pairs.values, std::vector<double>(7, 0.0));
  EXPECT_TRUE(pairs.refinements.empty());
}

TYPED_TEST(EigenRefinement, ScalesDoNotMatter) {
  std::mt19937_64 random = fresh_generator();
  const auto known = known_problem<TypeParam>(falling(9, 15), {1, 2, 3, 4, 5, 6, 7, 8, 9}, random);
  const Pairs<TypeParam> expected = refined(known, 4);
  for (const auto& [of_a, of_b] : {std::pair(900, 200), {-900, -200}, {400, -400}}) {
    KnownProblem<TypeParam> scaled = known;
    for (TypeParam& x : scaled.a) x *= std::ldexp(1.0, of_a);
    for (TypeParam& x : scaled.b) x *= std::ldexp(1.0, of_b);
    for (double& x : scaled.values) x *= std::ldexp(1.0, of_a - of_b);
    const Pairs<TypeParam> pairs = refined(scaled, 8);
    EXPECT_LE(error_of(pairs, scaled), 8 * eps) << of_a << ' ' << of_b;
    const Pairs<TypeParam> four = refined(scaled, 4);
    for (std::size_t k = 0; k < four.vectors.size(); ++k) {
      EXPECT_NEAR(std::abs(four.vectors[k] * std::ldexp(1.0, of_b / 2) - expected.vectors[k]), 0,
                  1e-9 * std::ldexp(1.0, 15));
    }
  }
}

TYPED_TEST(EigenRefinement, TakesVectors) {
  std::vector<TypeParam> a = diagonal_matrix<TypeParam>({1, 2});
  EXPECT_THAT(message_of([&] { solved(2, a, {}, Fraction::none(), 1); }),
              HasSubstr("refinement takes eigenvectors, of which none are wanted"));
}

/// Against sums of products that are split in two.
TYPED_TEST(EigenRefinement, ResidualsAreSummedInTwiceThePrecision) {
  std::mt19937_64 random = fresh_generator();
  std::normal_distribution<double> normal;
  const std::int64_t n = 300, count = 3;
  const std::vector<TypeParam> a = hard_matrix<TypeParam>("random", n, next_seed()),
                               b = metric_with_pivot<TypeParam>(n, 1, next_seed());
  std::vector<TypeParam> x(std::size_t(n * count)), r(x.size()), s(x.size());
  for (TypeParam& one : x) one = TypeParam(normal(random)) + whole_number<TypeParam>(random);
  const std::vector<double> values{0.3, 1e6 / 3, -7};
  const ResidualWork<TypeParam> work{n, a.data(), b.data(), slices_for<TypeParam>(n, 106)};
  work.run(count, x.data(), values.data(), r.data(), s.data());
  constexpr int parts = is_complex<TypeParam> ? 2 : 1;
  const auto part = [](const TypeParam& number, int which) { return reinterpret_cast<const double*>(&number)[which]; };
  for (int pass = 0; pass < 20; ++pass) {
    const auto i = std::int64_t(random() % std::uint64_t(n)), j = std::int64_t(random() % std::uint64_t(count));
    for (int which = 0; which < parts; ++which) {
      double high = 0, low = 0, size = 0;
      const auto add = [&](double left, double right) {
        const double product = left * right, sum = high + product, rest = sum - high;
        low += (high - (sum - rest)) + (product - rest) + std::fma(left, right, -product);
        high = sum;
        size += std::abs(product);
      };
      const auto add_row = [&](const std::vector<TypeParam>& matrix, double factor_high) {
        for (std::int64_t k = 0; k < n; ++k) {
          const TypeParam left = matrix[std::size_t(i + k * n)], right = x[std::size_t(k + j * n)];
          for (int p = 0; p < parts; ++p) {
            const int q = (which + p) % 2;  // real: 0 0 - 1 1; imaginary: 0 1 + 1 0
            add((parts == 2 && p == 1 && q == 1 ? -1 : 1) * part(left, p) * factor_high,
                part(right, parts == 1 ? 0 : q));
          }
        }
      };
      add_row(b, 1);
      const double of_b = high, rest_of_b = low;
      EXPECT_NEAR(part(s[std::size_t(i + j * n)], which), of_b + rest_of_b,
                  1e-15 * std::abs(of_b + rest_of_b) + 1e-28 * size);
      high = low = 0;
      add_row(a, 1);
      const double value = values[std::size_t(j)];
      add(-value, of_b);
      add(-value, rest_of_b);
      EXPECT_NEAR(part(r[std::size_t(i + j * n)], which), high + low,
                  1e-15 * std::abs(high + low) + 1e-27 * size * std::abs(value));
    }
  }
}

}  // namespace
}  // namespace quadrille::eigen
