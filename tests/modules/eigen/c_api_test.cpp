// The C calls: results, statuses and messages.
#include "modules/eigen/capi/c_api.h"

#include "tests/modules/eigen/matrices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

namespace quadrille::eigen {
namespace {

using namespace testing;
using quadrille::testing::next_seed;
using ::testing::HasSubstr;

quadrille_eigen_options all_pairs() {
  quadrille_eigen_options options{};
  options.struct_size = sizeof options;
  return options;
}

const double* numbers_of(const std::vector<double>& a) { return a.data(); }
const double* numbers_of(const std::vector<Complex>& a) { return reinterpret_cast<const double*>(a.data()); }

template <class T>
void compare() {
  const std::int64_t n = 35;
  const std::vector<T> a = generated_matrix<T>("random", n, next_seed()), b = metric_with_pivot<T>(n, 1, next_seed());
  const Pairs<T> expected = solved(n, a, b);
  quadrille_eigen_factor* factor = nullptr;
  ASSERT_EQ((is_complex<T> ? quadrille_eigen_factor_create_complex : quadrille_eigen_factor_create_double)(
                'U', n, numbers_of(b), n, &factor),
            QUADRILLE_DONE);
  const auto solve_c = is_complex<T> ? quadrille_eigen_complex : quadrille_eigen_double;
  quadrille_eigen_options options = all_pairs();
  quadrille_eigen_report report{};
  report.struct_size = sizeof report;
  const std::int64_t ldv = n + 2;
  std::vector<double> values(std::size_t(n), 0.0);
  std::vector<T> vectors(std::size_t(ldv * n), T(-7));
  const std::vector<T> before = a;
  ASSERT_EQ(solve_c(&options, n, numbers_of(a), n, factor, values.data(), const_cast<double*>(numbers_of(vectors)), ldv,
                    &report),
            QUADRILLE_DONE);
  EXPECT_EQ(a, before);
  EXPECT_EQ(report.first, 1);
  EXPECT_EQ(report.count, n);
  EXPECT_EQ(values, expected.values);
  for (std::int64_t k = 0; k < n; ++k) {
    for (std::int64_t i = 0; i < ldv; ++i) {
      EXPECT_EQ(vectors[std::size_t(i + k * ldv)], i < n ? expected.vectors[std::size_t(i + k * n)] : T(-7));
    }
  }
  options.vectors = 'I';
  options.triangle = 'u';
  options.first = 4;
  options.last = 6;
  std::vector<double> three(3);
  std::vector<T> columns(std::size_t(3 * n));
  ASSERT_EQ(solve_c(&options, n, numbers_of(a), n, factor, three.data(), const_cast<double*>(numbers_of(columns)), n,
                    nullptr),
            QUADRILLE_DONE);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(three[k], values[k + 3], 1e-11);
  options.vectors = 'V';
  options.low = (values[9] + values[10]) / 2;
  options.high = (values[12] + values[13]) / 2;
  options.room = 3;
  ASSERT_EQ(solve_c(&options, n, numbers_of(a), n, factor, three.data(), const_cast<double*>(numbers_of(columns)), n,
                    &report),
            QUADRILLE_DONE);
  EXPECT_EQ(report.first, 11);
  EXPECT_EQ(report.count, 3);
  options.room = 2;
  EXPECT_EQ(solve_c(&options, n, numbers_of(a), n, factor, three.data(), const_cast<double*>(numbers_of(columns)), n,
                    &report),
            QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("room = 2: the interval has 3 eigenvalues"));
  options.vectors = 'N';
  ASSERT_EQ(solve_c(&options, n, numbers_of(a), n, factor, values.data(), nullptr, 0, &report), QUADRILLE_DONE);
  EXPECT_EQ(report.count, n);
  quadrille_eigen_factor_destroy(factor);
}

TEST(EigenCApi, GivesThePairsOfTheLibrary) {
  compare<double>();
  compare<Complex>();
}

TEST(EigenCApi, RefinesPairs) {
  const std::int64_t n = 20;
  const std::vector<double> a = generated_matrix<double>("random", n, next_seed()),
                            b = metric_with_pivot<double>(n, 1e-5, next_seed());
  const Pairs<double> expected = solved(n, a, b, Fraction::lowest(3), 5);
  quadrille_eigen_factor* factor = nullptr;
  ASSERT_EQ(quadrille_eigen_factor_create_double('L', n, b.data(), n, &factor), QUADRILLE_DONE);
  quadrille_eigen_options options = all_pairs();
  options.vectors = 'I';
  options.first = 1;
  options.last = 3;
  options.refine = 5;
  quadrille_eigen_report report{};
  report.struct_size = sizeof report;
  std::vector<double> values(3), vectors(std::size_t(3 * n));
  const auto run = [&] {
    return quadrille_eigen_double(&options, n, a.data(), n, factor, values.data(), vectors.data(), n, &report);
  };
  ASSERT_EQ(run(), QUADRILLE_DONE) << quadrille_eigen_message();
  EXPECT_EQ(values, expected.values);
  EXPECT_EQ(vectors, expected.vectors);
  EXPECT_EQ(report.refinements, std::count_if(expected.refinements.begin(), expected.refinements.end(),
                                              [](auto& step) { return step.kept; }));
  EXPECT_GT(report.refinement_seconds, 0);
  EXPECT_EQ(report.defect_before, expected.refinements.front().before.defect);
  const auto last_kept =
      std::find_if(expected.refinements.rbegin(), expected.refinements.rend(), [](auto& step) { return step.kept; });
  ASSERT_NE(last_kept, expected.refinements.rend());
  EXPECT_EQ(report.defect, last_kept->after.defect);
  options.refine = -1;
  EXPECT_EQ(run(), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("refine = -1: it must be 0 to 1000"));
  options.refine = 1;
  options.vectors = 'N';
  EXPECT_EQ(run(), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("it takes eigenvectors, and vectors is 'N'"));
  // Hosts that were compiled before there was refinement.
  const Pairs<double> plain = solved(n, a, b, Fraction::lowest(3));
  options.vectors = 'I';
  options.struct_size = offsetof(quadrille_eigen_options, refine);
  report.struct_size = offsetof(quadrille_eigen_report, refinement_seconds);
  report.refinements = -7;
  ASSERT_EQ(run(), QUADRILLE_DONE) << quadrille_eigen_message();
  EXPECT_EQ(values, plain.values);
  EXPECT_EQ(report.refinements, -7);
  quadrille_eigen_factor_destroy(factor);
}

TEST(EigenCApi, BadInputHasStatusAndMessage) {
  const std::vector<double> one{1, 0, 0, 1}, bad{1, 2, 2, 1};
  quadrille_eigen_options options = all_pairs();
  quadrille_eigen_factor* factor = nullptr;
  std::vector<double> values(2), vectors(4);
  const auto call = [&](std::int64_t n, const double* a, std::int64_t lda, std::int64_t ldv) {
    return quadrille_eigen_double(&options, n, a, lda, factor, values.data(), vectors.data(), ldv, nullptr);
  };
  EXPECT_EQ(quadrille_eigen_factor_create_double('L', 2, bad.data(), 2, &factor), QUADRILLE_NUMERICAL);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("its leading 2 x 2 submatrix is not"));
  EXPECT_EQ(factor, nullptr);
  EXPECT_EQ(quadrille_eigen_factor_create_double('X', 2, one.data(), 2, &factor), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("it must be 'L' (lower) or 'U' (upper)"));
  EXPECT_EQ(call(2, nullptr, 2, 2), QUADRILLE_INVALID_INPUT);
  EXPECT_EQ(call(0, one.data(), 2, 2), QUADRILLE_INVALID_INPUT);
  EXPECT_EQ(call(2, one.data(), 1, 2), QUADRILLE_INVALID_INPUT);
  EXPECT_EQ(call(2, one.data(), 2, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("the leading dimension of vectors is 1"));
  const std::vector<double> nan{1, NAN, 0, 1};
  EXPECT_EQ(call(2, nan.data(), 2, 2), QUADRILLE_NUMERICAL);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("element [1, 0] of A is nan"));
  const std::vector<double> upper_nan{1, 0, NAN, 1};
  options.triangle = 'U';
  EXPECT_EQ(call(2, upper_nan.data(), 2, 2), QUADRILLE_NUMERICAL);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("element [0, 1] of A is nan"));
  EXPECT_EQ(quadrille_eigen_factor_create_double('U', 2, upper_nan.data(), 2, &factor), QUADRILLE_NUMERICAL);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("element [0, 1] of B is nan"));
  options.triangle = 'L';
  options.vectors = 'I';
  options.first = 1;
  options.last = 3;
  EXPECT_EQ(call(2, one.data(), 2, 2), QUADRILLE_INVALID_INPUT);
  options.vectors = 'Q';
  EXPECT_EQ(call(2, one.data(), 2, 2), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("vectors = 'Q'"));
  options = all_pairs();
  ASSERT_EQ(quadrille_eigen_factor_create_complex('L', 1, one.data(), 1, &factor), QUADRILLE_DONE);
  EXPECT_EQ(call(1, one.data(), 1, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("A is real, but B is complex"));
  quadrille_eigen_factor_destroy(factor);
  quadrille_eigen_factor_destroy(nullptr);
  factor = nullptr;
  options.struct_size = 3;
  EXPECT_EQ(call(2, one.data(), 2, 2), QUADRILLE_INVALID_INPUT);
}

