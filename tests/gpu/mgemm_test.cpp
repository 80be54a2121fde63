// Products on the GPU against the definition: every form, storage and way to the device, and their bounds.
#include "modules/mgemm/product/mgemm.h"

#include "core/error.h"
#include "modules/mgemm/capi/c_api.h"
#include "modules/mgemm/choice/device_choice.h"
#include "modules/mgemm/choice/form_bound.h"
#include "modules/mgemm/device.h"
#include "modules/mgemm/product/cuda/device_product.h"
#include "tests/gpu/on_device.h"
#include "tests/modules/mgemm/problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace quadrille::mgemm {
namespace {

using testing::backend;
using testing::DeviceProblem;
using testing::for_all_storages;
using testing::OnDevice;
using testing::Problem;

MgemmOptions in_form(SmallForm form, std::int64_t cap = 0) {
  MgemmOptions options;
  options.small_form = form;
  options.always_split = true;
  options.memory_cap = cap;
  options.backend = &backend();
  return options;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

class CudaMgemm : public ::testing::TestWithParam<SmallForm> {};
INSTANTIATE_TEST_SUITE_P(Forms, CudaMgemm,
                         ::testing::Values(SmallForm::single, SmallForm::half2, SmallForm::digits3, SmallForm::digits4,
                                           SmallForm::digits5, SmallForm::digits6),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(CudaMgemm, AllStoragesAndScalars) {
  for_all_storages([](Order order, Transpose trans_a, Transpose trans_b) {
    for (const auto& [alpha, beta] : {std::pair(1.0, 0.0), {-0.75, 1.0}, {2.5, -0.3}, {0.0, 0.5}}) {
      Problem<double> problem(order, trans_a, trans_b, 145, 170, 283, 0.03);
      problem.scalars(alpha, beta);
      if (beta == 0) problem.poison();
      DeviceProblem there(problem);
      const MgemmReport report =
          there.run([](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1), in_form(GetParam())); });
      if (alpha != 0) {
        EXPECT_EQ(report.form, MgemmForm::split) << report.reason;
        EXPECT_EQ(report.small_form, GetParam());
        EXPECT_GT(report.bound, 0);
      }
      EXPECT_LE(problem.largest_error(), std::abs(alpha) * report.bound + 1e-15) << problem.name();
      problem.expect_gaps_untouched();
    }
  });
}

TEST_P(CudaMgemm, RandomShapesKeepTheBound) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  for (int turn = 0; turn < 12; ++turn) {
    const auto size = [&](double most) { return 1 + std::int64_t(most * random.uniform()); };
    const auto any = [&](auto one, auto other) { return random.uniform() < 0.5 ? one : other; };
    const double salt = any(100.0, 10000.0), fraction = turn % 3 == 0 ? 0.0 : 0.05 * random.uniform();
    Problem<double> problem(any(Order::rows, Order::columns), any(Transpose::no, Transpose::yes),
                            any(Transpose::no, Transpose::yes), size(400), size(400), size(turn < 6 ? 100 : 3000),
                            fraction, salt, size(9));
    problem.scalars(1, turn % 2);
    DeviceProblem there(problem);
    const MgemmReport report =
        there.run([](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1), in_form(GetParam())); });
    ASSERT_EQ(report.form, MgemmForm::split) << report.reason;
    EXPECT_LE(problem.largest_error(20000), report.bound + 1e-15) << problem.name() << ", fraction " << fraction;
  }
}

TEST_P(CudaMgemm, SumsThatErrToOneSideKeepTheBound) {
  Problem<double> problem(Order::columns, Transpose::yes, Transpose::no, 120, 130, 6000);
  for (auto* matrix : {&problem.a, &problem.b}) {
    for (double& x : *matrix) x = std::abs(x);
  }
  DeviceProblem there(problem);
  for (std::int64_t depth : {64, 512, 4096}) {
    MgemmOptions options = in_form(GetParam());
    options.depth = depth;
    const MgemmReport report =
        there.run([&](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1), options); });
    EXPECT_LE(problem.largest_error(), report.bound) << "depth " << depth;
    if (!traits_of(GetParam()).integer) {
      EXPECT_EQ(report.depth, depth);
    }
  }
}

