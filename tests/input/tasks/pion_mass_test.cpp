// The pion's mass and the critical mass, from correlators whose masses are known.
#include "input/tasks/pion_mass.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace quadrille {
namespace {

/// amplitude cosh(mass (t - T/2)) at t = 0 .. T - 1 after the source.
std::vector<double> cosh_correlator(int extent, double mass, double amplitude, int source_time) {
  std::vector<double> out(std::size_t(extent), 0.0);
  for (int t = 0; t < extent; ++t) {
    out[std::size_t((source_time + t) % extent)] = amplitude * std::cosh(mass * (t - 0.5 * extent));
  }
  return out;
}

class PionMass : public ::testing::Test {
 protected:
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  std::mt19937_64 random_{testing::next_seed()};
};

TEST_F(PionMass, OfACoshIsItsMassAtEveryTime) {
  for (int k = 0; k < 20; ++k) {
    const int extent = 2 * whole(3, 24);
    const double mass = std::exp(uniform(std::log(0.02), std::log(2.0)));
    const int source = whole(0, extent - 1);
    const auto correlator = cosh_correlator(extent, mass, std::exp(uniform(-30, 5)), source);
    const auto masses = effective_masses(correlator, source);
    ASSERT_EQ(masses.size(), std::size_t(extent / 2));
    for (const double found : masses) EXPECT_NEAR(found, mass, 1e-11 / mass) << "extent " << extent;
    const auto fitted = pion_mass(correlator, source, 1, extent / 2);
    ASSERT_TRUE(fitted);
    EXPECT_NEAR(fitted->value, mass, 1e-11 / mass);
    EXPECT_LT(fitted->spread, 1e-11 / mass);
  }
}

TEST_F(PionMass, OverflowsNowhere) {
  for (const double found : effective_masses(cosh_correlator(64, 20, 1e-200, 0), 0)) EXPECT_NEAR(found, 20, 1e-9);
}

TEST_F(PionMass, AnExcitedStateShowsInTheSpreadOfAnEarlyWindow) {
  const int extent = 48;
  auto correlator = cosh_correlator(extent, 0.3, 1, 0);
  const auto excited = cosh_correlator(extent, 1.1, 1e-8, 0);
  for (std::size_t t = 0; t < correlator.size(); ++t) correlator[t] += excited[t];
  const auto early = pion_mass(correlator, 0, 0, 6), late = pion_mass(correlator, 0, 16, 24);
  ASSERT_TRUE(early && late);
  EXPECT_NEAR(late->value, 0.3, 1e-3);
  EXPECT_LT(late->spread, 0.1 * early->spread);
  EXPECT_GT(early->value, late->value);
}

TEST_F(PionMass, WithoutAFallThereIsNoMass) {
  auto correlator = cosh_correlator(16, 0.4, 1, 5);
  EXPECT_TRUE(pion_mass(correlator, 5, 2, 8));
  correlator[std::size_t((5 + 6) % 16)] *= -1;
  EXPECT_FALSE(pion_mass(correlator, 5, 2, 8));
  EXPECT_TRUE(pion_mass(correlator, 5, 2, 5)) << "outside of the window it does not matter";
  EXPECT_FALSE(pion_mass(std::vector<double>(16, 1.0), 0, 0, 8));
  EXPECT_FALSE(pion_mass(std::vector<double>(16, NAN), 0, 0, 8));
}

TEST_F(PionMass, TheSquaredMassVanishesAtTheCriticalMass) {
  for (int k = 0; k < 20; ++k) {
    const double critical = uniform(-1.2, 0), slope = uniform(0.5, 4);
    std::vector<double> bare;
    std::vector<Estimate> squares;
    for (int n = 0; n < whole(2, 6); ++n) {
      bare.push_back(critical + uniform(0.02, 0.05) + 0.05 * n);
      const double mass = std::sqrt(slope * (bare.back() - critical));
      const auto fitted = pion_mass(cosh_correlator(32, mass, 1, 3), 3, 6, 16);
      squares.push_back({fitted->value * fitted->value, 0});
    }
    const auto line = line_through_zero(bare, squares);
    ASSERT_TRUE(line);
    EXPECT_NEAR(line->zero.value, critical, 1e-8);
    EXPECT_NEAR(line->slope, slope, 1e-6);
    EXPECT_LT(line->zero.spread, 1e-8);
  }
}

TEST_F(PionMass, SpreadsOfTheLineAreThoseOfItsPoints) {
  // y = x off by d at one of three points: linear algebra by hand. With x = 1, 2, 3 and y = 1 + d, 2, 3 the line is
  // y = 2 + d/3 + (1 - d/2)(x - 2).
  const double d = 0.01;
  const auto line = line_through_zero({1, 2, 3}, {{1 + d, 0}, {2, 0}, {3, 0}});
  ASSERT_TRUE(line);
  EXPECT_NEAR(line->slope, 1 - d / 2, 1e-14);
  EXPECT_NEAR(line->zero.value, 2 - (2 + d / 3) / (1 - d / 2), 1e-14);
  EXPECT_GT(line->zero.spread, 0);
  EXPECT_NEAR(line->deviation, d / 3, 1e-14);  // at x = 2; d/6 at the others
  // The zero's derivative with respect to a point, by finite differences, against the spread of that point alone.
  const double h = 1e-6;
  for (std::size_t at = 0; at < 3; ++at) {
    std::vector<Estimate> exact = {{1, 0}, {2, 0}, {3, 0}}, moved = exact, spread = exact;
    moved[at].value += h;
    spread[at].spread = h;
    const double change =
        line_through_zero({1, 2, 3}, moved)->zero.value - line_through_zero({1, 2, 3}, exact)->zero.value;
    EXPECT_NEAR(line_through_zero({1, 2, 3}, spread)->zero.spread, std::abs(change), 1e-3 * h);
  }
}

TEST_F(PionMass, NoLineWithoutASlope) {
  EXPECT_FALSE(line_through_zero({1}, {{1, 0}}));
  EXPECT_FALSE(line_through_zero({}, {}));
  EXPECT_FALSE(line_through_zero({1, 1}, {{1, 0}, {2, 0}}));
  EXPECT_FALSE(line_through_zero({1, 2}, {{2, 0}, {1, 0}}));
}

}  // namespace
}  // namespace quadrille
