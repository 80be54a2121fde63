// Functions of matrices through the C calls, against those of known eigenvalues.
#include "modules/block_dft/capi/c_api.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "tests/modules/block_dft/c_handles.h"
#include "tests/modules/block_dft/dense.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using ::testing::HasSubstr;

/// The largest |F_pq - E_pq|.
double largest_difference_from(const quadrille_block_matrix* f, const BlockMatrix<double>& expected) {
  double largest = 0;
  const BlockSizes& sizes = expected.rows();
  for (std::int32_t i = 0; i < sizes.count(); ++i) {
    for (std::int32_t j = 0; j < sizes.count(); ++j) {
      std::vector<double> block(expected.numbers(i, j)), wanted = expected.get(i, j);
      wanted.resize(block.size());
      EXPECT_EQ(quadrille_block_matrix_get(f, i, j, block.data(), nullptr), QUADRILLE_DONE);
      largest = std::max(largest, largest_difference(block, wanted));
    }
  }
  return largest;
}

struct NamedFunction {
  const char* name;
  bool definite;  ///< of positive definite matrices
  bool ordered;   ///< with a choice of the order
  std::function<double(double)> of_eigenvalue;
};
const NamedFunction named_functions[] = {
    {"inverse", false, false, [](double x) { return 1 / x; }},
    {"exponential", false, false, [](double x) { return std::exp(x); }},
    {"sign", false, true, [](double x) { return x < 0 ? -1.0 : 1.0; }},
    {"square_root", true, true, [](double x) { return std::sqrt(x); }},
    {"inverse_square_root", true, true, [](double x) { return 1 / std::sqrt(x); }}};

TEST(BlockCFunctions, AreThoseOfTheEigenvalues) {
  const BlockSizes sizes = random_sizes(10, {2, 3, 5}, next_seed());
  const IllConditioned vectors(sizes, 1, next_seed());
  for (const NamedFunction& one : named_functions) {
    std::vector<double> values, expected;
    for (std::int64_t p = 0; p < sizes.total(); ++p) {
      const double size = 0.5 + double(p) / double(sizes.total());
      values.push_back(!one.definite && p % 3 == 0 ? -size : size);
      expected.push_back(one.of_eigenvalue(values.back()));
    }
    const BlockMatrix<double> wanted = vectors.matrix(expected);
    const Handle a = handle_of(vectors.matrix(values));
    for (const std::int32_t order : {0, 3}) {
      if (order != 0 && !one.ordered) continue;
      quadrille_block_matrix* f = nullptr;
      quadrille_block_function_report report{};
      report.struct_size = sizeof report;
      ASSERT_EQ(quadrille_block_function(a.get(), one.name, 1e-10, order, 100, &f, &report), QUADRILLE_DONE)
          << quadrille_block_message();
      const Handle owned(f, quadrille_block_matrix_destroy);
      EXPECT_LT(largest_difference_from(f, wanted), 1e-7) << one.name;
      EXPECT_GT(report.iterations, 1) << one.name;
      EXPECT_GT(report.flops, 0) << one.name;
      double residual = 1, commutation = 1;
      ASSERT_EQ(quadrille_block_function_check(f, a.get(), one.name, 1e-12, &residual, &commutation), QUADRILLE_DONE)
          << quadrille_block_message();
      EXPECT_LT(residual, 1e-7) << one.name;
      if (std::string(one.name) == "sign") {
        EXPECT_LT(commutation, 1e-7);
      } else {
        EXPECT_TRUE(std::isnan(commutation)) << one.name;
      }
      // A itself is none of its functions here.
      ASSERT_EQ(quadrille_block_function_check(a.get(), a.get(), one.name, 1e-12, &residual, nullptr), QUADRILLE_DONE);
      EXPECT_GT(residual, 1e-3) << one.name;
    }
  }
}

