// The C calls: results, status codes and messages.
#include "modules/mgemm/capi/c_api.h"

#include "tests/modules/mgemm/problem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>

namespace quadrille::mgemm {
namespace {

using testing::Problem;

quadrille_mgemm_options with(double delta, double target_error = 0, std::int64_t memory_cap = 0) {
  quadrille_mgemm_options options{};
  options.struct_size = sizeof options;
  options.delta = delta;
  options.target_error = target_error;
  options.memory_cap = memory_cap;
  return options;
}

TEST(MgemmCApi, CallsAreThoseOfTheLibrary) {
  Problem<double> problem(Order::rows, Transpose::yes, Transpose::no, 41, 33, 57, 0.02);
  const Gemm<double>& g = problem.gemm;
  ASSERT_EQ(
      quadrille_cleaver_double(nullptr, 'R', 't', 'n', g.m, g.n, g.k, 1.5, g.a, g.lda, g.b, g.ldb, 0, g.c, g.ldc, 9000),
      0);
  problem.scalars(1.5, 0);
  EXPECT_LE(problem.largest_error(), 1e-9);
  quadrille_mgemm_report report{};
  report.struct_size = sizeof report;
  const quadrille_mgemm_options at_one = with(1), for_error = with(0, 1e-3);
  problem.poison();
  ASSERT_EQ(quadrille_mgemm(&at_one, 'r', 'T', 'N', g.m, g.n, g.k, 1.5, g.a, g.lda, g.b, g.ldb, 0, g.c, g.ldc, &report),
            0);
  EXPECT_LE(problem.largest_error(), 1.5 * report.bound);
  EXPECT_EQ(report.split, 0);
  EXPECT_NE(std::string(report.reason).find("too small"), std::string::npos) << report.reason;
  EXPECT_EQ(
      quadrille_mgemm(&for_error, 'R', 'C', 'N', g.m, g.n, g.k, 1, g.a, g.lda, g.b, g.ldb, 0, g.c, g.ldc, nullptr), 0);

  Problem<float> single(Order::columns, Transpose::no, Transpose::yes, 20, 30, 40);
  const Gemm<float>& s = single.gemm;
  ASSERT_EQ(
      quadrille_cleaver_single(nullptr, 'C', 'N', 'T', s.m, s.n, s.k, 1, s.a, s.lda, s.b, s.ldb, 0, s.c, s.ldc, 0), 0);
  EXPECT_LE(single.largest_error(), 40 * 42 * 0x1p-24);
}

TEST(MgemmCApi, ALargeProductIsSplit) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 1200, 1300, 1100, 1e-4);
  const Gemm<double>& g = problem.gemm;
  const quadrille_mgemm_options at_one = with(1), for_error = with(0, 0.01);
  quadrille_mgemm_report report{};
  report.struct_size = sizeof report;
  ASSERT_EQ(quadrille_mgemm(&at_one, 'C', 'N', 'N', g.m, g.n, g.k, 1, g.a, g.lda, g.b, g.ldb, 0, g.c, g.ldc, &report),
            0);
  EXPECT_EQ(report.split, 1) << report.reason;
  EXPECT_EQ(report.analysed, 1);
  EXPECT_EQ(report.delta, 1.0);
  EXPECT_GT(report.panel_bytes, 0);
  EXPECT_NEAR(report.large_a, 1e-4, 1e-4);
  EXPECT_LE(problem.largest_error(3000), report.bound);
  ASSERT_EQ(
      quadrille_mgemm(&for_error, 'C', 'N', 'N', g.m, g.n, g.k, 1, g.a, g.lda, g.b, g.ldb, 0, g.c, g.ldc, &report), 0);
  EXPECT_EQ(report.split, 1) << report.reason;
  EXPECT_LE(report.bound, 0.01);
  EXPECT_LE(problem.largest_error(3000), 0.01);
}

