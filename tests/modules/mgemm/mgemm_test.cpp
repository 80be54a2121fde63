// Mixed-precision products against the definition, their error bound, and the form they choose.
#include "modules/mgemm/product/mgemm.h"

#include "core/error.h"
#include "modules/mgemm/product/blas.h"
#include "tests/modules/mgemm/problem.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace quadrille::mgemm {
namespace {

using testing::Errors;
using testing::for_all_storages;
using testing::Problem;

MgemmOptions always_split(std::int64_t cap = 0) {
  MgemmOptions options;
  options.always_split = true;
  options.memory_cap = cap;
  return options;
}

TEST(Mgemm, AllStoragesAndScalars) {
  for_all_storages([](Order order, Transpose trans_a, Transpose trans_b) {
    for (const auto& [alpha, beta] : {std::pair(1.0, 0.0), {-0.75, 1.0}, {2.5, -0.3}, {0.0, 0.5}}) {
      Problem<double> problem(order, trans_a, trans_b, 45, 70, 83, 0.05);
      problem.scalars(alpha, beta);
      const MgemmReport report = mgemm(problem.gemm, Cutoff::at(1), always_split());
      if (alpha != 0) {
        EXPECT_EQ(report.form, MgemmForm::split);
        EXPECT_GT(report.bound, 0);
      }
      EXPECT_LE(problem.largest_error(), std::abs(alpha) * report.bound + 1e-15) << problem.name();
      problem.expect_gaps_untouched();
    }
  });
}

/// The split is at work: without the large elements in double the error would be far larger, with all of them there it
/// would be that of double.
TEST(Mgemm, LargeElementsAreMultipliedInDouble) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 120, 130, 140, 0.05, 1e6);
  mgemm(problem.gemm, Cutoff::at(1), always_split());
  const double split = problem.largest_error();
  mgemm(problem.gemm, Cutoff::at(1e9), always_split());
  const double all_single = problem.largest_error();
  mgemm(problem.gemm, Cutoff::at(0), always_split());
  const double all_double = problem.largest_error();
  EXPECT_LT(1e3 * split, all_single);
  // Products of two salts are 1e12, so double precision itself is no better than about 1e-3; without them 1e-8.
  EXPECT_LE(all_double, 140 * 1e12 * 0x1p-53 * 140);
}

TEST(Mgemm, FractionsAreThoseOfTheCaller) {
  for (Order order : {Order::columns, Order::rows}) {
    Problem<double> problem(order, Transpose::no, Transpose::no, 60, 50, 40, 0);
    problem.a[0] = 5;
    const MgemmReport report = mgemm(problem.gemm, Cutoff::at(1), always_split());
    EXPECT_DOUBLE_EQ(report.large_a, 1.0 / (60 * 40));
    EXPECT_EQ(report.large_b, 0);
    EXPECT_EQ(report.large_elements, 1);
    EXPECT_TRUE(report.analysed);
  }
}

TEST(Mgemm, ZerosAreZeros) {
  for (const Cutoff& cutoff : {Cutoff::at(0), Cutoff::at(1), Cutoff::for_error(1e-3)}) {
    Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 20, 30, 40);
    std::fill(problem.a.begin(), problem.a.end(), 0.0);
    problem.scalars(2, -1);
    mgemm(problem.gemm, cutoff, always_split());
    EXPECT_EQ(problem.largest_error(), 0);
  }
}

TEST(Mgemm, ThroughPanels) {
  for_all_storages([](Order order, Transpose trans_a, Transpose trans_b) {
    for (std::int64_t cap : {20000, 60000}) {
      Problem<double> problem(order, trans_a, trans_b, 75, 64, 90, 0.002);
      problem.scalars(1.5, cap == 20000 ? 0.0 : -1.0);
      if (cap == 20000) problem.poison();
      const MgemmReport report = mgemm(problem.gemm, Cutoff::at(1), always_split(cap));
      EXPECT_EQ(report.form, MgemmForm::split) << report.reason;
      EXPECT_LE(report.panel_bytes, cap);
      EXPECT_LE(problem.largest_error(), 1.5 * report.bound + 1e-15) << problem.name();
    }
  });
}

TEST(Mgemm, ListsThatDoNotFitTheCapMeanDouble) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 50, 50, 50, 0.5);
  const MgemmReport report = mgemm(problem.gemm, Cutoff::at(1), always_split(20000));
  EXPECT_EQ(report.form, MgemmForm::plain_double);
  EXPECT_NE(report.reason.find("memory cap of 20000 bytes"), std::string::npos) << report.reason;
  EXPECT_LE(problem.largest_error(), report.bound);
}

