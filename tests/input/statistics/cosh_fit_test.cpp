// Fits of states to correlators: of exact ones, of noisy ones with a known spread, and chi^2 written out.
#include "input/statistics/cosh_fit.h"

#include "core/error.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace quadrille {
namespace {

using Matrix = std::vector<std::vector<double>>;

class CoshFits : public ::testing::Test {
 protected:
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  double normal() { return std::normal_distribution<double>()(random_); }
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  /// Relative errors `error`, and correlations 0.6^|i - j|.
  static Matrix covariance(const std::vector<double>& correlator, double error) {
    Matrix out(correlator.size(), std::vector<double>(correlator.size()));
    for (std::size_t i = 0; i < correlator.size(); ++i) {
      for (std::size_t j = 0; j < correlator.size(); ++j) {
        out[i][j] = error * error * correlator[i] * correlator[j] * std::pow(0.6, std::abs(double(i) - double(j)));
      }
    }
    return out;
  }

  std::mt19937_64 random_{testing::next_seed()};
};

/// x with matrix x = right, by elimination: for positive definite matrices.
std::vector<double> solved(Matrix matrix, std::vector<double> right) {
  const std::size_t n = right.size();
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = matrix[i][k] / matrix[k][k];
      for (std::size_t j = k; j < n; ++j) matrix[i][j] -= factor * matrix[k][j];
      right[i] -= factor * right[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) right[k] -= matrix[k][j] * right[j];
    right[k] /= matrix[k][k];
  }
  return right;
}

double chi2_of(const std::vector<double>& points, const std::vector<double>& model, const Matrix& covariance) {
  std::vector<double> residual(points);
  for (std::size_t i = 0; i < points.size(); ++i) residual[i] -= model[i];
  const std::vector<double> weighted = solved(covariance, residual);
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) sum += residual[i] * weighted[i];
  return sum;
}

Matrix diagonal_of(const Matrix& matrix) {
  Matrix out(matrix.size(), std::vector<double>(matrix.size(), 0.0));
  for (std::size_t i = 0; i < matrix.size(); ++i) out[i][i] = matrix[i][i];
  return out;
}

TEST_F(CoshFits, AStateIsFoundExactly) {
  for (int k = 0; k < 20; ++k) {
    const int extent = 2 * whole(6, 32);
    const CoshModel model{extent, whole(0, extent / 2 - 3), extent / 2, 1};
    const double mass = std::exp(uniform(std::log(0.05), std::log(1.5))), amplitude = std::exp(uniform(-20, 5));
    const auto correlator = model.correlator({mass}, {amplitude});
    for (const bool correlated : {false, true}) {
      const auto found = CoshFitter(model, covariance(correlator, 0.01), correlated).fit(correlator);
      ASSERT_TRUE(found) << "mass " << mass << " extent " << extent;
      EXPECT_NEAR(found->masses[0], mass, 1e-6 * mass);
      EXPECT_NEAR(found->amplitudes[0], amplitude, 1e-5 * amplitude);
      EXPECT_LT(found->chi2, 1e-9);
    }
  }
}

TEST_F(CoshFits, TwoStatesAreFoundExactly) {
  for (int k = 0; k < 10; ++k) {
    const CoshModel model{48, whole(0, 2), 24, 2};
    const double light = uniform(0.1, 0.4), heavy = light + uniform(0.3, 0.8);
    const std::vector<double> amplitudes = {uniform(0.5, 2), uniform(0.5, 2)};
    const auto correlator = model.correlator({light, heavy}, amplitudes);
    const auto found = CoshFitter(model, covariance(correlator, 0.01), false).fit(correlator);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->masses[0], light, 1e-5);
    EXPECT_NEAR(found->masses[1], heavy, 1e-4);
    for (std::size_t n = 0; n < 2; ++n) EXPECT_NEAR(found->amplitudes[n], amplitudes[n], 1e-3);
  }
}