TEST(BlockCFunctions, ErrorsAreStatusCodesWithMessages) {
  const BlockSizes sizes({2, 3});
  const IllConditioned vectors(sizes, 1, next_seed());
  const Handle indefinite = handle_of(vectors.matrix({1, 2, -1, 2, 1})),
               singular = handle_of(vectors.matrix({1, 2, 0, 2, 1})),
               general = handle_of(without_symmetry(vectors.matrix({1, 2, 1, 2, 1}))),
               oblong = handle_of(random_blocks<double>(sizes, BlockSizes({4, 2}), Symmetry::none, 1, next_seed()));
  quadrille_block_matrix* f = nullptr;
  const auto expect = [&](quadrille_status status, const Handle& a, const char* name, const char* message,
                          double eps = 1e-8, std::int32_t order = 0, std::int32_t max_iterations = 100) {
    EXPECT_EQ(quadrille_block_function(a.get(), name, eps, order, max_iterations, &f, nullptr), status) << message;
    EXPECT_THAT(quadrille_block_message(), HasSubstr(message));
    quadrille_block_matrix_destroy(f);
    f = nullptr;
  };
  expect(QUADRILLE_INVALID_INPUT, indefinite, "cosine", "quadrille_block_function: unknown function 'cosine'");
  expect(QUADRILLE_INVALID_INPUT, oblong, "inverse", "A has 5 rows in 2 blocks and 6 columns in 2: it must be square");
  expect(QUADRILLE_INVALID_INPUT, general, "sign", "A must be stored as a symmetric matrix");
  expect(QUADRILLE_INVALID_INPUT, indefinite, "inverse", "order belongs to sign and roots", 1e-8, 3);
  expect(QUADRILLE_INVALID_INPUT, indefinite, "sign", "order = 6: it must be 2 to 5", 1e-8, 6);
  expect(QUADRILLE_INVALID_INPUT, indefinite, "sign", "eps = 0", 0);
  expect(QUADRILLE_INVALID_INPUT, indefinite, "sign", "max_iterations = 0: it must be above 0", 1e-8, 0, 0);
  expect(QUADRILLE_NUMERICAL, indefinite, "square_root", "A is not positive definite");
  expect(QUADRILLE_NUMERICAL, singular, "inverse", "A is not invertible");
  // A row of zeros stays one, and an eigenvalue of 1e-11 takes 60 steps.
  BlockMatrix<double> zero_row(sizes, sizes, Symmetry::symmetric);
  zero_row.reserve(std::vector<BlockPlace>{{0, 0}, {1, 1}});
  zero_row.put(0, 0, std::vector<double>{1, 0, 0, 0});
  zero_row.put(1, 1, std::vector<double>{1, 0, 0, 0, -1, 0, 0, 0, 1});
  expect(QUADRILLE_NOT_CONVERGED, handle_of(zero_row), "sign", "an eigenvalue at 0, or near to it, has no sign");
  const Handle near_zero = handle_of(vectors.matrix({1, 2, 1e-11, -2, 1}));
  expect(QUADRILLE_INACCURATE, near_zero, "sign", "too near to 0 to have a sign with eps = 1e-08");
  expect(QUADRILLE_DONE, near_zero, "sign", "", 1e-13, 0, 1000);
  expect(QUADRILLE_NOT_CONVERGED, indefinite, "sign", "after 2 iterations", 1e-8, 0, 2);
  quadrille_block_function_report report{};
  EXPECT_EQ(quadrille_block_function(general.get(), "inverse", 1e-8, 0, 100, &f, &report), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_block_message(), HasSubstr("struct_size = 0"));
  EXPECT_EQ(quadrille_block_function(nullptr, "inverse", 1e-8, 0, 100, &f, nullptr), QUADRILLE_INVALID_HANDLE);
  double residual = 0;
  EXPECT_EQ(quadrille_block_function_check(general.get(), nullptr, "sign", 0, &residual, nullptr),
            QUADRILLE_INVALID_HANDLE);
  EXPECT_EQ(quadrille_block_function_check(general.get(), general.get(), "sign", -1, &residual, nullptr),
            QUADRILLE_INVALID_INPUT);
}

}  // namespace
}  // namespace quadrille::block_dft