TEST(Mgemm, BetaZeroDoesNotReadCAndEmptySumsScale) {
  Problem<double> poisoned(Order::columns, Transpose::yes, Transpose::no, 30, 40, 50, 0.1);
  poisoned.poison();
  const MgemmReport report = mgemm(poisoned.gemm, Cutoff::at(1), always_split());
  EXPECT_LE(poisoned.largest_error(), report.bound);
  Problem<double> empty(Order::columns, Transpose::no, Transpose::no, 6, 5, 0);
  empty.scalars(1, 0.25);
  mgemm(empty.gemm, Cutoff::at(1), always_split());
  EXPECT_LE(empty.largest_error(), 1e-16);
  for (std::int64_t k : {0, 3}) {
    Problem<double> none(Order::columns, Transpose::no, Transpose::no, 0, 5, k);
    EXPECT_NO_THROW(mgemm(none.gemm, Cutoff::at(1), always_split()));
  }
}

constexpr std::int64_t error_sample = 40000;

/// The errors of an unsalted product by sgemm.
Errors single_precision_errors(std::int64_t n) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, n, n, n, 0, 1, 0);
  const std::vector<float> a(problem.a.begin(), problem.a.end()), b(problem.b.begin(), problem.b.end());
  std::vector<float> c(std::size_t(n * n));
  dense_product(1.0f, {a.data(), n, n, problem.gemm.lda, false}, {b.data(), n, n, problem.gemm.ldb, false}, 0.0f,
                {c.data(), n, n, n, false});
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      problem.c[std::size_t(problem.place_in_c(i, j))] = double(c[std::size_t(j * n + i)]);
  return problem.errors(error_sample);
}

/// Whatever the salt, the error is that of single precision without salt, and below the bound. Sums in single are never
/// longer than 2048, so of long sums the error may be less.
void check_salted(std::int64_t n, double fraction, double salt, const Errors& single) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::yes, n, n, n, fraction, salt, 0);
  const MgemmReport report = mgemm(problem.gemm, Cutoff::at(1), always_split());
  const Errors errors = problem.errors(error_sample);
  const std::string name = fmt::format("n {}, fraction {}, salt {}", n, fraction, salt);
  // A root mean square over 40,000 elements is sharp. The largest one is not: it was seen to differ by 1.6.
  EXPECT_LT(errors.rms, 1.15 * single.rms) << name;
  EXPECT_GT(errors.rms, single.rms / 3) << name;
  EXPECT_LT(errors.largest, 3 * single.largest) << name;
  EXPECT_LE(errors.largest, report.bound) << name;
  EXPECT_LE(errors.largest, report.probable_bound) << name;
  EXPECT_LE(report.probable_bound, report.bound) << name;
  EXPECT_NEAR(report.large_a, fraction, 6 * std::sqrt(fraction) / double(n) + 1e-5) << name;
}

TEST(Mgemm, TheErrorIsThatOfSinglePrecisionWhateverTheSalt) {
  const Errors single = single_precision_errors(1000);
  EXPECT_GT(single.rms, 0);
  for (double fraction : {1e-2, 1e-3, 1e-4})
    for (double salt : {100.0, 10000.0}) check_salted(1000, fraction, salt, single);
}

TEST(Mgemm, AndWhateverTheSize) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  const std::int64_t n = 1001 + std::int64_t(3096 * random.uniform());
  const double fraction = std::pow(10, -2 - std::floor(3 * random.uniform()));
  check_salted(n, fraction, random.uniform() < 0.5 ? 100 : 10000, single_precision_errors(n));
}

TEST(Mgemm, ShorterSumsAreMoreExact) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 200, 200, 4000, 1e-3);
  std::vector<double> bounds;
  std::vector<Errors> errors;
  for (std::int64_t depth : {4000, 64}) {
    MgemmOptions options = always_split();
    options.depth = depth;
    const MgemmReport report = mgemm(problem.gemm, Cutoff::at(1), options);
    EXPECT_EQ(report.depth, depth);
    bounds.push_back(report.bound);
    errors.push_back(problem.errors(10000));
    EXPECT_LE(errors.back().largest, bounds.back());
  }
  EXPECT_LT(bounds[1], bounds[0] / 20);
  EXPECT_LT(errors[1].rms, 0.85 * errors[0].rms);
}

