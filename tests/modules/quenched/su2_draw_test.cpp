// Drawn SU(2) matrices against their density, by both methods.
#define QUADRILLE_ISA unit_test
#include "modules/quenched/su2_draw.h"

#include "core/random.h"
#include "tests/random_seed.h"
#include "tests/reference/heatbath.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace quadrille::quenched {
namespace {

constexpr int lanes = 2;
constexpr std::uint32_t stream = random_stream(RandomPurpose::Test, 5);

struct Sample {
  std::vector<std::array<double, 4>> draws;
  DrawCounts<lanes> counts;
};

template <DrawMethod method>
Sample draw(double alpha, std::int64_t count, std::uint64_t seed) {
  Sample sample;
  for (std::int64_t first = 0; first < count; first += lanes) {
    alignas(16) const std::int64_t sites[lanes] = {first, first + 1};
    const simd::LaneRandom<lanes> random(seed, stream, sites);
    const Quaternion<lanes> a = draw_su2<lanes, method>(simd::broadcast<double, lanes>(alpha), random, sample.counts);
    for (int lane = 0; lane < lanes; ++lane) {
      sample.draws.push_back({a.a[0][lane], a.a[1][lane], a.a[2][lane], a.a[3][lane]});
    }
  }
  return sample;
}

std::int64_t total(Mask<lanes> mask) { return mask[0] + mask[1]; }

/// I_2(alpha) / I_1(alpha): the mean of a0.
double mean_a0(double alpha) { return alpha == 0 ? 0 : std::cyl_bessel_i(2.0, alpha) / std::cyl_bessel_i(1.0, alpha); }

/// The mean of 1 - a0^2.
double mean_length2(double alpha) { return alpha == 0 ? 0.75 : 3 * mean_a0(alpha) / alpha; }

/// sqrt(count) times the largest distance of the empirical distribution of a0 from that of the density
/// sqrt(1 - a0^2) exp(alpha a0) (Kolmogorov and Smirnov): above 3.2 with probability 3e-9.
double kolmogorov_smirnov(std::vector<double> a0, double alpha) {
  std::sort(a0.begin(), a0.end());
  // With a0 = -cos(theta) the density is sin^2(theta) exp(alpha a0): the trapezoidal rule on a fine grid.
  constexpr int steps = 1 << 18;
  const auto density = [&](int n) {
    const double theta = std::numbers::pi * n / steps;
    return std::sin(theta) * std::sin(theta) * std::exp(-alpha * (1 + std::cos(theta)));
  };
  double whole = 0;
  for (int n = 0; n < steps; ++n) whole += (density(n) + density(n + 1)) / 2;
  double below = 0, largest = 0;
  const double count = double(a0.size());
  int done = 0;
  for (std::size_t i = 0; i < a0.size(); ++i) {
    const int wanted = int(std::acos(-a0[i]) / std::numbers::pi * steps);
    for (; done < wanted; ++done) below += (density(done) + density(done + 1)) / 2;
    const double exact = below / whole;
    largest = std::max({largest, std::abs(exact - double(i) / count), std::abs(exact - double(i + 1) / count)});
  }
  return largest * std::sqrt(count);
}

/// Compares an average with what it should be, at six standard errors.
template <class Function>
void expect_mean(const Sample& sample, double expected, const char* what, double alpha, Function f) {
  double sum = 0, squares = 0;
  for (const auto& a : sample.draws) {
    const double value = f(a);
    sum += value;
    squares += value * value;
  }
  const double n = double(sample.draws.size()), mean = sum / n;
  EXPECT_NEAR(mean, expected, 6 * std::sqrt((squares / n - mean * mean) / n) + 1e-14) << what << ", alpha " << alpha;
}

template <DrawMethod method>
void check_distribution(double alpha) {
  const Sample sample = draw<method>(alpha, 200000, testing::next_seed());
  std::vector<double> a0;
  for (const auto& a : sample.draws) {
    a0.push_back(a[0]);
    EXPECT_NEAR(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3], 1, 1e-14);
  }
  EXPECT_LT(kolmogorov_smirnov(a0, alpha), 3.2) << "alpha " << alpha;
  expect_mean(sample, mean_a0(alpha), "a0", alpha, [](const auto& a) { return a[0]; });
  expect_mean(sample, 1 - mean_length2(alpha), "a0^2", alpha, [](const auto& a) { return a[0] * a[0]; });
  for (std::size_t i = 1; i < 4; ++i) {
    expect_mean(sample, 0, "a_i", alpha, [i](const auto& a) { return a[i]; });
    expect_mean(sample, mean_length2(alpha) / 3, "a_i^2", alpha, [i](const auto& a) { return a[i] * a[i]; });
    for (std::size_t j = 0; j < i; ++j) {
      expect_mean(sample, 0, "a_i a_j", alpha, [i, j](const auto& a) { return a[i] * a[j]; });
    }
  }
}

TEST(Su2Draw, TheDistributionIsThatOfTheDensity) {
  for (double alpha : {0.0, 0.3, 1.67, 1.69, 4.0, 15.0, 90.0}) check_distribution<DrawMethod::automatic>(alpha);
}

TEST(Su2Draw, KennedyPendletonAlone) {
  for (double alpha : {0.8, 2.0, 300.0}) check_distribution<DrawMethod::kennedy_pendleton>(alpha);
}

TEST(Su2Draw, CreutzAlone) {
  for (double alpha : {1e-160, 1e-9, 1.0, 6.0}) check_distribution<DrawMethod::creutz>(alpha);
}