TEST_P(CudaMgemm, MagnitudesFarFromOneKeepTheBound) {
  for (double scale : {0x1p-300, 1e-30, 1e40}) {
    Problem<double> problem(Order::rows, Transpose::no, Transpose::no, 70, 90, 500, 0.01);
    for (double& x : problem.a) x *= scale;
    DeviceProblem there(problem);
    const MgemmReport report =
        there.run([&](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(scale), in_form(GetParam())); });
    // One cutoff for both: elements of B are all large, or all small.
    ASSERT_EQ(report.form, MgemmForm::split) << report.reason;
    EXPECT_LE(problem.largest_error(), report.bound) << scale;
  }
}

TEST_P(CudaMgemm, TheSameBitsInEveryRun) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 700, 500, 1900, 0.01);
  problem.scalars(1, 1);
  DeviceProblem there(problem);
  std::vector<double> first;
  for (int run = 0; run < 5; ++run) {
    there.run([](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1), in_form(GetParam())); });
    if (run == 0) first = problem.c;
    EXPECT_TRUE(same_bits(first, problem.c)) << "run " << run;
  }
}

TEST_P(CudaMgemm, APanelAtATimeUnderACap) {
  for (const bool yes : {false, true}) {
    Problem<double> problem(Order::columns, yes ? Transpose::yes : Transpose::no, yes ? Transpose::no : Transpose::yes,
                            900, 800, 2500, 1e-3);
    problem.scalars(1, yes ? -1.0 : 0.0);
    if (!yes) problem.poison();
    DeviceProblem there(problem);
    const std::int64_t cap = std::int64_t(8) << 20;
    const MgemmReport report =
        there.run([&](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1), in_form(GetParam(), cap)); });
    ASSERT_EQ(report.form, MgemmForm::split) << report.reason;
    EXPECT_LE(report.panel_bytes, cap);
    EXPECT_LE(problem.largest_error(30000), report.bound + 1e-15);
    problem.expect_gaps_untouched();
  }
}

TEST_P(CudaMgemm, OperandsOfTheHostPassThroughTheDevice) {
  for_all_storages([](Order order, Transpose trans_a, Transpose trans_b) {
    for (std::int64_t cap : {std::int64_t(0), std::int64_t(9) << 20}) {
      Problem<double> problem(order, trans_a, trans_b, 700, 750, 1300, 1e-3);
      problem.scalars(-1.5, cap == 0 ? 0.0 : 0.5);
      if (cap == 0) problem.poison();
      const MgemmReport report = mgemm(problem.gemm, Cutoff::at(1), in_form(GetParam(), cap));
      ASSERT_EQ(report.form, MgemmForm::split) << report.reason;
      if (cap > 0) {
        EXPECT_LE(report.panel_bytes, cap);
      }
      EXPECT_LE(problem.largest_error(20000), 1.5 * report.bound + 1e-15) << problem.name() << ", cap " << cap;
      problem.expect_gaps_untouched();
    }
  });
}

TEST_P(CudaMgemm, FactorsServeManyProducts) {
  const std::int64_t m = 333, n = 210, k = 450;
  const std::vector<double> a = testing::salted_matrix(m * k, 0.01, 100), b = testing::salted_matrix(n * k, 0.01, 100);
  const OnDevice<double> a_there(a), b_there(b);
  const DenseView<const double> left{a_there.get(), m, k, k, true}, right{b_there.get(), k, n, k, false};
  const FormTraits& form = traits_of(GetParam());
  SplitFactors factors(form, 1);
  factors.load(&left, &right);
  EXPECT_GT(factors.a().large_elements(), 0);
  Problem<double> problem(Order::columns, Transpose::yes, Transpose::no, m, n, k, 0, 1, 0);
  problem.a = a;
  problem.b = b;
  problem.gemm.a = problem.a.data();
  problem.gemm.b = problem.b.data();
  DeviceProblem whole(problem);
  const MgemmReport report =
      whole.run([](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1), in_form(GetParam())); });
  for (const auto& [first_a, count_a, first_b, count_b] :
       {std::array<std::int64_t, 4>{0, m, 0, n}, {17, 100, 0, n}, {m - 1, 1, 5, 64}, {3, 50, n - 33, 33}}) {
    const OnDevice<double> c(std::vector<double>(std::size_t(count_a * count_b), HUGE_VAL));
    multiply_converted(2, {&factors.a(), first_a, count_a}, {&factors.b(), first_b, count_b}, 0,
                       {c.get(), count_a, count_b, count_a, false}, usual_depth(form));
    const std::vector<double> found = c.numbers();
    for (std::int64_t j = 0; j < count_b; ++j) {
      for (std::int64_t i = 0; i < count_a; ++i) {
        const double exact = double(testing::naive_element(problem.gemm, first_a + i, first_b + j));
        ASSERT_NEAR(found[std::size_t(j * count_a + i)], 2 * exact, 2 * report.bound) << i << ", " << j;
      }
    }
  }
}