TEST(Mgemm, ThreadsDoNotChangeABit) {
  const int before = omp_get_max_threads();
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 400, 600, 500, 0.01);
  std::vector<std::vector<double>> results;
  for (std::int64_t cap : {0, 4000000}) {
    for (int threads = 1; threads <= 3; ++threads) {
      omp_set_num_threads(threads);
      problem.c = problem.before;
      mgemm(problem.gemm, Cutoff::at(1), always_split(cap));
      for (double& x : problem.c) x = std::isnan(x) ? 0 : x;
      results.push_back(problem.c);
    }
  }
  omp_set_num_threads(before);
  for (std::size_t i : {1u, 2u}) {
    EXPECT_EQ(results[0], results[i]);
    EXPECT_EQ(results[3], results[3 + i]);
  }
}

TEST(Mgemm, SmallProductsAreNotAnalysed) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 40, 40, 40);
  const MgemmReport report = mgemm(problem.gemm, Cutoff::at(1));
  EXPECT_EQ(report.form, MgemmForm::plain_double);
  EXPECT_FALSE(report.analysed);
  EXPECT_NE(report.reason.find("too small"), std::string::npos) << report.reason;
  const double error = problem.largest_error();
  EXPECT_LE(error, report.bound);
  EXPECT_LT(report.bound, 1e-10);
}

TEST(Mgemm, ManyLargeElementsMeanDouble) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 600, 600, 600, 0.4);
  MgemmOptions options;
  options.cost.smallest_product = 1;
  const MgemmReport report = mgemm(problem.gemm, Cutoff::at(1), options);
  EXPECT_TRUE(report.analysed);
  EXPECT_NEAR(report.large_a, 0.4, 0.02);
  EXPECT_EQ(report.form, MgemmForm::plain_double);
  EXPECT_LT(report.expected_speedup, 1);
  EXPECT_NE(report.reason.find("times as long as plain double"), std::string::npos) << report.reason;
  EXPECT_LE(problem.largest_error(1000), report.bound);
}

TEST(Mgemm, FewLargeElementsMeanASplit) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 600, 600, 600, 1e-4);
  MgemmOptions options;
  options.cost.smallest_product = 1;
  const MgemmReport report = mgemm(problem.gemm, Cutoff::at(1), options);
  EXPECT_EQ(report.form, MgemmForm::split);
  EXPECT_GT(report.expected_speedup, 1);
  options.cost.single_flop = 2;  // a machine whose single precision is slower
  EXPECT_EQ(mgemm(problem.gemm, Cutoff::at(1), options).form, MgemmForm::plain_double);
}

TEST(Mgemm, APauseMayEndTheProduct) {
  struct Ended {};
  Problem<double> problem(Order::rows, Transpose::no, Transpose::no, 90, 80, 100, 1e-2, 100);
  MgemmOptions options = always_split();
  int pauses = 0;
  options.pause = [&] { ++pauses; };
  EXPECT_EQ(mgemm(problem.gemm, Cutoff::at(1), options).form, MgemmForm::split);
  EXPECT_GT(pauses, 0);
  options.pause = [] { throw Ended(); };
  EXPECT_THROW(mgemm(problem.gemm, Cutoff::at(1), options), Ended);
}

TEST(Mgemm, AnAutomaticCutoffKeepsItsTarget) {
  for (double salt : {100.0, 10000.0}) {
    for (Assurance assurance : {Assurance::certain, Assurance::probable, Assurance::measured}) {
      Problem<double> problem(Order::rows, Transpose::no, Transpose::yes, 700, 650, 800, 1e-3, salt);
      for (double target : {1e-1, 1e-2, 4e-3}) {
        const MgemmReport report = mgemm(problem.gemm, Cutoff::for_error(target, assurance), always_split());
        ASSERT_EQ(report.form, MgemmForm::split) << report.reason;
        EXPECT_LE(assurance == Assurance::certain    ? report.bound
                  : assurance == Assurance::probable ? report.probable_bound
                                                     : report.measured,
                  target);
        EXPECT_EQ(report.measured > 0, assurance == Assurance::measured);
        // A sample is no bound, but twice its largest error is what it reports.
        EXPECT_LE(problem.largest_error(20000), assurance == Assurance::measured ? 2 * target : target);
        // The background is small and the salt is large, but where all may be single.
        EXPECT_GE(report.delta, 1);
        if (report.large_a > 0) {
          EXPECT_NEAR(report.large_a, 1e-3, 3e-4);
        }
      }
    }
  }
}

