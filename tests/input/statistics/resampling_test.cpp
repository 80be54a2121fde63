// Jackknife and bootstrap: against formulas, and against errors that are known.
#include "input/statistics/resampling.h"
#include "core/error.h"
#include "modules/quenched/autocorrelation.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace quadrille {
namespace {

class Resampling : public ::testing::Test {
 protected:
  double normal() { return std::normal_distribution<double>()(random_); }
  std::size_t whole(std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(random_);
  }

  /// Independent numbers of standard deviations 1, 2, ... about 10.
  Measurements independent(std::size_t rows, std::size_t columns) {
    Measurements out(rows, std::vector<double>(columns));
    for (auto& row : out) {
      for (std::size_t i = 0; i < columns; ++i) row[i] = 10 + double(i + 1) * normal();
    }
    return out;
  }

  /// x' = rho x + noise, of variance 1: tau_int = (1 + rho) / (1 - rho) / 2.
  Measurements chain(std::size_t length, double rho) {
    Measurements out;
    double x = normal();
    for (std::size_t k = 0; k < length; ++k) {
      out.push_back({x});
      x = rho * x + std::sqrt(1 - rho * rho) * normal();
    }
    return out;
  }

  std::mt19937_64 random_{testing::next_seed()};
};

double mean_of(const Measurements& rows, std::size_t i) {
  double sum = 0;
  for (const auto& row : rows) sum += row[i];
  return sum / double(rows.size());
}

/// Of the mean of independent rows.
double standard_error(const Measurements& rows, std::size_t i) {
  const double mean = mean_of(rows, i), n = double(rows.size());
  double sum = 0;
  for (const auto& row : rows) sum += (row[i] - mean) * (row[i] - mean);
  return std::sqrt(sum / (n - 1) / n);
}

TEST_F(Resampling, TheJackknifeOfAMeanIsItsStandardError) {
  const Measurements rows = independent(whole(2, 50), 3);
  const Estimates found = jackknife(Bins(rows, 1));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(found.value[i], mean_of(rows, i), 1e-13 * 10);
    EXPECT_NEAR(found.error[i], standard_error(rows, i), 1e-11);
    EXPECT_NEAR(found.bias[i], 0, 1e-10);
  }
}

TEST_F(Resampling, BinsOfOneSizeGiveTheStandardErrorOfTheirMeans) {
  const std::size_t size = whole(2, 5), bins = whole(2, 12);
  const Measurements rows = independent(size * bins, 2);
  Measurements means;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    means.emplace_back(2, 0.0);
    for (std::size_t row = 0; row < size; ++row) {
      for (std::size_t i = 0; i < 2; ++i) means.back()[i] += rows[bin * size + row][i] / double(size);
    }
  }
  const Estimates found = jackknife(Bins(rows, size));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(found.error[i], standard_error(means, i), 1e-11);
}

TEST_F(Resampling, EveryRowIsInOneBin) {
  for (std::size_t n = 1; n < 30; ++n) {
    const Measurements rows = independent(n, 1);
    const std::size_t size = whole(1, n + 3);
    const Bins bins(rows, size);
    EXPECT_EQ(bins.count(), std::max<std::size_t>(n / size, 1));
    EXPECT_NEAR(bins.mean()[0], mean_of(rows, 0), 1e-12);
    if (bins.count() < 2) continue;
    double sum = 0, least = 1e9, most = 0;  // of the rows of the bins, from n mean - (n - m) mean_without
    for (std::size_t bin = 0; bin < bins.count(); ++bin) {
      std::vector<std::size_t> alone(bins.count(), 0);
      alone[bin] = 1;
      const double inside = bins.mean_of(alone)[0], without = bins.mean_without(bin)[0], all = bins.mean()[0];
      const double rows_inside = double(n) * (all - without) / (inside - without);
      sum += rows_inside;
      least = std::min(least, rows_inside);
      most = std::max(most, rows_inside);
    }
    EXPECT_NEAR(sum, double(n), 1e-6);
    EXPECT_LT(most - least, 1 + 1e-6);
  }
}

TEST_F(Resampling, AFunctionOfMeansHasTheErrorOfItsDerivative) {
  const Measurements rows = independent(400, 2);
  const OfMeans ratio = [](const std::vector<double>& mean) { return std::vector<double>{mean[0] / mean[1]}; };
  const auto covariance = jackknife_covariance(Bins(rows, 1));
  const double a = mean_of(rows, 0), b = mean_of(rows, 1), da = 1 / b, db = -a / b / b;
  const double linear = da * da * covariance[0][0] + 2 * da * db * covariance[0][1] + db * db * covariance[1][1];
  const Estimates found = jackknife(Bins(rows, 1), ratio);
  EXPECT_NEAR(found.value[0], a / b, 1e-13);
  EXPECT_NEAR(found.error[0], std::sqrt(linear), 0.01 * std::sqrt(linear));
}

