// The eigenproblem on ranks against LAPACK on one: by each library, in several layouts, hard spectra, fractions,
// extreme scales, bad input. Skipped where Quadrille is built without ScaLAPACK.
#include "core/comm/agreement.h"
#include "modules/eigen/ranks/layout.h"
#include "modules/eigen/ranks/library.h"
#include "modules/eigen/ranks/mpi/sturm.h"
#include "modules/eigen/ranks/redistribute.h"
#include "modules/eigen/ranks/solve_on_ranks.h"
#include "modules/eigen/ranks/spread.h"
#include "tests/modules/eigen/comparisons.h"
#include "tests/ranks/ranks_testing.h"
#include "tests/ranks/shortage/shortage.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#ifdef QUADRILLE_HAVE_SCALAPACK
#include "modules/eigen/ranks/mpi/scalapack_steps.h"

extern "C" quadrille::eigen::SpreadLibrary* quadrille_eigen_spread_library(const quadrille::Communicator& ranks,
                                                                           const char* name);
#endif

namespace quadrille::eigen {
namespace {

using namespace testing;
using quadrille::testing::all_ranks;
using quadrille::testing::shared_seed;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Null where Quadrille is built without it.
std::unique_ptr<SpreadLibrary> library_of(const Communicator& ranks, const std::string& name) {
#ifdef QUADRILLE_HAVE_SCALAPACK
  try {
    return std::unique_ptr<SpreadLibrary>(quadrille_eigen_spread_library(ranks, name.c_str()));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
  }
#endif
  (void)ranks;
  (void)name;
  return nullptr;
}

/// The part that this rank has of a matrix.
template <class T>
std::vector<T> part_of(const Communicator& ranks, const Layout& layout, const std::vector<T>& whole) {
  std::vector<T> part(std::size_t(layout.local_size(ranks.rank())));
  for_columns(layout, ranks.rank(), part.data(), {0, layout.n},
              [&](std::int64_t i, std::int64_t j, T& x) { x = whole[std::size_t(i + j * layout.n)]; });
  return part;
}

/// Layouts of n rows: the one that tasks use, one in which each rank of a grid has a part, one of few ranks.
std::vector<Layout> layouts(const Communicator& ranks, std::int64_t n) {
  std::mt19937_64 random(shared_seed());
  std::vector<Layout> out{layout_for(n, ranks.size())};
  for (int rows = 1; rows <= ranks.size(); ++rows) {
    const int columns = ranks.size() / rows;
    const std::int64_t widest = n / std::max(rows, columns);
    if (widest < 1) continue;
    out.push_back({n, 1 + std::int64_t(random() % std::uint64_t(std::min<std::int64_t>(widest, 24))), rows, columns});
  }
  return out;
}

/// Libraries by name, as a parameter; T is its other one, as tests of both kinds are alike.
class RankEigen : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ranks_ = all_ranks();
    library_ = library_of(*ranks_, GetParam());
    if (library_ == nullptr) GTEST_SKIP() << "this Quadrille is built without it";
  }

  template <class T>
  SpreadPairs<T> spread(const Layout& layout, const std::vector<T>& a, const std::vector<T>& b,
                        const Fraction& fraction = Fraction::all(), const Progress& progress = {}) {
    const auto steps = library_->steps<T>(layout);
    SpreadFactor<T> factor;
    if (!b.empty()) factor = factor_on_ranks(*ranks_, layout, *steps, part_of(*ranks_, layout, b));
    return solve_on_ranks(SpreadProblem<T>{*ranks_, layout, *steps, part_of(*ranks_, layout, a),
                                           b.empty() ? nullptr : &factor, fraction, progress});
  }

  /// Its vectors, on all ranks.
  template <class T>
  Pairs<T> whole(const Layout& layout, SpreadPairs<T> of) {
    if (of.vectors.empty() && of.pairs.phases.back().name != phase::normalization) return std::move(of.pairs);
    of.pairs.vectors = columns_on_first(*ranks_, layout, of.vectors.data(), of.pairs.range);
    of.pairs.vectors.resize(std::size_t(of.pairs.n * of.pairs.range.count));
    ranks_->broadcast(of.pairs.vectors.data(), of.pairs.vectors.size() * sizeof(T), 0);
    return std::move(of.pairs);
  }

