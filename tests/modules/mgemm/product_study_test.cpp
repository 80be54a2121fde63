// What the task matrix_product_study measures, against products by their definition.
#include "modules/mgemm/tasks/product_study.h"

#include "core/error.h"
#include "modules/mgemm/product/blas.h"
#include "tests/modules/mgemm/salted.h"

#include <gtest/gtest.h>

#include <omp.h>

#include <cmath>

namespace quadrille::mgemm {
namespace {

using quadrille::testing::naive_element;
using quadrille::testing::next_seed;

constexpr std::int64_t n = 90;

/// Largest and root mean square error of an n x n product.
template <class T>
std::pair<double, double> errors_of(const Gemm<double>& gemm, const std::vector<T>& c) {
  double largest = 0, squares = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double error = std::abs(double((long double)(c[std::size_t(j * n + i)]) - naive_element(gemm, i, j)));
      largest = std::max(largest, error);
      squares += error * error;
    }
  }
  return {largest, std::sqrt(squares / double(n * n))};
}

TEST(ProductStudy, ErrorsAreThoseOfTheDefinition) {
  const ProductCase one{n, {0.02, 90, 110}, next_seed()};
  const std::vector<double> a = salted_matrix(n * n, one.salt, one.seed, 0),
                            b = salted_matrix(n * n, one.salt, one.seed, 1);
  ProductStudyOptions study;
  study.memory_cap = 70000;  // of three matrices of 64,800 bytes
  const std::vector<ProductMeasurement> found = measure_products(one, study, true);
  ASSERT_EQ(found.size(), 4u);
  Gemm<double> gemm;
  std::vector<double> c(a.size());
  gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = n;
  gemm.a = a.data();
  gemm.b = b.data();
  gemm.c = c.data();
  EXPECT_EQ(found[0].product, "dgemm");
  EXPECT_EQ(found[0].max_error, 0);

  const std::vector<float> single_a(a.begin(), a.end()), single_b(b.begin(), b.end());
  std::vector<float> single_c(a.size());
  dense_product(1.0f, {single_a.data(), n, n, n, false}, {single_b.data(), n, n, n, false}, 0.0f,
                {single_c.data(), n, n, n, false});
  const auto [single_largest, single_rms] = errors_of(gemm, single_c);
  EXPECT_EQ(found[1].product, "sgemm");
  EXPECT_NEAR(found[1].max_error, single_largest, 1e-3 * single_largest);
  EXPECT_NEAR(found[1].rms_error, single_rms, 1e-3 * single_rms);

  EXPECT_EQ(found[2].product, "cleaver");
  EXPECT_LT(found[2].max_error, 1e-9);
  EXPECT_GT(found[2].panel_bytes, 0);
  EXPECT_LE(found[2].panel_bytes, study.memory_cap);

  MgemmOptions options;
  options.always_split = true;
  const MgemmReport report = mgemm(gemm, Cutoff::at(1), options);
  const auto [mixed_largest, mixed_rms] = errors_of(gemm, c);
  EXPECT_EQ(found[3].product, "mgemm");
  EXPECT_NEAR(found[3].max_error, mixed_largest, 1e-3 * mixed_largest);
  EXPECT_NEAR(found[3].rms_error, mixed_rms, 1e-3 * mixed_rms);
  EXPECT_LT(found[3].rms_error, 0.1 * found[1].rms_error) << "salt costs single precision more";
  EXPECT_EQ(found[3].report.form, MgemmForm::split);
  EXPECT_EQ(found[3].report.bound, report.bound);
  EXPECT_LE(found[3].max_error, found[3].report.probable_bound);
  EXPECT_LE(found[3].report.probable_bound, found[3].report.bound);
  for (const ProductMeasurement& m : found) EXPECT_GT(m.seconds, 0) << m.product;
  EXPECT_GT(found[3].analysis_seconds, 0);

  EXPECT_EQ(measure_products(one, {}, false).size(), 2u);
}

TEST(ProductStudy, SaltIsAsItIsSaid) {
  constexpr std::int64_t count = 200000;
  const std::uint64_t seed = next_seed();
  const Salt much{0.1, 90, 110}, little{0.01, 9990, 10010};
  const std::vector<double> plain = salted_matrix(count, {}, seed, 0), some = salted_matrix(count, little, seed, 0),
                            more = salted_matrix(count, much, seed, 0);
  std::int64_t salted = 0, salted_more = 0;
  double sum = 0, squares = 0;
  for (std::size_t k = 0; k < plain.size(); ++k) {
    ASSERT_LE(std::abs(plain[k]), 1);
    sum += plain[k];
    squares += plain[k] * plain[k];
    if (some[k] != plain[k]) {
      ++salted;
      ASSERT_TRUE(some[k] >= 9990 && some[k] < 10010) << some[k];
      ASSERT_NE(more[k], plain[k]) << "what is salted in one fraction is so in a larger one";
    }
    if (more[k] == plain[k]) continue;
    ++salted_more;
    ASSERT_TRUE(more[k] >= 90 && more[k] < 110) << more[k];
  }
  const double n_all = double(count);  // six standard deviations
  EXPECT_NEAR(double(salted), 0.01 * n_all, 6 * std::sqrt(0.01 * n_all));
  EXPECT_NEAR(double(salted_more), 0.1 * n_all, 6 * std::sqrt(0.1 * n_all));
  EXPECT_NEAR(sum / n_all, 0, 6 * std::sqrt(1.0 / 3 / n_all));
  EXPECT_NEAR(squares / n_all, 1.0 / 3, 6 * std::sqrt(4.0 / 45 / n_all));
  EXPECT_NE(plain, salted_matrix(count, {}, seed, 1)) << "A and B differ";
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  EXPECT_EQ(more, salted_matrix(count, much, seed, 0));
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace quadrille::mgemm