TEST(MgemmCApi, ErrorsHaveCodesAndMessages) {
  double a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1}, c[4] = {};
  const auto call = [&](char order, char trans, std::int64_t m, const double* pa, std::int64_t lda, std::int64_t cap,
                        double delta) {
    const quadrille_mgemm_options options = with(delta, 0, cap);
    return quadrille_mgemm(&options, order, trans, 'N', m, 2, 2, 1, pa, lda, b, 2, 0, c, 2, nullptr);
  };
  const auto said = [](const char* what) {
    return std::string(quadrille_mgemm_message()).find(what) != std::string::npos;
  };
  EXPECT_EQ(call('C', 'N', 2, a, 2, 0, 1), QUADRILLE_DONE);
  EXPECT_EQ(c[1], 2);
  EXPECT_EQ(call('X', 'N', 2, a, 2, 0, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("quadrille_mgemm: order = 'X'")) << quadrille_mgemm_message();
  EXPECT_EQ(call('C', 'Q', 2, a, 2, 0, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("trans_a = 'Q'")) << quadrille_mgemm_message();
  EXPECT_EQ(call('C', 'N', -2, a, 2, 0, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("m = -2")) << quadrille_mgemm_message();
  EXPECT_EQ(call('C', 'N', 2, nullptr, 2, 0, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("A is a null pointer")) << quadrille_mgemm_message();
  EXPECT_EQ(call('C', 'N', 2, a, 1, 0, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("lda must be at least 2")) << quadrille_mgemm_message();
  EXPECT_EQ(call('C', 'N', 2, a, 2, 7, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("7 bytes")) << quadrille_mgemm_message();
  EXPECT_EQ(call('C', 'N', 2, a, 2, 0, -1), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("delta = -1")) << quadrille_mgemm_message();
  a[3] = std::nan("");
  EXPECT_EQ(call('C', 'N', 2, a, 2, 0, 1), QUADRILLE_NUMERICAL);
  EXPECT_TRUE(said("A: the element in row 1, column 1 (from 0) is NaN")) << quadrille_mgemm_message();
  EXPECT_EQ(quadrille_cleaver_double(nullptr, 'C', 'N', 'N', 2, 2, 2, 1, a, 2, b, 2, 0, c, 2, 0), QUADRILLE_NUMERICAL);
  EXPECT_TRUE(said("quadrille_cleaver_double")) << quadrille_mgemm_message();
}

TEST(MgemmCApi, OptionsAreThoseOfTheLibrary) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::yes, 60, 50, 70, 0.01);
  const Gemm<double>& g = problem.gemm;
  const auto call = [&](const quadrille_mgemm_options* options, quadrille_mgemm_report* report) {
    return quadrille_mgemm(options, 'C', 'N', 'T', g.m, g.n, g.k, 1, g.a, g.lda, g.b, g.ldb, 0, g.c, g.ldc, report);
  };
  const auto said = [](const char* what) {
    return std::string(quadrille_mgemm_message()).find(what) != std::string::npos;
  };
  quadrille_mgemm_options options{};
  options.struct_size = sizeof options;
  options.backend = "cpu";
  options.form = "single";
  options.delta = 1;
  options.always_split = 1;
  quadrille_mgemm_report report{};
  EXPECT_EQ(call(&options, &report), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("report: struct_size = 0")) << quadrille_mgemm_message();
  report.struct_size = offsetof(quadrille_mgemm_report, depth);
  report.depth = -7;
  ASSERT_EQ(call(&options, &report), QUADRILLE_DONE) << quadrille_mgemm_message();
  EXPECT_EQ(report.depth, -7) << "behind the struct of an older program";
  report.struct_size = sizeof report;
  ASSERT_EQ(call(&options, &report), QUADRILLE_DONE) << quadrille_mgemm_message();
  EXPECT_EQ(report.split, 1);
  EXPECT_EQ(report.delta, 1.0);
  EXPECT_LE(problem.largest_error(), report.bound);
  options.target_error = 1e-3;
  ASSERT_EQ(call(&options, &report), QUADRILLE_DONE) << quadrille_mgemm_message();
  EXPECT_LE(report.bound, 1e-3);
  EXPECT_EQ(report.measured, 0);
  options.measured = 1;
  options.target_error = 1e-4;
  ASSERT_EQ(call(&options, &report), QUADRILLE_DONE) << quadrille_mgemm_message();
  EXPECT_EQ(report.split, 1);
  EXPECT_GT(report.measured, 0);
  EXPECT_LE(report.measured, 1e-4);
  EXPECT_LE(problem.largest_error(), 2 * report.measured);
  EXPECT_EQ(call(nullptr, &report), QUADRILLE_INVALID_INPUT);
  options.form = "half2";
  EXPECT_EQ(call(&options, &report), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("the form half2 of the small product needs the backend cuda")) << quadrille_mgemm_message();
  options.form = "half3";
  EXPECT_EQ(call(&options, &report), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("unknown form 'half3'")) << quadrille_mgemm_message();
  options.form = nullptr;
  options.backend = "gpu";
  EXPECT_EQ(call(&options, &report), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("unknown backend 'gpu'")) << quadrille_mgemm_message();
  options.backend = "cpu";
  options.on_device = 1;
  EXPECT_EQ(call(&options, &report), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("on_device = 1 needs the backend cuda")) << quadrille_mgemm_message();
  options.struct_size = 10000;
  EXPECT_EQ(call(&options, &report), QUADRILLE_INVALID_INPUT);
  EXPECT_TRUE(said("struct_size = 10000")) << quadrille_mgemm_message();
}

TEST(MgemmCApi, ProductsThroughACapTakeABackend) {
  Problem<double> problem(Order::rows, Transpose::no, Transpose::no, 21, 22, 23);
  const Gemm<double>& g = problem.gemm;
  ASSERT_EQ(
      quadrille_cleaver_double("cpu", 'R', 'N', 'N', g.m, g.n, g.k, 1, g.a, g.lda, g.b, g.ldb, 0, g.c, g.ldc, 3000),
      QUADRILLE_DONE);
  EXPECT_LE(problem.largest_error(), 1e-12);
  Problem<float> single(Order::rows, Transpose::no, Transpose::no, 21, 22, 23);
  const Gemm<float>& s = single.gemm;
  ASSERT_EQ(
      quadrille_cleaver_single(nullptr, 'R', 'N', 'N', s.m, s.n, s.k, 1, s.a, s.lda, s.b, s.ldb, 0, s.c, s.ldc, 0),
      QUADRILLE_DONE);
  EXPECT_LE(single.largest_error(), 23 * 25 * 0x1p-24);
}

}  // namespace
}  // namespace quadrille::mgemm