TEST_F(CoshFits, TheMinimumIsOne) {
  const CoshModel model{32, 4, 16, 1};
  auto correlator = model.correlator({0.4}, {1.0});
  const Matrix errors = covariance(correlator, 0.02);
  for (double& value : correlator) value *= 1 + 0.02 * normal();
  for (const bool correlated : {false, true}) {
    const auto found = CoshFitter(model, errors, correlated).fit(correlator);
    ASSERT_TRUE(found);
    const Matrix used = correlated ? errors : diagonal_of(errors);
    const auto chi2_at = [&](double mass, double amplitude) {
      return chi2_of(correlator, model.correlator({mass}, {amplitude}), used);
    };
    const double mass = found->masses[0], amplitude = found->amplitudes[0];
    EXPECT_NEAR(found->chi2, chi2_at(mass, amplitude), 1e-9 * found->chi2);
    for (const double step : {-1e-3, 1e-3}) {
      EXPECT_GT(chi2_at(mass + step, amplitude), found->chi2);
      EXPECT_GT(chi2_at(mass, amplitude * (1 + step)), found->chi2);
    }
    const auto again = CoshFitter(model, errors, correlated).fit(correlator, &*found);
    ASSERT_TRUE(again);
    EXPECT_NEAR(again->masses[0], mass, 1e-6);
  }
}

// With the right covariance chi^2 has the mean and the variance of its distribution: dof, 2 dof.
TEST_F(CoshFits, ChiSquaredIsDistributedAsItIsCalled) {
  const CoshModel model{32, 5, 15, 1};
  const auto correlator = model.correlator({0.3}, {1.0});
  const Matrix errors = diagonal_of(covariance(correlator, 0.001));
  const CoshFitter fitter(model, errors, false);
  const int times = 400, dof = model.degrees_of_freedom();
  ASSERT_EQ(dof, 9);
  double chi2 = 0, mass = 0, squares = 0;
  for (int k = 0; k < times; ++k) {
    auto noisy = correlator;
    for (double& value : noisy) value *= 1 + 0.001 * normal();
    const auto found = fitter.fit(noisy);
    ASSERT_TRUE(found);
    chi2 += found->chi2 / times;
    mass += found->masses[0] / times;
    squares += std::pow(found->masses[0] - 0.3, 2) / times;
  }
  EXPECT_NEAR(chi2, dof, 5 * std::sqrt(2.0 * dof / times));
  EXPECT_NEAR(mass, 0.3, 5 * std::sqrt(squares / times));
}

TEST_F(CoshFits, ASingularCovarianceIsRefused) {
  const CoshModel model{16, 3, 8, 1};
  const auto correlator = model.correlator({0.5}, {1.0});
  Matrix same(correlator.size(), std::vector<double>(correlator.size(), 1.0));  // all times move together
  EXPECT_THROW(CoshFitter(model, same, true), Error);
  EXPECT_NO_THROW(CoshFitter(model, same, false));
  same[2][2] = 0;
  EXPECT_THROW(CoshFitter(model, same, false), Error);
}

TEST_F(CoshFits, NotANumberHasNoFit) {
  const CoshModel model{16, 3, 8, 1};
  auto correlator = model.correlator({0.5}, {1.0});
  const CoshFitter fitter(model, covariance(correlator, 0.1), false);
  correlator[2] = std::nan("");
  EXPECT_FALSE(fitter.fit(correlator));
}

TEST_F(CoshFits, FoldedIsTheMeanOfBothSides) {
  const CoshModel model{8, 0, 4, 1};
  std::vector<double> correlator;
  for (int t = 0; t < 8; ++t) correlator.push_back(normal());
  const auto found = folded(correlator, model);
  ASSERT_EQ(found.size(), 5u);
  EXPECT_DOUBLE_EQ(found[0], correlator[0]);
  EXPECT_DOUBLE_EQ(found[3], 0.5 * (correlator[3] + correlator[5]));
  EXPECT_DOUBLE_EQ(found[4], correlator[4]);
}

}  // namespace
}  // namespace quadrille