/// The bound of the form is used: an automatic cutoff meets its target with every form that can.
TEST_P(CudaMgemm, AnAutomaticCutoffKeepsItsTarget) {
  Problem<double> problem(Order::rows, Transpose::no, Transpose::yes, 700, 650, 800, 1e-3);
  DeviceProblem there(problem);
  for (double target : {1.0, 1e-2, 1e-5}) {
    const MgemmReport report = there.run(
        [&](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::for_error(target), in_form(GetParam())); });
    if (report.form == MgemmForm::split) {
      EXPECT_LE(report.bound, target);
      EXPECT_GE(report.delta, 1);
    } else {
      EXPECT_NE(report.reason.find("above the target"), std::string::npos) << report.reason;
      EXPECT_LT(target, 1);
    }
    EXPECT_LE(problem.largest_error(20000), target);
  }
}

TEST(CudaMgemmChoice, TargetsTakeTheFormThatKeepsThem) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 500, 600, 700, 1e-3);
  DeviceProblem there(problem);
  for (double target : {1.0, 1e-3, 1e-6, 1e-8}) {
    const MgemmReport report = there.run([&](const auto& gemm) {
      return mgemm_on_device(gemm, Cutoff::for_error(target), in_form(SmallForm::automatic));
    });
    ASSERT_EQ(report.form, MgemmForm::split) << report.reason;
    EXPECT_LE(report.bound, target);
    EXPECT_LE(problem.largest_error(20000), target);
  }
}

/// Of products of salted matrices the error is about that of cuBLAS in single precision without salt, or less. Matrix
/// units cut sums: the longer the product, the better they compare, as sums here are 512 terms long.
TEST(CudaMgemmChoice, ErrorsAreThoseOfSinglePrecisionWithoutSalt) {
  const std::int64_t n = 2048;
  Problem<double> plain(Order::columns, Transpose::no, Transpose::no, n, n, n, 0, 1, 0);
  const OnDevice<float> a(std::vector<float>(plain.a.begin(), plain.a.end()));
  const OnDevice<float> b(std::vector<float>(plain.b.begin(), plain.b.end()));
  const OnDevice<float> c(plain.c.size());
  dense_product_on_device<float>(1, {a.get(), n, n, plain.gemm.lda, false}, {b.get(), n, n, plain.gemm.ldb, false}, 0,
                                 {c.get(), n, n, plain.gemm.ldc, false});
  const std::vector<float> found = c.numbers();
  std::copy(found.begin(), found.end(), plain.c.begin());
  const testing::Errors of_single = plain.errors(20000);
  for (double salt : {100.0, 10000.0}) {
    Problem<double> problem(Order::columns, Transpose::no, Transpose::no, n, n, n, 1e-3, salt, 0);
    DeviceProblem there(problem);
    const MgemmReport report =
        there.run([](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1), in_form(SmallForm::automatic)); });
    ASSERT_EQ(report.form, MgemmForm::split) << report.reason;
    const testing::Errors errors = problem.errors(20000);
    EXPECT_LT(errors.rms, 1.5 * of_single.rms) << to_string(report.small_form);
    EXPECT_LT(errors.largest, 1.5 * of_single.largest) << to_string(report.small_form);
    EXPECT_LE(errors.largest, report.bound);
  }
}