// E[x^2] of a mean x of n numbers is mean^2 + variance / n: the jackknife knows this bias exactly.
TEST_F(Resampling, TheBiasOfASquare) {
  const std::size_t n = whole(5, 40);
  const Measurements rows = independent(n, 1);
  const OfMeans square = [](const std::vector<double>& mean) { return std::vector<double>{mean[0] * mean[0]}; };
  const double error = standard_error(rows, 0);
  EXPECT_NEAR(jackknife(Bins(rows, 1), square).bias[0], error * error, 1e-9);
}

// <a / b> differs from <a> / <b> by about <a> / <b>^3 var(b) / n for independent a and b.
TEST_F(Resampling, TheBiasOfARatio) {
  const Measurements rows = independent(200, 2);
  const OfMeans ratio = [](const std::vector<double>& mean) { return std::vector<double>{mean[0] / mean[1]}; };
  const auto covariance = jackknife_covariance(Bins(rows, 1));
  const double a = mean_of(rows, 0), b = mean_of(rows, 1);
  const double second_order = a / (b * b * b) * covariance[1][1] - covariance[0][1] / (b * b);
  EXPECT_NEAR(jackknife(Bins(rows, 1), ratio).bias[0], second_order, 0.1 * std::abs(second_order) + 2e-6);
}

TEST_F(Resampling, OneBinHasNoError) {
  const Measurements rows = independent(7, 1);
  for (const std::size_t size : {4u, 7u, 100u}) {
    const Estimates found = jackknife(Bins(rows, size));
    EXPECT_NEAR(found.value[0], mean_of(rows, 0), 1e-13 * 10);
    EXPECT_TRUE(std::isnan(found.error[0]));
    EXPECT_TRUE(std::isnan(bootstrap_errors(Bins(rows, size), 100, 1)[0]));
    EXPECT_TRUE(std::isnan(jackknife_covariance(Bins(rows, size))[0][0]));
  }
}

TEST_F(Resampling, TheBootstrapAgreesWithTheStandardError) {
  const int samples = 4000;
  for (const std::size_t n : {3u, 10u, 60u}) {
    const Measurements rows = independent(n, 2);
    const auto found = bootstrap_errors(Bins(rows, 1), samples, whole(0, 1u << 30));
    // The spread of a standard deviation of so many samples is 1 / sqrt(2 samples), for few values somewhat more.
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(found[i], standard_error(rows, i), 6 * standard_error(rows, i) / std::sqrt(2.0 * samples)) << n;
    }
  }
}

TEST_F(Resampling, ASeedGivesItsSamples) {
  const Measurements rows = independent(20, 1);
  const std::uint64_t seed = whole(0, 1u << 30);
  EXPECT_EQ(bootstrap_errors(Bins(rows, 1), 50, seed), bootstrap_errors(Bins(rows, 1), 50, seed));
  EXPECT_NE(bootstrap_errors(Bins(rows, 1), 50, seed), bootstrap_errors(Bins(rows, 1), 50, seed + 1));
}

TEST_F(Resampling, RowsOfDifferentLengthsAreRefused) {
  EXPECT_THROW(Bins({}, 1), Error);
  EXPECT_THROW(Bins({{1.0}, {1.0, 2.0}}, 1), Error);
  EXPECT_THROW(Bins({{1.0}}, 0), Error);
}

// The variance of the mean of a chain of n is 2 tau_int / n; bins much longer than tau_int see it, single rows do not.
TEST_F(Resampling, BinsAndTheGammaMethodSeeAutocorrelation) {
  const double rho = 0.8, tau = 0.5 * (1 + rho) / (1 - rho);  // 4.5
  const std::size_t n = 40000, bins = 100;
  const Measurements rows = chain(n, rho);
  const double right = std::sqrt(2 * tau / double(n));
  const double binned = jackknife(Bins(rows, n / bins)).error[0];
  EXPECT_NEAR(binned, right, 5 * right / std::sqrt(2.0 * double(bins)));
  EXPECT_LT(jackknife(Bins(rows, 1)).error[0], 0.5 * right);
  std::vector<double> history;
  for (const auto& row : rows) history.push_back(row[0]);
  const quenched::ChainMean gamma = quenched::chain_mean(history);
  EXPECT_NEAR(gamma.tau_int, tau, 5 * gamma.tau_int_error);
  EXPECT_LT(gamma.tau_int_error, 0.1 * tau);
  EXPECT_NEAR(gamma.error, right, 0.1 * right);
}

}  // namespace
}  // namespace quadrille