  template <class T>
  Accuracy accuracy(const Layout& layout, const std::vector<T>& a, const std::vector<T>& b,
                    const SpreadPairs<T>& pairs) {
    const std::vector<T> part = part_of(*ranks_, layout, a),
                         of_b = b.empty() ? std::vector<T>() : part_of(*ranks_, layout, b);
    return check_on_ranks(*ranks_, layout, *library_->steps<T>(layout), part, b.empty() ? nullptr : &of_b, pairs);
  }

  template <class T>
  void agree_with_lapack();
  template <class T>
  void fractions_are_those_of_the_whole();
  template <class T>
  void scales_do_not_matter();
  template <class T>
  void bad_input_is_named();

  std::shared_ptr<const Communicator> ranks_;
  std::unique_ptr<SpreadLibrary> library_;
};
INSTANTIATE_TEST_SUITE_P(Libraries, RankEigen, ::testing::Values("scalapack", "elpa"),
                         [](const auto& info) { return std::string(info.param); });

template <class T>
void RankEigen::agree_with_lapack() {
  std::mt19937_64 random(shared_seed());
  const double pivots[] = {0, 1, 1e-6};  // 0: the standard problem
  std::vector<std::string> kinds(std::begin(hard_kinds), std::end(hard_kinds));
  for (const std::int64_t n : {1, 2, 3, 8, 40, 110}) {
    const std::vector<Layout> all = layouts(*ranks_, n);
    std::shuffle(kinds.begin(), kinds.end(), random);
    for (const std::string& kind : n == 40 ? kinds : std::vector<std::string>(kinds.begin(), kinds.begin() + 3)) {
      const double pivot = pivots[random() % 3];
      const Layout& layout = all[random() % all.size()];
      const std::vector<T> a = hard_matrix<T>(kind, n, shared_seed()),
                           b = pivot == 0 ? std::vector<T>() : metric_with_pivot<T>(n, pivot, shared_seed());
      const std::string what = fmt::format("{}, n = {}, pivot {}, {} x {} ranks, blocks of {}", kind, n, pivot,
                                           layout.rows, layout.columns, layout.block);
      const Pairs<T> theirs = of_lapack(n, a, b);
      const SpreadPairs<T> pairs = spread(layout, a, b);
      const Accuracy found = accuracy(layout, a, b, pairs);
      const double singular = pivot > 0 && pivot < 1 ? 1 / (pivot * pivot) : 1;  // what rounding of B is worth
      // Both libraries begin divide and conquer with single blocks; merging tiny graded ones costs up to three digits.
      const double tiny = kind == "graded" && layout.block < 16 ? 1000 : 1;
      EXPECT_LE(found.residual, 10 * eps * singular) << what;
      EXPECT_LE(found.orthogonality, 10 * eps * singular * tiny) << what;
      // Complex B are rounded, and so is the last pivot of L.
      const double inverse = pivot == 0 ? 1 : 16 * singular * (is_complex<T> ? singular : 1);
      expect_close(pairs.pairs.values, theirs.values, 4 * double(n) * eps * inverse * (norm_of(n, a) + 1e-300), what);
      const Pairs<T> gathered = whole(layout, pairs);
      expect_signs(gathered, what);
      const Accuracy again = check_pairs(n, a.data(), b.empty() ? nullptr : b.data(), gathered);
      EXPECT_NEAR(again.residual, found.residual, 2 * eps * singular + 0.1 * found.residual) << what;
      EXPECT_NEAR(again.orthogonality, found.orthogonality, 2 * eps * singular + 0.1 * found.orthogonality) << what;
    }
  }
}
TEST_P(RankEigen, RealProblemsAgreeWithLapack) { agree_with_lapack<double>(); }
TEST_P(RankEigen, ComplexProblemsAgreeWithLapack) { agree_with_lapack<Complex>(); }