/// Sums of squares are as long as sums can be, and stand in a row each where only some rows are measured.
TEST(Mgemm, AMeasuredTargetIsKeptOnTheDiagonalToo) {
  constexpr std::int64_t n = 900, k = 700;
  Problem<double> problem(Order::columns, Transpose::no, Transpose::yes, n, n, k, 1e-3, 100, 0);
  problem.b = problem.a;
  problem.gemm.b = problem.b.data();
  for (double target : {1e-1, 5e-3, 4e-4}) {
    const MgemmReport report = mgemm(problem.gemm, Cutoff::for_error(target, Assurance::measured), always_split());
    EXPECT_EQ(report.form, MgemmForm::split) << target << ": " << report.reason;
    EXPECT_LE(report.measured, target);
    EXPECT_LE(problem.largest_error(), 2 * report.measured);
    EXPECT_LT(report.measured, 30 * problem.largest_error());
  }
}

TEST(Mgemm, WhatIsMeasuredIsNearTheTruth) {
  for (double sign : {0.0, 1.0}) {  // numbers of both signs, and of one
    Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 500, 600, 900, 0, 1, 0);
    for (double& x : problem.a) x = sign > 0 ? std::abs(x) : x;
    for (double& x : problem.b) x = sign > 0 ? std::abs(x) : x;
    const MgemmReport report = mgemm(problem.gemm, Cutoff::for_error(1, Assurance::measured), always_split());
    const double error = problem.largest_error();
    EXPECT_LE(error, 2 * report.measured);
    EXPECT_LT(report.measured, 10 * error);
    EXPECT_LT(report.measured, report.bound);
  }
}

TEST(Mgemm, AGenerousTargetNeedsNoLargeElements) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 300, 300, 300, 1e-3, 100);
  const MgemmReport report = mgemm(problem.gemm, Cutoff::for_error(1e6), always_split());
  EXPECT_EQ(report.form, MgemmForm::split);
  EXPECT_EQ(report.large_a, 0);
  EXPECT_EQ(report.large_b, 0);
}

TEST(Mgemm, ATargetBeyondSinglePrecisionMeansDouble) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 300, 300, 300, 1e-3);
  const MgemmReport report = mgemm(problem.gemm, Cutoff::for_error(1e-9), always_split());
  EXPECT_EQ(report.form, MgemmForm::plain_double);
  EXPECT_NE(report.reason.find("above the target"), std::string::npos) << report.reason;
  EXPECT_LE(problem.largest_error(1000), 1e-9);
}

TEST(Mgemm, NumbersBeyondSinglePrecisionMeanDouble) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 50, 50, 50, 0.01, 1e60);
  const MgemmReport report = mgemm(problem.gemm, Cutoff::at(1e100), always_split());
  EXPECT_EQ(report.form, MgemmForm::plain_double);
  EXPECT_NE(report.reason.find("overflow"), std::string::npos) << report.reason;
  EXPECT_LE(problem.largest_error(), report.bound);
  // With the cutoff below them the split is fine.
  const MgemmReport split = mgemm(problem.gemm, Cutoff::at(1), always_split());
  EXPECT_EQ(split.form, MgemmForm::split);
  EXPECT_LE(problem.largest_error(), split.bound);
}

TEST(Mgemm, BadChoicesSayWhatIsWrong) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 5, 5, 5);
  const auto said = [&](const Cutoff& cutoff, const MgemmOptions& options = {}) {
    try {
      mgemm(problem.gemm, cutoff, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      return error.message();
    }
    return std::string("no error");
  };
  EXPECT_EQ(said(Cutoff::at(-1)), "delta = -1: it must be 0 or more");
  EXPECT_EQ(said(Cutoff::at(std::nan(""))), "delta = nan: it must be 0 or more");
  EXPECT_EQ(said(Cutoff::for_error(0)), "target error = 0: an automatic cutoff needs a target above 0");
  EXPECT_EQ(said(Cutoff::at(1), {.memory_cap = -5}), "memory cap = -5: it must be 0 or more");
  EXPECT_EQ(said(Cutoff::at(1), {.depth = -5}), "depth = -5: it must be 0 or more");
  problem.a[std::size_t(2 * problem.gemm.lda + 1)] = std::nan("");
  EXPECT_THROW(mgemm(problem.gemm, Cutoff::at(1)), Error);
}

}  // namespace
}  // namespace quadrille::mgemm