/// The probabilities that an attempt is accepted, from the integrals of the densities: pi I_1(alpha) / alpha is that of
/// sqrt(1 - a0^2) exp(alpha a0).
double kennedy_pendleton_acceptance(double alpha) {
  return std::sqrt(2 * std::numbers::pi * alpha) * std::cyl_bessel_i(1.0, alpha) * std::exp(-alpha);
}
double creutz_acceptance(double alpha) {
  return std::numbers::pi * std::cyl_bessel_i(1.0, alpha) / (2 * std::sinh(alpha));
}

TEST(Su2Draw, AcceptanceIsTheRatioOfTheDensities) {
  const auto acceptance = [](const Sample& sample) {
    return double(total(sample.counts.draws)) / double(total(sample.counts.attempts));
  };
  constexpr std::int64_t count = 100000;
  const auto check = [&](const Sample& sample, double expected) {
    EXPECT_EQ(total(sample.counts.draws), count);
    EXPECT_NEAR(acceptance(sample), expected, 6 * std::sqrt(expected * (1 - expected) / count));
  };
  for (double alpha : {1.0, 3.0, 12.0}) {
    check(draw<DrawMethod::kennedy_pendleton>(alpha, count, testing::next_seed()), kennedy_pendleton_acceptance(alpha));
    check(draw<DrawMethod::creutz>(alpha, count, testing::next_seed()), creutz_acceptance(alpha));
  }
  for (double alpha : {0.0, creutz_below - 0.01, creutz_below + 0.01}) {
    const Sample sample = draw<DrawMethod::automatic>(alpha, count, testing::next_seed());
    const bool creutz = alpha < creutz_below;
    EXPECT_EQ(total(sample.counts.creutz_draws), creutz ? count : 0);
    EXPECT_EQ(total(sample.counts.creutz_attempts), creutz ? total(sample.counts.attempts) : 0);
    EXPECT_GT(acceptance(sample), 0.7) << alpha;
  }
  EXPECT_NEAR(creutz_acceptance(creutz_below), kennedy_pendleton_acceptance(creutz_below), 0.003);
}

TEST(Su2Draw, EveryLaneIsTheScalarReference) {
  const std::uint64_t seed = testing::next_seed();
  for (double alpha : {0.0, 1e-9, 0.7, 1.5, 1.7, 5.0, 20.0, 1e5}) {
    const Sample sample = draw<DrawMethod::automatic>(alpha, 2000, seed);
    for (std::size_t site = 0; site < sample.draws.size(); ++site) {
      SiteRandom random(seed, RandomPurpose::Test, std::int64_t(site), 5);
      const auto expected = reference::draw_su2(alpha, random);
      for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(sample.draws[site][i], expected[i], 2e-13) << "alpha " << alpha;
    }
  }
}

TEST(Su2Draw, LanesMixMethods) {
  alignas(16) const std::int64_t sites[lanes] = {3, 1234567890123};
  const std::uint64_t seed = testing::next_seed();
  DrawCounts<lanes> counts;
  const Real<lanes> alpha = {0.5, 9.0};
  const Quaternion<lanes> a = draw_su2<lanes>(alpha, simd::LaneRandom<lanes>(seed, stream, sites), counts);
  for (int lane = 0; lane < lanes; ++lane) {
    SiteRandom random(seed, RandomPurpose::Test, sites[lane], 5);
    const auto expected = reference::draw_su2(alpha[lane], random);
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(a.a[i][lane], expected[std::size_t(i)], 1e-14);
  }
  EXPECT_EQ(total(counts.draws), 2);
  EXPECT_EQ(total(counts.creutz_draws), 1);
}

TEST(Su2Draw, ABrokenFieldEndsTheLoop) {
  alignas(16) const std::int64_t sites[lanes] = {0, 1};
  DrawCounts<lanes> counts;
  for (double bad : {std::nan(""), HUGE_VAL}) {
    const Real<lanes> alpha = {bad, 2.0};
    const Quaternion<lanes> a = draw_su2<lanes>(alpha, simd::LaneRandom<lanes>(1, stream, sites), counts);
    EXPECT_TRUE(std::isnan(a.a[0][0]));
    EXPECT_TRUE(std::abs(a.a[0][1]) <= 1);
  }
}

TEST(SimdRandom, UniformsAreThoseOfTheSites) {
  const std::uint64_t seed = testing::next_seed();
  alignas(16) const std::int64_t sites[lanes] = {77, (std::int64_t(1) << 47) + 5};
  const simd::LaneRandom<lanes> random(seed, stream, sites);
  SiteRandom scalar[lanes] = {SiteRandom(seed, RandomPurpose::Test, sites[0], 5),
                              SiteRandom(seed, RandomPurpose::Test, sites[1], 5)};
  for (std::uint32_t block = 0; block < 50; ++block) {
    Real<lanes> first, second;
    random.uniforms(block, first, second);
    for (int lane = 0; lane < lanes; ++lane) {
      EXPECT_EQ(first[lane], scalar[lane].uniform());
      EXPECT_EQ(second[lane], scalar[lane].uniform());
    }
  }
}

TEST(SimdLog, AgreesWithTheLibrary) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  const auto check = [](double x) {
    const double value = simd::log<lanes>(Real<lanes>{x, 1.0})[0];
    EXPECT_NEAR(value, std::log(x), 4e-16 * std::abs(std::log(x))) << x;
  };
  for (double x : {1.0, 0x1p-53, 1 - 0x1p-53, std::sqrt(0.5), std::sqrt(2.0), 0.7, 1.5, 1e300, 3e-308}) check(x);
  for (int n = 0; n < 100000; ++n) {
    check(1 - random.uniform());
    check(1 - random.uniform() * 1e-6);
    check(std::exp(600 * random.uniform() - 300));
  }
}

}  // namespace
}  // namespace quadrille::quenched