template <class T>
void RankEigen::fractions_are_those_of_the_whole() {
  const std::int64_t n = 97;
  const char* const others[] = {"clement", "wilkinson", "clustered", "zero"};
  for (const std::string kind : {"random", others[shared_seed() % 4]}) {
    const std::vector<T> a = hard_matrix<T>(kind, n, shared_seed()),
                         metric = shared_seed() % 2 == 0 ? std::vector<T>() : metric_with_pivot<T>(n, 1, shared_seed());
    const Pairs<T> one = solved(n, a, metric);
    const double tolerance = 16 * double(n) * eps * (norm_of(n, a) + 1e-300);
    const Layout layout = layouts(*ranks_, n)[std::size_t(shared_seed() % 2)];
    const auto check = [&](const Fraction& fraction, std::int64_t first, std::int64_t count) {
      const std::string what = fmt::format("{}, {} from {}", kind, count, first);
      const SpreadPairs<T> part = spread(layout, a, metric, fraction);
      ASSERT_EQ(part.pairs.range.first, first) << what;
      ASSERT_EQ(part.pairs.range.count, count) << what;
      expect_close(part.pairs.spectrum, one.values, tolerance, what);
      const auto begin = one.values.begin() + std::ptrdiff_t(first);
      expect_close(part.pairs.values, {begin, begin + std::ptrdiff_t(count)}, tolerance, what);
      const Accuracy found = accuracy(layout, a, metric, part);
      EXPECT_LE(found.residual, 20 * eps) << what;
      EXPECT_LE(found.orthogonality, 20 * eps) << what;
      const Pairs<T> gathered = whole(layout, part);
      expect_signs(gathered, what);
      EXPECT_LE(check_pairs(n, a.data(), metric.empty() ? nullptr : metric.data(), gathered).orthogonality, 20 * eps);
      if (kind != "random") return;
      for (std::size_t k = 0; k < gathered.vectors.size(); ++k) {
        EXPECT_NEAR(std::abs(gathered.vectors[k] - one.vectors[std::size_t(first * n) + k]), 0, 1e-7) << what;
      }
    };
    check(Fraction::lowest(1), 0, 1);
    check(Fraction::lowest(n), 0, n);
    check(Fraction::range(21, 60), 20, 40);
    check(Fraction::range(n, n), n - 1, 1);
    if (kind == "random" || kind == "clement") {
      const auto between = [&](std::size_t k) { return (one.values[k - 1] + one.values[k]) / 2; };
      check(Fraction::interval(between(20), between(25)), 20, 5);
      check(Fraction::interval(-1e9, 1e9), 0, n);
    }
    const SpreadPairs<T> none = spread(layout, a, metric, Fraction::none());
    EXPECT_TRUE(none.vectors.empty());
    expect_close(none.pairs.values, one.values, tolerance, kind);
  }
}
TEST_P(RankEigen, RealFractionsAreThoseOfTheWhole) { fractions_are_those_of_the_whole<double>(); }
TEST_P(RankEigen, ComplexFractionsAreThoseOfTheWhole) { fractions_are_those_of_the_whole<Complex>(); }