TEST(EigenCApi, HandlesAreLookedUp) {
  const double one[] = {1, 0, 0, 1};
  const quadrille_eigen_options options = all_pairs();
  double values[2], vectors[4];
  const auto call = [&](const quadrille_eigen_factor* factor) {
    return quadrille_eigen_double(&options, 2, one, 2, factor, values, vectors, 2, nullptr);
  };
  quadrille_eigen_factor* factor = nullptr;
  ASSERT_EQ(quadrille_eigen_factor_create_double('L', 2, one, 2, &factor), QUADRILLE_DONE);
  EXPECT_EQ(call(factor), QUADRILLE_DONE);
  quadrille_eigen_factor_destroy(factor);
  quadrille_eigen_factor_destroy(factor);  // does nothing
  quadrille_eigen_factor_destroy(nullptr);
  EXPECT_EQ(call(factor), QUADRILLE_INVALID_HANDLE);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("the Cholesky factor has been destroyed"));
  int number = 0;
  EXPECT_EQ(call(reinterpret_cast<quadrille_eigen_factor*>(&number)), QUADRILLE_INVALID_HANDLE);
  EXPECT_THAT(quadrille_eigen_message(), HasSubstr("the Cholesky factor is not a handle"));
  EXPECT_EQ(call(nullptr), QUADRILLE_DONE);
}

}  // namespace
}  // namespace quadrille::eigen