TEST(CudaMgemmChoice, SmallProductsAndManyLargeElementsAreDoneInDouble) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::yes, 300, 310, 320, 0.4);
  DeviceProblem there(problem);
  const MgemmReport small = there.run([](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1)); });
  EXPECT_EQ(small.form, MgemmForm::plain_double);
  EXPECT_FALSE(small.analysed);
  EXPECT_NE(small.reason.find("too small"), std::string::npos) << small.reason;
  EXPECT_LE(problem.largest_error(), 1e-9);
  MgemmOptions options;
  options.device_cost.smallest_product = 1;
  options.device_cost.double_flops = 1;  // all but sparse products is worth its while
  options.device_cost.cached_bytes = 1e-3;
  const MgemmReport many = there.run([&](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1), options); });
  EXPECT_EQ(many.form, MgemmForm::plain_double);
  EXPECT_FALSE(many.analysed);
  EXPECT_NE(many.reason.find("by a sample"), std::string::npos) << many.reason;
  EXPECT_LE(problem.largest_error(), 1e-9);
  Problem<double> without(Order::columns, Transpose::no, Transpose::yes, 300, 310, 320, 0);
  DeviceProblem too(without);
  EXPECT_EQ(too.run([&](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1), options); }).form,
            MgemmForm::split);
}

TEST(CudaMgemmChoice, NumbersThatAreNotFiniteAreNamed) {
  for (Order order : {Order::rows, Order::columns}) {
    Problem<double> problem(order, Transpose::no, Transpose::yes, 50, 60, 70);
    const std::size_t place = std::size_t(5 * problem.gemm.ldb + 9);
    problem.b[place] = std::numeric_limits<double>::quiet_NaN();
    DeviceProblem there(problem);
    try {
      there.run([](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1), in_form(SmallForm::half2)); });
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::numerical);
      const std::string where = order == Order::rows ? "row 5, column 9" : "row 9, column 5";
      EXPECT_EQ(error.message(), "B: the element in " + where + " (from 0) is NaN; it must be finite");
    }
  }
}

TEST(CudaMgemmChoice, ACapThatHoldsNothingMeansDouble) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 300, 300, 300, 0.01);
  DeviceProblem there(problem);
  const MgemmReport report =
      there.run([](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1), in_form(SmallForm::half2, 1000)); });
  EXPECT_EQ(report.form, MgemmForm::plain_double);
  EXPECT_NE(report.reason.find("do not fit into 1000 bytes"), std::string::npos) << report.reason;
  EXPECT_LE(problem.largest_error(), report.bound);
}

TEST(CudaMgemmChoice, EmptyProducts) {
  for (double beta : {0.0, 0.25}) {
    Problem<double> problem(Order::rows, Transpose::no, Transpose::no, 6, 5, 0);
    problem.scalars(1, beta);
    DeviceProblem there(problem);
    there.run([](const auto& gemm) { return mgemm_on_device(gemm, Cutoff::at(1)); });
    EXPECT_LE(problem.largest_error(), 1e-16);
    problem.expect_gaps_untouched();
  }
}

TEST(CudaCApi, OperandsOnTheDeviceAndBackendsByName) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 200, 210, 220, 0.01);
  quadrille_mgemm_options options{};
  options.struct_size = sizeof options;
  options.on_device = 1;
  options.form = "digits4";
  options.delta = 1;
  options.always_split = 1;
  quadrille_mgemm_report report{};
  report.struct_size = sizeof report;
  DeviceProblem there(problem);
  const auto call = [&](const Gemm<double>& g) {
    return quadrille_mgemm(&options, 'C', 'N', 'N', g.m, g.n, g.k, 1, g.a, g.lda, g.b, g.ldb, 0, g.c, g.ldc, &report);
  };
  EXPECT_EQ(there.run(call), QUADRILLE_DONE) << quadrille_mgemm_message();
  EXPECT_EQ(report.split, 1);
  EXPECT_LE(problem.largest_error(), report.bound);
  problem.poison();
  options.on_device = 0;
  options.backend = "cuda";
  EXPECT_EQ(call(problem.gemm), QUADRILLE_DONE) << quadrille_mgemm_message();
  EXPECT_LE(problem.largest_error(), report.bound);
  problem.poison();
  const Gemm<double>& g = problem.gemm;
  EXPECT_EQ(
      quadrille_cleaver_double("cuda", 'C', 'N', 'N', g.m, g.n, g.k, 1, g.a, g.lda, g.b, g.ldb, 0, g.c, g.ldc, 200000),
      QUADRILLE_DONE)
      << quadrille_mgemm_message();
  EXPECT_LE(problem.largest_error(), 1e-9);
}

}  // namespace
}  // namespace quadrille::mgemm
