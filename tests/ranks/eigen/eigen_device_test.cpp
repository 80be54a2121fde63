// The eigenproblem on the GPUs of ranks: the CPU's answers, hard spectra, fractions, the same bits in every run, bad
// input.
#include "modules/eigen/capi/c_api.h"
#include "modules/eigen/ranks/gpus.h"
#include "modules/eigen/ranks/spread.h"
#include "tests/modules/eigen/comparisons.h"
#include "tests/ranks/ranks_testing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace quadrille::eigen {
namespace {

using namespace testing;
using quadrille::testing::all_ranks;
using quadrille::testing::shared_seed;
using ::testing::HasSubstr;

/// What this rank has of a matrix.
template <class T>
std::vector<T> columns_of(const Communicator& ranks, const Layout& layout, const std::vector<T>& whole) {
  std::vector<T> part(std::size_t(layout.local_size(ranks.rank())));
  for_columns(layout, ranks.rank(), part.data(), {0, layout.n},
              [&](std::int64_t i, std::int64_t j, T& x) { x = whole[std::size_t(i + j * layout.n)]; });
  return part;
}

template <class T>
class RankDeviceEigen : public ::testing::Test {
 protected:
  /// The layout of tasks, or one of wider or narrower blocks.
  Layout some_layout(std::int64_t n) const {
    Layout layout = columns_on_gpus(n, ranks_->size());
    if (const std::int64_t turn = std::int64_t(shared_seed() % 5); turn < 4) layout.block = 64 << turn;
    return layout;
  }

  SpreadPairs<T> spread(const Layout& layout, const std::vector<T>& a, const std::vector<T>& b,
                        const Fraction& fraction = Fraction::all()) const {
    std::optional<GpuFactor<T>> factor;
    if (!b.empty()) factor.emplace(*ranks_, layout, columns_of(*ranks_, layout, b).data());
    const std::vector<T> part = columns_of(*ranks_, layout, a);
    return solve_on_gpus(
        GpuProblem<T>{*ranks_, layout, part.data(), factor ? &*factor : nullptr, fraction, Progress{}});
  }

  /// Its vectors, on all ranks.
  Pairs<T> whole(SpreadPairs<T> of) const {
    of.pairs.vectors = columns_on_first(*ranks_, of.layout, of.vectors.data(), of.columns());
    of.pairs.vectors.resize(std::size_t(of.pairs.n * of.pairs.range.count));
    ranks_->broadcast(of.pairs.vectors.data(), of.pairs.vectors.size() * sizeof(T), 0);
    return std::move(of.pairs);
  }

  /// Of the checks on GPUs and on the CPU, which must agree. `singular`: what rounding of B is worth.
  Accuracy accuracy(const Layout& layout, const std::vector<T>& a, const std::vector<T>& b, const SpreadPairs<T>& pairs,
                    const std::string& what, double singular = 1) const {
    const std::vector<T> part = columns_of(*ranks_, layout, a),
                         of_b = b.empty() ? std::vector<T>() : columns_of(*ranks_, layout, b);
    const auto products = products_on_gpus<T>(*ranks_, layout);
    const Accuracy there = check_on_ranks(*ranks_, layout, *products, part, b.empty() ? nullptr : &of_b, pairs);
    const Accuracy here = check_pairs(layout.n, a.data(), b.empty() ? nullptr : b.data(), whole(pairs));
    EXPECT_NEAR(there.residual, here.residual, 2 * eps * singular + 0.1 * here.residual) << what;
    EXPECT_NEAR(there.orthogonality, here.orthogonality, 2 * eps * singular + 0.1 * here.orthogonality) << what;
    return here;
  }

