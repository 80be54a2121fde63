// Drawn SU(2) matrices against their density, by both methods.
#define QUADRILLE_ISA unit_test
#include "modules/quenched/updates/su2_draw.h"

#include "core/random/random.h"
#include "tests/reference/heatbath.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace quadrille::quenched {
namespace {

template <class T>
constexpr int lanes = 16 / int(sizeof(T));
constexpr std::uint32_t stream = random_stream(RandomPurpose::Test, 5);

/// Draws in double and in float are held to the same integrals.
template <class T>
class Su2Draw : public ::testing::Test {};
using Numbers = ::testing::Types<double, float>;
TYPED_TEST_SUITE(Su2Draw, Numbers);

/// Totals over lanes.
struct Counts {
  std::int64_t attempts = 0, creutz_attempts = 0, creutz_draws = 0, draws = 0;
};

struct Sample {
  std::vector<std::array<double, 4>> draws;
  Counts counts;
};

template <class T>
Counts total(const DrawCounts<T, lanes<T>>& counts) {
  Counts sum;
  for (int lane = 0; lane < lanes<T>; ++lane) {
    sum.attempts += counts.attempts[lane];
    sum.creutz_attempts += counts.creutz_attempts[lane];
    sum.creutz_draws += counts.creutz_draws[lane];
    sum.draws += counts.draws[lane];
  }
  return sum;
}

template <class T, DrawMethod method>
Sample draw(double alpha, std::int64_t count, std::uint64_t seed) {
  constexpr int V = lanes<T>;
  Sample sample;
  DrawCounts<T, V> counts;
  for (std::int64_t first = 0; first < count; first += V) {
    std::int64_t sites[V];
    for (int lane = 0; lane < V; ++lane) sites[lane] = first + lane;
    const simd::LaneRandom<T, V> random(seed, stream, sites);
    const Quaternion<T, V> a = draw_su2<T, V, method>(simd::broadcast<T, V>(T(alpha)), random, counts);
    for (int lane = 0; lane < V; ++lane) {
      sample.draws.push_back({a.a[0][lane], a.a[1][lane], a.a[2][lane], a.a[3][lane]});
    }
  }
  sample.counts = total<T>(counts);
  return sample;
}

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

template <class T, DrawMethod method>
void check_distribution(double alpha) {
  const Sample sample = draw<T, method>(alpha, 200000, testing::next_seed());
  std::vector<double> a0;
  for (const auto& a : sample.draws) {
    a0.push_back(a[0]);
    EXPECT_NEAR(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3], 1, sizeof(T) == 8 ? 1e-14 : 1e-6);
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

TYPED_TEST(Su2Draw, TheDistributionIsThatOfTheDensity) {
  for (double alpha : {0.0, 0.3, 1.67, 1.69, 4.0, 15.0, 90.0})
    check_distribution<TypeParam, DrawMethod::automatic>(alpha);
}

TYPED_TEST(Su2Draw, KennedyPendletonAlone) {
  for (double alpha : {0.8, 2.0, 300.0}) check_distribution<TypeParam, DrawMethod::kennedy_pendleton>(alpha);
}

TYPED_TEST(Su2Draw, CreutzAlone) {
  for (double alpha : {sizeof(TypeParam) == 8 ? 1e-160 : 1e-35, 1e-9, 1.0, 6.0})
    check_distribution<TypeParam, DrawMethod::creutz>(alpha);
}

/// The probabilities that an attempt is accepted, from the integrals of the densities: pi I_1(alpha) / alpha is that of
/// sqrt(1 - a0^2) exp(alpha a0).
double kennedy_pendleton_acceptance(double alpha) {
  return std::sqrt(2 * std::numbers::pi * alpha) * std::cyl_bessel_i(1.0, alpha) * std::exp(-alpha);
}
double creutz_acceptance(double alpha) {
  return std::numbers::pi * std::cyl_bessel_i(1.0, alpha) / (2 * std::sinh(alpha));
}

TYPED_TEST(Su2Draw, AcceptanceIsTheRatioOfTheDensities) {
  const auto acceptance = [](const Sample& sample) {
    return double(sample.counts.draws) / double(sample.counts.attempts);
  };
  constexpr std::int64_t count = 100000;
  const auto check = [&](const Sample& sample, double expected) {
    EXPECT_EQ(sample.counts.draws, count);
    EXPECT_NEAR(acceptance(sample), expected, 6 * std::sqrt(expected * (1 - expected) / count));
  };
  for (double alpha : {1.0, 3.0, 12.0}) {
    check(draw<TypeParam, DrawMethod::kennedy_pendleton>(alpha, count, testing::next_seed()),
          kennedy_pendleton_acceptance(alpha));
    check(draw<TypeParam, DrawMethod::creutz>(alpha, count, testing::next_seed()), creutz_acceptance(alpha));
  }
  for (double alpha : {0.0, creutz_below - 0.01, creutz_below + 0.01}) {
    const Sample sample = draw<TypeParam, DrawMethod::automatic>(alpha, count, testing::next_seed());
    const bool creutz = alpha < creutz_below;
    EXPECT_EQ(sample.counts.creutz_draws, creutz ? count : 0);
    EXPECT_EQ(sample.counts.creutz_attempts, creutz ? sample.counts.attempts : 0);
    EXPECT_GT(acceptance(sample), 0.7) << alpha;
  }
  EXPECT_NEAR(creutz_acceptance(creutz_below), kennedy_pendleton_acceptance(creutz_below), 0.003);
}

// In float rounding may turn an attempt that double accepts into one that it does not, about once in 10^7 draws; and it
// moves a short imaginary part, sqrt(delta (2 - delta)), by more than a0.
TYPED_TEST(Su2Draw, EveryLaneIsTheScalarReference) {
  const std::uint64_t seed = testing::next_seed();
  const double tolerance = sizeof(TypeParam) == 8 ? 2e-13 : 2e-5;
  int differ = 0;
  for (double alpha : {0.0, 1e-9, 0.7, 1.5, 1.7, 5.0, 20.0, 1e5}) {
    const Sample sample = draw<TypeParam, DrawMethod::automatic>(alpha, 2000, seed);
    for (std::size_t site = 0; site < sample.draws.size(); ++site) {
      SiteRandom random(seed, RandomPurpose::Test, std::int64_t(site), 5);
      const auto expected = reference::draw_su2(double(TypeParam(alpha)), random);
      double distance = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        distance = std::max(distance, std::abs(sample.draws[site][i] - expected[i]));
      }
      if (!(distance < tolerance)) ++differ;
    }
  }
  EXPECT_LE(differ, sizeof(TypeParam) == 8 ? 0 : 3);
}

TYPED_TEST(Su2Draw, LanesMixMethods) {
  constexpr int V = lanes<TypeParam>;
  std::int64_t sites[V];
  simd::Vec<TypeParam, V> alpha;
  for (int lane = 0; lane < V; ++lane) {
    sites[lane] = 3 + 1234567890120 * lane;
    alpha[lane] = lane % 2 == 0 ? TypeParam(0.5) : TypeParam(9);
  }
  const std::uint64_t seed = 20250711;  // fixed: no attempt may lie where rounding decides
  DrawCounts<TypeParam, V> counts;
  const Quaternion<TypeParam, V> a =
      draw_su2<TypeParam, V>(alpha, simd::LaneRandom<TypeParam, V>(seed, stream, sites), counts);
  for (int lane = 0; lane < V; ++lane) {
    SiteRandom random(seed, RandomPurpose::Test, sites[lane], 5);
    const auto expected = reference::draw_su2(double(alpha[lane]), random);
    const double tolerance = sizeof(TypeParam) == 8 ? 1e-14 : 1e-5;
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(a.a[i][lane], expected[std::size_t(i)], tolerance);
  }
  EXPECT_EQ(total<TypeParam>(counts).draws, V);
  EXPECT_EQ(total<TypeParam>(counts).creutz_draws, V / 2);
}

TYPED_TEST(Su2Draw, ABrokenFieldEndsTheLoop) {
  constexpr int V = lanes<TypeParam>;
  std::int64_t sites[V] = {};
  DrawCounts<TypeParam, V> counts;
  for (TypeParam bad : {TypeParam(std::nan("")), TypeParam(HUGE_VAL)}) {
    auto alpha = simd::broadcast<TypeParam, V>(2);
    alpha[0] = bad;
    const Quaternion<TypeParam, V> a =
        draw_su2<TypeParam, V>(alpha, simd::LaneRandom<TypeParam, V>(1, stream, sites), counts);
    EXPECT_TRUE(std::isnan(a.a[0][0]));
    EXPECT_TRUE(std::abs(a.a[0][1]) <= 1);
  }
}

TEST(SimdRandom, UniformsAreThoseOfTheSites) {
  const std::uint64_t seed = testing::next_seed();
  const std::int64_t sites[4] = {77, (std::int64_t(1) << 47) + 5, 0, 12345678};
  const simd::LaneRandom<double, 2> random(seed, stream, sites);
  const simd::LaneRandom<float, 4> floats(seed, stream, sites);
  std::vector<SiteRandom> scalar;
  for (std::int64_t site : sites) scalar.emplace_back(seed, RandomPurpose::Test, site, 5);
  for (std::uint32_t block = 0; block < 50; ++block) {
    simd::Vec<double, 2> u[2], rest[2];
    simd::Vec<float, 4> f[2], f_rest[2];
    random.uniforms(block, u[0], u[1]);
    random.complements(block, rest[0], rest[1]);
    floats.uniforms(block, f[0], f[1]);
    floats.complements(block, f_rest[0], f_rest[1]);
    for (int lane = 0; lane < 4; ++lane) {
      for (int k = 0; k < 2; ++k) {
        const double expected = scalar[std::size_t(lane)].uniform();
        if (lane < 2) {
          EXPECT_EQ(u[k][lane], expected);
          EXPECT_EQ(rest[k][lane], 1 - expected);
        }
        // Rounding of float, and the bits that are left out.
        EXPECT_NEAR(f[k][lane], expected, 0x1p-24 * expected + 0x1p-31);
        EXPECT_NEAR(f_rest[k][lane], 1 - expected, 0x1p-23 * (1 - expected) + 0x1p-32);
        EXPECT_GT(f_rest[k][lane], 0);
      }
    }
  }
}

template <class T>
void check_log(double x, double units) {
  constexpr int V = lanes<T>;
  auto v = simd::broadcast<T, V>(1);
  v[0] = T(x);
  const simd::Vec<T, V> found = simd::log<T, V>(v);
  const double expected = std::log(double(T(x)));
  EXPECT_NEAR(found[0], expected, units * double(std::numeric_limits<T>::epsilon()) * std::abs(expected)) << x;
  EXPECT_EQ(found[1], 0);
}

TEST(SimdLog, AgreesWithTheLibrary) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  const auto check = [](double x) {
    check_log<double>(x, 1.8);
    if (x > 1e-37 && x < 1e38) check_log<float>(x, 2.5);
  };
  for (double x : {1.0, 0x1p-53, 1 - 0x1p-53, std::sqrt(0.5), std::sqrt(2.0), 0.7, 1.5, 1e300, 3e-308}) check(x);
  for (double x : {0x1p-32, 1 - 0x1p-24, 1 + 0x1p-23}) check(x);
  for (int n = 0; n < 100000; ++n) {
    check(1 - random.uniform());
    check(1 - random.uniform() * 1e-6);
    check(std::exp(600 * random.uniform() - 300));
  }
}

}  // namespace
}  // namespace quadrille::quenched
