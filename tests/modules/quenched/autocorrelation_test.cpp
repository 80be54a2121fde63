// The error of a chain's mean against chains whose autocorrelation is known.
#include "modules/quenched/autocorrelation.h"

#include "core/random/random.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quadrille::quenched {
namespace {

/// x(n+1) = a x(n) + sqrt(1 - a^2) noise, plus 3: variance 1, Gamma(t) = a^t, tau_int = (1 + a) / (2 (1 - a)).
std::vector<double> autoregressive(double a, int count, std::uint64_t seed) {
  SiteRandom random(seed, RandomPurpose::Test, 0);
  std::vector<double> chain;
  double x = random.normal();
  for (int n = 0; n < count; ++n) {
    chain.push_back(3 + x);
    x = a * x + std::sqrt(1 - a * a) * random.normal();
  }
  return chain;
}

TEST(Autocorrelation, TauAndErrorOfAnAutoregressiveChain) {
  for (double a : {0.0, 0.5, 0.9}) {
    constexpr int count = 100000;
    const double tau = 0.5 * (1 + a) / (1 - a);
    const ChainMean found = chain_mean(autoregressive(a, count, testing::next_seed()));
    ASSERT_TRUE(found.reliable);
    // What lies beyond the window is lost: a few per cent.
    EXPECT_NEAR(found.tau_int, tau, 6 * found.tau_int_error + 0.05 * tau) << a;
    EXPECT_LT(found.tau_int_error, 0.1 * tau);
    EXPECT_NEAR(found.error, std::sqrt(2 * tau / count), 0.15 * std::sqrt(2 * tau / count)) << a;
    EXPECT_NEAR(found.mean, 3, 6 * std::sqrt(2 * tau / count));
    EXPECT_EQ(found.count, count);
  }
}

TEST(Autocorrelation, TheErrorIsTheSpreadOfShortChainsMeans) {
  constexpr int chains = 400, count = 500;
  double sum = 0, squares = 0, claimed = 0;
  for (int n = 0; n < chains; ++n) {
    const ChainMean found = chain_mean(autoregressive(0.7, count, testing::next_seed()));
    ASSERT_TRUE(found.reliable);
    sum += found.mean / chains;
    squares += found.mean * found.mean / chains;
    claimed += found.error / chains;
  }
  const double spread = std::sqrt(squares - sum * sum);
  EXPECT_NEAR(claimed / spread, 1, 0.2);  // the spread of 400 is known to 3.5 per cent
}

TEST(Autocorrelation, ShiftsAndScalesDoNotMatter) {
  std::vector<double> chain = autoregressive(0.6, 5000, testing::next_seed());
  const ChainMean before = chain_mean(chain);
  for (double& x : chain) x = 100 * x - 7;
  const ChainMean after = chain_mean(chain);
  EXPECT_NEAR(after.error, 100 * before.error, 1e-9);
  EXPECT_NEAR(after.tau_int, before.tau_int, 1e-9);
  EXPECT_EQ(after.window, before.window);
}

TEST(Autocorrelation, WhatCannotBeSaid) {
  EXPECT_FALSE(chain_mean({}).reliable);
  const ChainMean few = chain_mean({1, 2, 3});
  EXPECT_FALSE(few.reliable);
  EXPECT_TRUE(std::isnan(few.error));
  EXPECT_EQ(few.mean, 2);
  std::vector<double> drift;  // never decorrelates within the chain's half
  for (int n = 0; n < 30; ++n) drift.push_back(n < 15 ? 0 : 1);
  const ChainMean drifting = chain_mean(drift);
  EXPECT_TRUE(!drifting.reliable || drifting.tau_int > 2);
  const ChainMean constant = chain_mean(std::vector<double>(20, 0.5));
  EXPECT_TRUE(constant.reliable);
  EXPECT_EQ(constant.error, 0);
  EXPECT_EQ(constant.tau_int, 0.5);
}

}  // namespace
}  // namespace quadrille::quenched