  std::shared_ptr<const Communicator> ranks_ = all_ranks();
};
TYPED_TEST_SUITE(RankDeviceEigen, Numbers);

TYPED_TEST(RankDeviceEigen, AgreesWithTheCpuForHardSpectra) {
  using T = TypeParam;
  std::mt19937_64 random(shared_seed());
  std::vector<std::string> kinds(std::begin(hard_kinds), std::end(hard_kinds));
  for (const std::int64_t n : {1, 2, 64, 65, 130, 257, 500, 1100}) {
    std::shuffle(kinds.begin(), kinds.end(), random);
    const std::ptrdiff_t count = n == 130 ? std::ptrdiff_t(kinds.size()) : n < 1000 ? 3 : 1;
    for (const std::string& kind : std::vector<std::string>(kinds.begin(), kinds.begin() + count)) {
      const double pivot = std::vector<double>{0, 1, 1e-6}[random() % 3];  // 0: the standard problem
      const Layout layout = this->some_layout(n);
      const std::vector<T> a = hard_matrix<T>(kind, n, shared_seed()),
                           b = pivot == 0 ? std::vector<T>() : metric_with_pivot<T>(n, pivot, shared_seed());
      const std::string what = fmt::format("{}, n = {}, pivot {}, blocks of {}", kind, n, pivot, layout.block);
      const SpreadPairs<T> pairs = this->spread(layout, a, b);
      const Pairs<T> expected = solved(n, a, b);
      const double singular = pivot > 0 && pivot < 1 ? 1 / (pivot * pivot) : 1;
      const Accuracy found = this->accuracy(layout, a, b, pairs, what, singular);
      EXPECT_LE(found.residual, 10 * eps * singular) << what;
      EXPECT_LE(found.orthogonality, 10 * eps * singular) << what;
      const double inverse = pivot == 0 ? 1 : 16 * singular * singular, size = norm_of(n, a) + 1e-300;
      expect_close(pairs.pairs.values, expected.values, 4 * double(n) * eps * inverse * size, what);
      expect_signs(this->whole(pairs), what);
      const SpreadPairs<T> alone = this->spread(layout, a, b, Fraction::none());
      EXPECT_TRUE(alone.vectors.empty());
      expect_close(alone.pairs.values, expected.values, 4 * double(n) * eps * inverse * size, what + ", values only");
    }
  }
}

TYPED_TEST(RankDeviceEigen, FractionsAndBitsOfTheWhole) {
  using T = TypeParam;
  const std::int64_t n = 411;
  const Layout layout = this->some_layout(n);
  for (const std::string kind : {"random", "wilkinson"}) {
    const std::vector<T> a = hard_matrix<T>(kind, n, shared_seed()), b = metric_with_pivot<T>(n, 1, shared_seed());
    const SpreadPairs<T> all = this->spread(layout, a, b), again = this->spread(layout, a, b);
    const std::vector<double>& values = all.pairs.values;
    EXPECT_EQ(values, again.pairs.values) << kind;
    EXPECT_EQ(all.vectors, again.vectors) << kind;
    for (const Fraction& fraction : {Fraction::range(31, 120), Fraction::lowest(1), Fraction::range(n, n),
                                     Fraction::interval((values[19] + values[20]) / 2, 1e9)}) {
      const SpreadPairs<T> part = this->spread(layout, a, b, fraction);
      EXPECT_EQ(part.pairs.spectrum, values) << kind;
      const Accuracy accuracy = this->accuracy(layout, a, b, part, kind);
      EXPECT_LE(accuracy.residual, 10 * eps) << kind;
      EXPECT_LE(accuracy.orthogonality, 10 * eps) << kind;
      const auto first = std::size_t(part.pairs.range.first);
      for (std::size_t k = 0; k < part.pairs.values.size(); ++k) EXPECT_EQ(part.pairs.values[k], values[first + k]);
    }
  }
}

TYPED_TEST(RankDeviceEigen, ScalesDoNotMatterAndBadInputIsNamed) {
  using T = TypeParam;
  const std::int64_t n = 150;
  const Layout layout = this->some_layout(n);
  const std::vector<T> a = hard_matrix<T>("random", n, shared_seed()), b = metric_with_pivot<T>(n, 1, shared_seed());
  const SpreadPairs<T> plain = this->spread(layout, a, b);
  for (const double scale : {std::ldexp(1.0, 900), std::ldexp(1.0, -900)}) {
    std::vector<T> of_a = a, of_b = b;
    for (T& x : of_a) x *= scale;
    for (T& x : of_b) x *= scale;
    expect_close(this->spread(layout, of_a, of_b).pairs.values, plain.pairs.values, 1e-11, "both scaled");
  }
  const auto with = [&](std::vector<T> m, std::int64_t i, std::int64_t j, double value) {
    m[std::size_t(i + j * n)] = value;
    return m;
  };
  const auto said = [&](const std::vector<T>& of_a, const std::vector<T>& of_b, const Fraction& fraction = {}) {
    return message_of([&] { (void)this->spread(layout, of_a, of_b, fraction); });
  };
  EXPECT_EQ(said(a, with(b, 140, 140, -1)), "B is not positive definite: its leading 141 x 141 submatrix is not");
  EXPECT_EQ(said(a, with(b, 0, 0, 0)), "B is not positive definite: its leading 1 x 1 submatrix is not");
  for (const double bad : {double(NAN), double(INFINITY)}) {
    EXPECT_EQ(said(with(with(a, 149, 130, bad), 140, 20, bad), b),
              "A: the element in row 141, column 21 is not finite");
    EXPECT_EQ(said(a, with(b, 149, 149, bad)), "B: the element in row 150, column 150 is not finite");
  }
  EXPECT_EQ(said(a, {}, Fraction::range(5, 151)), "eigenvectors 5 to 151 of a matrix of 150 rows: the last is 150");
  EXPECT_THAT(said(a, {}, Fraction::interval(1e6, 2e6)), HasSubstr("no eigenvalue is in the interval"));
}

/// Parts in any layout, of either half.
TYPED_TEST(RankDeviceEigen, CGridsTakePartsOfTheHostsMemory) {
  using T = TypeParam;
  const std::int64_t n = 150;
  const Communicator& ranks = *this->ranks_;
  if (!ranks.fortran_number()) GTEST_SKIP() << "it takes MPI's ranks";
  const std::vector<T> a = hard_matrix<T>("random", n, shared_seed()), b = metric_with_pivot<T>(n, 1, shared_seed());
  const Pairs<T> expected = solved(n, a, b);
  for (const int rows : {1, ranks.size()}) {
    quadrille_eigen_distribution distribution{};
    distribution.struct_size = sizeof distribution;
    distribution.rows = rows;
    distribution.columns = ranks.size() / rows;
    distribution.block = 7;
    distribution.library = "cuda";
    quadrille_eigen_grid* grid = nullptr;
    ASSERT_EQ(quadrille_eigen_grid_create_fortran(*ranks.fortran_number(), n, &distribution, &grid), QUADRILLE_DONE)
        << quadrille_eigen_message();
    const Layout layout{n, 7, rows, ranks.size() / rows};
    const std::vector<T> of_a = columns_of(ranks, layout, a), of_b = columns_of(ranks, layout, b);
    std::vector<T> vectors(of_a.size());
    const std::int64_t ld = std::max<std::int64_t>(1, layout.local_rows(ranks.rank()));
    const auto numbers = [](auto& v) { return reinterpret_cast<const double*>(v.data()); };
    for (const char triangle : {'L', 'U'}) {
      quadrille_eigen_factor* factor = nullptr;
      ASSERT_EQ((is_complex<T> ? quadrille_eigen_factor_create_complex_on : quadrille_eigen_factor_create_double_on)(
                    grid, triangle, numbers(of_b), ld, &factor),
                QUADRILLE_DONE)
          << quadrille_eigen_message();
      quadrille_eigen_options options{};
      options.struct_size = sizeof options;
      options.triangle = triangle;
      std::vector<double> values(std::size_t(n), 0.0);
      ASSERT_EQ((is_complex<T> ? quadrille_eigen_complex_on : quadrille_eigen_double_on)(
                    grid, &options, numbers(of_a), ld, factor, values.data(), reinterpret_cast<double*>(vectors.data()),
                    ld, nullptr),
                QUADRILLE_DONE)
          << quadrille_eigen_message();
      expect_close(values, expected.values, 16 * double(n) * eps * norm_of(n, a), "grid");
      SpreadPairs<T> found;
      found.pairs = expected;
      found.pairs.vectors.clear();
      found.vectors = vectors;
      found.layout = layout;
      const Pairs<T> gathered = this->whole(found);
      for (std::size_t k = 0; k < gathered.vectors.size(); ++k) {
        ASSERT_NEAR(std::abs(gathered.vectors[k] - expected.vectors[k]), 0, 1e-7) << triangle << ' ' << k;
      }
      quadrille_eigen_factor_destroy(factor);
    }
    quadrille_eigen_grid_destroy(grid);
  }
}

}  // namespace
}  // namespace quadrille::eigen