template <class T>
void RankEigen::scales_do_not_matter() {
  const std::int64_t n = 40;
  const std::vector<T> a = generated_matrix<T>("random", n, shared_seed()),
                       b = metric_with_pivot<T>(n, 1, shared_seed());
  const Layout layout = layouts(*ranks_, n).back();
  const Pairs<T> expected = solved(n, a, b);
  for (const auto& [of_a, of_b] : {std::pair(1000, 200), {-1000, -200}, {500, -450}, {-300, 600}}) {
    std::vector<T> scaled_a = a, scaled_b = b;
    for (T& x : scaled_a) x *= std::ldexp(1.0, of_a);
    for (T& x : scaled_b) x *= std::ldexp(1.0, of_b);
    const Pairs<T> pairs = whole(layout, spread(layout, scaled_a, scaled_b));
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
  EXPECT_THAT(message_of([&] { spread(layout, huge, tiny); }), HasSubstr("beyond the largest double"));
}
TEST_P(RankEigen, ScalesOfRealMatricesDoNotMatter) { scales_do_not_matter<double>(); }
TEST_P(RankEigen, ScalesOfComplexMatricesDoNotMatter) { scales_do_not_matter<Complex>(); }

/// Every rank has the same error.
template <class T>
void RankEigen::bad_input_is_named() {
  const std::int64_t n = 45;
  const std::vector<T> a = generated_matrix<T>("toeplitz", n, 1),
                       one = diagonal_matrix<T>(std::vector<double>(std::size_t(n), 1));
  const auto with = [&](std::vector<T> m, std::int64_t i, std::int64_t j, T value) {
    m[std::size_t(i + j * n)] = value;
    return m;
  };
  for (const Layout& layout : layouts(*ranks_, n)) {
    const auto said = [&](const std::vector<T>& of_a, const std::vector<T>& of_b, const Fraction& fraction = {}) {
      return message_of([&] { spread(layout, of_a, of_b, fraction); });
    };
    EXPECT_EQ(said(a, with(one, 33, 33, -1)), "B is not positive definite: its leading 34 x 34 submatrix is not");
    EXPECT_EQ(said(a, with(one, 0, 0, 0)), "B is not positive definite: its leading 1 x 1 submatrix is not");
    for (const double bad : {double(NAN), double(INFINITY), -double(INFINITY)}) {
      EXPECT_THAT(said(with(with(a, 37, 3, bad), 40, 20, bad), one),
                  AllOf(HasSubstr("element [37, 3] of A is"), HasSubstr("it must be finite")));
      EXPECT_THAT(said(a, with(one, 44, 44, bad)), HasSubstr("element [44, 44] of B is"));
    }
    EXPECT_EQ(said(a, {}, Fraction::range(5, 46)), "eigenvectors 5 to 46 of a matrix of 45 rows: the last is 45");
    EXPECT_THAT(said(a, {}, Fraction::interval(5, 6)),
                AllOf(HasSubstr("no eigenvalue is in the interval [5, 6]; the nearest below is 3.9"),
                      ::testing::Not(HasSubstr("above"))));
    if constexpr (is_complex<T>) {
      EXPECT_EQ(said(with(a, 20, 20, {2, 0.5}), {}),
                "element [20, 20] of A is 2 + 0.5i: the diagonal of a Hermitian matrix is real");
    }
    const auto stop = [](const std::string& phase, double) {
      if (phase == eigen::phase::normalization) throw Error(ErrorCode::internal, "stop");
    };
    EXPECT_EQ(message_of([&] { spread(layout, a, one, Fraction::all(), stop); }), "stop");
  }
  EXPECT_THAT(message_of([&] { library_->steps<T>(layout_for(5'000'000'000, ranks_->size())); }),
              HasSubstr("counts in 32 bits"));
}
TEST_P(RankEigen, BadInputOfRealProblemsIsNamed) { bad_input_is_named<double>(); }
TEST_P(RankEigen, BadInputOfComplexProblemsIsNamed) { bad_input_is_named<Complex>(); }

/// A matrix with clusters whose largest eigenvalue pdstedc, with blocks of one row, gives 1.4e-9 too high, so that QR
/// comes in its place.
TEST_P(RankEigen, WrongEigenvaluesAreFoundAgain) {
  const std::vector<double> d{
      1.036170906441392,  1.9638290935588363, 1.1648816773579165, 1.8351183226425578, 1.3082719777796856,
      1.691728022220738,  1.300431759754989,  1.699568240245385,  1.3822952590212825, 1.6177047409791416,
      1.5306561077207186, 1.469343892279673,  1.446330239757547,  1.5536697602428717, 1.5974760535853774,
      1.4025239464150032, 1.4580799524920331, 1.5419200475083714, 1.4195869624239386, 1.5804130375764711,
      1.4846890720047017, 1.5153109279956682, 1.4866060700291617, 1.5133939299712298, 1.3214149513011368,
      1.6785850486992564, 1.4148016080371333, 1.585198391963241,  1.453334387185902,  1.5466656128144594,
      1.3440446038006648, 1.6559553961997882, 1.2880839679366467, 1.7119160320637377, 1.139222768264427,
      1.8607772317359563, 1.3442674569578905, 1.6557325430424967, 1.4446581995765824, 1.5553418004237978};
  const std::vector<double> e{
      0.18671521622138848,  2.5445743509922393e-13,  0.37107372559826,     2.1340657518980295e-13,
      -0.4617795637481212,  1.8806427240560627e-13,  0.45844576286122474,  2.108367840208716e-13,
      0.4859481391579744,   1.6687435060417227e-13,  0.4990593181771252,   -2.0043950819155367e-13,
      -0.4971112117378725,  1.8756469656795493e-13,  0.4904063814607806,   1.907767780903369e-13,
      0.49823961064623695,  1.817179189831909e-13,   -0.49349138126998343, 1.7754363858132638e-13,
      -0.4997655205032874,  -1.6403434611766783e-13, 0.4998205704449589,   -1.6678104645547786e-13,
      0.4670196787943522,   -1.623524079192934e-13,  -0.4926877652295513,  1.4041091645422678e-13,
      -0.49781755752554235, -1.145214836682331e-13,  0.4750556960991456,   1.2563805398228081e-13,
      0.45287039575848353,  -9.869709532140615e-14,  -0.3461788397072783,  1.2181960441669582e-13,
      -0.4751287983669035,  -6.983643831761492e-14,  0.4969278470018289};
  const auto n = std::int64_t(d.size());
  std::vector<double> a = diagonal_matrix<double>(d);
  for (std::int64_t i = 0; i + 1 < n; ++i)
    a[std::size_t(i + 1 + i * n)] = a[std::size_t(i + (i + 1) * n)] = e[std::size_t(i)];
  std::vector<double> wrong;
  for (int rows = 1; rows <= ranks_->size(); ++rows) {
    for (int columns = 1; columns <= ranks_->size() / rows; ++columns) {
      const Layout layout{n, 1, rows, columns};
      const SpreadPairs<double> pairs = spread<double>(layout, a, {});
      const std::string what = fmt::format("{} x {}, {}", rows, columns, pairs.pairs.tridiagonal_form);
      expect_close(pairs.pairs.values, solved<double>(n, a, {}).values, 4 * double(n) * eps, what);
      const Accuracy found = accuracy<double>(layout, a, {}, pairs);
      EXPECT_LE(found.residual, 10 * eps) << what;
      EXPECT_LE(found.orthogonality, 10 * eps) << what;
      wrong = pairs.pairs.values;
      EXPECT_TRUE(are_eigenvalues(d, e, wrong, 0, 1)) << what;
    }
  }
  wrong.back() += 1.4e-9;
  EXPECT_FALSE(are_eigenvalues(d, e, wrong, 0, 1));
  EXPECT_TRUE(are_eigenvalues(d, e, wrong, 0, 2));  // the last is not among those
}

/// From any layout into whole columns, from either half, and vectors back.
template <class T>
void columns_come_and_go() {
  const auto ranks = all_ranks();
  const int rank = ranks->rank();
  std::mt19937_64 random(shared_seed());
  for (const std::int64_t n : {1, 7, 64, 97}) {
    const std::vector<T> a = generated_matrix<T>("random", n, shared_seed());
    for (const Layout& layout : layouts(*ranks, n)) {
      const std::int64_t rows = layout.local_rows(rank), ld = rows + std::int64_t(random() % 3);
      std::vector<T> part(std::size_t(ld * layout.local_columns(rank)), T(-7));
      for (std::int64_t j = 0; j < layout.local_columns(rank); ++j) {
        for (std::int64_t i = 0; i < rows; ++i) {
          part[std::size_t(i + j * ld)] = a[std::size_t(layout.row(rank, i) + layout.column(rank, j) * n)];
        }
      }
      const Layout columns{n, 1 + std::int64_t(random() % 20), 1, ranks->size()};
      for (const Triangle half : {Triangle::lower, Triangle::upper}) {
        const std::vector<T> mine = columns_of_part(*ranks, layout, half, part.data(), ld, columns);
        ASSERT_EQ(std::int64_t(mine.size()), columns.local_size(rank));
        for_lower(columns, rank, mine.data(),
                  [&](std::int64_t i, std::int64_t j, const T& x) { EXPECT_EQ(x, a[std::size_t(i + j * n)]); });
      }
      const std::int64_t first = n / 3, count = n - first;
      const Layout shares{n, (count + ranks->size() - 1) / ranks->size(), 1, ranks->size()};
      std::vector<T> vectors;
      for (std::int64_t k = 0; k < shares.columns_before(rank, count); ++k) {
        const T* const column = a.data() + (first + shares.column(rank, k)) * n;
        vectors.insert(vectors.end(), column, column + n);
      }
      std::vector<T> back(part.size(), T(-5));
      vectors_to_part(*ranks, shares, vectors.data(), first, count, layout, back.data(), ld);
      for (std::int64_t j = 0; j < layout.local_columns(rank); ++j) {
        for (std::int64_t i = 0; i < ld; ++i) {
          const bool is_vector = i < rows && layout.column(rank, j) >= first;
          EXPECT_EQ(back[std::size_t(i + j * ld)], is_vector ? part[std::size_t(i + j * ld)] : T(-5));
        }
      }
    }
  }
}
TEST(RankEigenColumns, ComeAndGo) {
  columns_come_and_go<double>();
  columns_come_and_go<Complex>();
}

#ifdef QUADRILLE_HAVE_SCALAPACK
/// QR, which comes in the place of a wrong pdstedc, on problems for which that is right.
TEST(RankEigenQr, PairsAreThoseOfLapack) {
  const auto ranks = all_ranks();
  std::mt19937_64 random(shared_seed());
  std::normal_distribution<double> normal;
  for (const std::int64_t n : {1, 2, 17, 40}) {
    for (const Layout& layout : layouts(*ranks, n)) {
      std::vector<double> d(std::size_t(n), 0.0), e(std::size_t(n), 0.0);
      for (double& x : d) x = normal(random);
      for (double& x : e) x = normal(random);
      if (n == 17) e[8] = 0;  // two problems
      std::vector<double> a = diagonal_matrix<double>(d);
      for (std::int64_t i = 0; i + 1 < n; ++i)
        a[std::size_t(i + 1 + i * n)] = a[std::size_t(i + (i + 1) * n)] = e[std::size_t(i)];
      const std::string what = fmt::format("{} rows, {} x {}, {}", n, layout.rows, layout.columns, layout.block);
      SpreadPairs<double> found;
      found.layout = layout;
      found.vectors.resize(std::size_t(layout.local_size(ranks->rank())));
      found.pairs.values = d;
      rotate_to_diagonal(RankGrid(*ranks, layout), found.pairs.values, e, found.vectors.data());
      expect_close(found.pairs.values, of_lapack<double>(n, a, {}).values, 8 * double(n) * eps * norm_of(n, a), what);
      found.pairs.n = n;
      found.pairs.range = {0, n};
      ScalapackSteps<double> steps(*ranks, layout);
      const Accuracy accuracy =
          check_on_ranks<double>(*ranks, layout, steps, part_of(*ranks, layout, a), nullptr, found);
      EXPECT_LE(accuracy.residual, 10 * eps) << what;
      EXPECT_LE(accuracy.orthogonality, 10 * eps) << what;
    }
  }
}
#endif

/// Whichever rank runs out of memory, and wherever, all end.
TEST_P(RankEigen, EndsOnAllRanksWhereOneHasNoMemory) {
  const auto n = std::int64_t(60 * std::sqrt(double(ranks_->size())));
  const Layout layout = layout_for(n, ranks_->size());
  const std::vector<double> a = generated_matrix<double>("random", n, shared_seed()),
                            b = metric_with_pivot<double>(n, 1, 1);
  const std::vector<double> of_a = part_of(*ranks_, layout, a), of_b = part_of(*ranks_, layout, b);
  quadrille::testing::expect_end_on_all(
      *ranks_,
      [&] {
        const auto steps = library_->steps<double>(layout);
        std::vector<double> copy_of_a, copy_of_b;
        all_or_none(*ranks_, [&] {
          copy_of_a = of_a;
          copy_of_b = of_b;
        });
        const SpreadFactor<double> factor = factor_on_ranks(*ranks_, layout, *steps, std::move(copy_of_b));
        const SpreadPairs<double> pairs =
            solve_on_ranks(SpreadProblem<double>{*ranks_, layout, *steps, std::move(copy_of_a), &factor, {}, {}});
        check_on_ranks(*ranks_, layout, *steps, of_a, &of_b, pairs);
        columns_on_first(*ranks_, layout, pairs.vectors.data(), pairs.pairs.range);
      },
      layout.rows * layout.columns);
}

TEST(RankEigenLayout, PartsAreTheWhole) {
  const auto ranks = all_ranks();
  std::mt19937_64 random(shared_seed());
  for (const std::int64_t n : {std::int64_t(1), std::int64_t(17), 20 + std::int64_t(random() % 200)}) {
    for (const Layout& layout : layouts(*ranks, n)) {
      const std::string what = fmt::format("{} rows, {} x {}, {}", n, layout.rows, layout.columns, layout.block);
      double size = double(layout.local_size(ranks->rank()));
      ranks->sum(&size, 1);
      EXPECT_EQ(size, double(n * n)) << what;
      std::vector<double> part(std::size_t(layout.local_size(ranks->rank())));
      for_columns(layout, ranks->rank(), part.data(), {0, n}, [&](std::int64_t i, std::int64_t j, double& x) {
        EXPECT_EQ(layout.owner(i, j), ranks->rank()) << what;
        EXPECT_EQ(layout.place(i, j), &x - part.data()) << what;
        x = double(i + n * j);
      });
      const IndexRange some{n / 3, n - n / 3 - n / 5};
      const std::vector<double> there = columns_on_first(*ranks, layout, part.data(), some);
      ASSERT_EQ(there.size(), std::size_t(ranks->rank() == 0 ? n * some.count : 0)) << what;
      for (std::size_t k = 0; k < there.size(); ++k) EXPECT_EQ(there[k], double(n * some.first) + double(k)) << what;
    }
  }
}

TEST(RankEigenLayout, GridsAreNearlySquareAndSmallMatricesTakeFewRanks) {
  const auto grid = [](std::int64_t n, int ranks) {
    const Layout layout = layout_for(n, ranks);
    return std::array<std::int64_t, 3>{layout.rows, layout.columns, layout.block};
  };
  using Grid = std::array<std::int64_t, 3>;
  EXPECT_EQ(grid(10000, 1), (Grid{1, 1, 64}));
  EXPECT_EQ(grid(10000, 2), (Grid{1, 2, 64}));
  EXPECT_EQ(grid(10000, 7), (Grid{2, 3, 64}));
  EXPECT_EQ(grid(10000, 17), (Grid{4, 4, 64}));
  EXPECT_EQ(grid(400, 4), (Grid{2, 2, 32}));
  EXPECT_EQ(grid(33, 4), (Grid{2, 2, 16}));
  EXPECT_EQ(grid(31, 64), (Grid{1, 1, 16}));
  EXPECT_EQ(grid(1, 4), (Grid{1, 1, 16}));
}

}  // namespace
}  // namespace quadrille::eigen
