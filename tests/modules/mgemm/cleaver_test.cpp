// Products through a limited memory against the definition.
#include "modules/mgemm/product/cleaver.h"

#include "core/error.h"
#include "tests/modules/mgemm/problem.h"

#include <gtest/gtest.h>

#include <omp.h>
#include <limits>

namespace quadrille::mgemm {
namespace {

using testing::for_all_storages;
using testing::Problem;

/// Three times gamma_k |A| |B| for elements in [-1, 1], and the rounding of the rest.
template <class T>
double tolerance(const Gemm<T>& g) {
  return (3 * double(g.k) + 8) * double(std::numeric_limits<T>::epsilon()) *
         (std::abs(double(g.alpha)) * double(g.k) + std::abs(double(g.beta)));
}

template <class T>
void check_all_storages(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t cap) {
  for_all_storages([&](Order order, Transpose trans_a, Transpose trans_b) {
    for (const auto& [alpha, beta] : {std::pair(T(1), T(0)), {T(-0.75), T(1)}, {T(2.5), T(-0.3)}, {T(0), T(0.5)}}) {
      Problem<T> problem(order, trans_a, trans_b, m, n, k);
      problem.scalars(alpha, beta);
      const CleaverReport report = cleaver(problem.gemm, {cap});
      EXPECT_LE(problem.largest_error(), tolerance(problem.gemm)) << problem.name() << ", cap " << cap;
      EXPECT_LE(report.panel_bytes, cap);
      problem.expect_gaps_untouched();
    }
  });
}

TEST(Cleaver, DoubleInPlace) { check_all_storages<double>(37, 53, 41, 0); }
TEST(Cleaver, SingleInPlace) { check_all_storages<float>(53, 29, 67, 0); }
TEST(Cleaver, DoubleThroughPanels) {
  for (std::int64_t cap : {200, 3000, 20000}) check_all_storages<double>(23, 31, 47, cap);
}
TEST(Cleaver, SingleThroughPanels) {
  for (std::int64_t cap : {150, 4000}) check_all_storages<float>(31, 26, 19, cap);
}

TEST(Cleaver, BetaZeroDoesNotReadC) {
  for (std::int64_t cap : {0, 2000}) {
    Problem<double> problem(Order::columns, Transpose::no, Transpose::yes, 20, 30, 40);
    problem.poison();
    cleaver(problem.gemm, {cap});
    EXPECT_LE(problem.largest_error(), tolerance(problem.gemm)) << "cap " << cap;
  }
}

TEST(Cleaver, EmptySums) {
  for (double beta : {0.0, 0.5}) {
    Problem<double> problem(Order::rows, Transpose::no, Transpose::no, 4, 6, 0);
    problem.scalars(1, beta);
    problem.gemm.a = problem.gemm.b = nullptr;
    if (beta == 0) problem.poison();
    cleaver(problem.gemm);
    EXPECT_LE(problem.largest_error(), 1e-16) << "beta " << beta;
  }
}

TEST(Cleaver, EmptyResults) {
  for (auto [m, n] : {std::pair<std::int64_t, std::int64_t>(0, 5), {5, 0}}) {
    Gemm<double> gemm;
    gemm.m = m;
    gemm.n = n;
    gemm.k = 3;
    gemm.lda = gemm.ldb = gemm.ldc = 5;
    EXPECT_EQ(cleaver(gemm).steps, 0);
  }
}

/// What is staged is what the plan says, C is read only when it must be.
TEST(Cleaver, StagesWhatThePlanSays) {
  for (double beta : {0.0, 1.0}) {
    Problem<double> problem(Order::columns, Transpose::yes, Transpose::no, 96, 96, 96);
    problem.scalars(1, beta);
    PanelMemory memory;
    memory.cap = 8 * 48 * 48;
    const PanelPlan plan = plan_panels({96, 96, 96}, memory, beta != 0);
    double moved = 0;
    for (std::int64_t number = 0; number < plan.steps(); ++number) {
      const PanelStep s = plan.step(number);
      moved += double((s.load_a ? s.rows * s.depths : 0) + (s.load_b ? s.columns * s.depths : 0));
      moved += double(s.rows * s.columns * ((s.begins_c && beta != 0 ? 1 : 0) + (s.ends_c ? 1 : 0)));
    }
    const CleaverReport report = cleaver(problem.gemm, {memory.cap});
    EXPECT_EQ(double(report.staged_bytes), 8 * moved);
    EXPECT_EQ(report.steps, plan.steps());
    EXPECT_EQ(report.panel_bytes, plan.bytes(memory));
  }
}

template <class Change>
void expect_refused(Change change, ErrorCode code, const std::string& said) {
  Problem<double> problem(Order::columns, Transpose::yes, Transpose::no, 5, 6, 7);
  problem.scalars(1, 1);
  change(problem);
  const std::vector<double> c = problem.c;
  try {
    cleaver(problem.gemm);
    FAIL() << "no error: " << said;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    EXPECT_NE(error.message().find(said), std::string::npos) << error.message() << "\nlacks: " << said;
  }
  for (std::size_t i = 0; i < c.size(); ++i) {
    EXPECT_TRUE(c[i] == problem.c[i] || std::isnan(c[i])) << "C was written";
  }
}

/// In place, and through panels.
TEST(Cleaver, APauseComesBetweenPartsAndMayEndTheProduct) {
  struct Ended {};
  const int threads = omp_get_max_threads();
  for (int number : {1, threads}) {
    omp_set_num_threads(number);
    for (std::int64_t cap : {0, 200000}) {
      Problem<double> problem(Order::columns, Transpose::no, Transpose::yes, 700, 600, 30);
      CleaverOptions options{cap};
      int pauses = 0;
      options.pause = [&] { ++pauses; };
      cleaver(problem.gemm, options);
      EXPECT_LE(problem.largest_error(), tolerance(problem.gemm));
      if (number == 1) {
        EXPECT_GT(pauses, 8);
      }
      options.pause = [] { throw Ended(); };
      EXPECT_THROW(cleaver(problem.gemm, options), Ended);
    }
  }
  omp_set_num_threads(threads);
}

TEST(Cleaver, BadArgumentsSayWhatIsWrong) {
  const auto invalid = ErrorCode::invalid_input, bad = ErrorCode::numerical;
  using P = Problem<double>;
  expect_refused([](P& p) { p.gemm.m = -1; }, invalid, "m = -1");
  expect_refused([](P& p) { p.gemm.k = std::int64_t(1) << 31; }, invalid, "k = 2147483648");
  expect_refused([](P& p) { p.gemm.lda = 6; }, invalid,
                 "lda = 6: A is stored by columns as a 7 x 5 matrix, so lda must be at least 7");
  expect_refused([](P& p) { p.gemm.ldb = 6; }, invalid, "ldb must be at least 7");
  expect_refused([](P& p) { p.gemm.ldc = 0; }, invalid, "ldc must be at least 5");
  expect_refused([](P& p) { p.gemm.order = Order::rows, p.gemm.ldc = 5; }, invalid, "ldc must be at least 6");
  expect_refused([](P& p) { p.gemm.a = nullptr; }, invalid, "A is a null pointer");
  expect_refused([](P& p) { p.gemm.b = nullptr; }, invalid, "B is a null pointer");
  expect_refused([](P& p) { p.gemm.c = nullptr; }, invalid, "C is a null pointer");
  expect_refused([](P& p) { p.gemm.alpha = std::nan(""); }, bad, "alpha = nan");
  expect_refused([](P& p) { p.a[std::size_t(p.gemm.lda * 3 + 2)] = std::nan(""); }, bad,
                 "A: the element in row 2, column 3 (from 0) is NaN");
  expect_refused([](P& p) { p.b[std::size_t(p.gemm.ldb * 1 + 6)] = HUGE_VAL; }, bad,
                 "B: the element in row 6, column 1 (from 0) is infinite");
  expect_refused([](P& p) { p.c[std::size_t(p.gemm.ldc * 5 + 4)] = -HUGE_VAL; }, bad,
                 "C: the element in row 4, column 5 (from 0) is infinite");
}

TEST(Cleaver, ACapThatHoldsNothingIsAnError) {
  Problem<float> problem(Order::columns, Transpose::no, Transpose::no, 5, 6, 7);
  EXPECT_THROW(cleaver(problem.gemm, {11}), Error);
  EXPECT_THROW(cleaver(problem.gemm, {-1}), Error);
  EXPECT_NO_THROW(cleaver(problem.gemm, {12}));
}

}  // namespace
}  // namespace quadrille::mgemm
