// The tests of core/accumulators, for vectors of the baseline (accumulators_test.cpp) and for one lane, as a device's
// thread computes (accumulators_scalar_test.cpp).
#pragma once

#include "core/accumulators/policies.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace quadrille::accumulators::inline QUADRILLE_ISA {
namespace {

#ifdef QUADRILLE_SCALAR_LANES
constexpr int V = 1;
#define QUADRILLE_ACCUMULATORS AccumulatorsOfOneLane
#else
constexpr int V = 4;
#define QUADRILLE_ACCUMULATORS AccumulatorsOfVectors
#endif

using Terms = std::vector<float>;
using Floats = simd::Vec<float, V>;
using Narumi = NarumiSum<V, Conversion::instruction>;
using NarumiByConstant = NarumiSum<V, Conversion::added_constant>;

/// Magnitudes from 2^low to 2^high, either sign.
Terms random_terms(std::size_t count, int low, int high) {
  std::mt19937_64 random(testing::next_seed());
  std::uniform_real_distribution<double> exponent(low, high);
  Terms terms(count);
  for (float& y : terms) y = float(std::exp2(exponent(random)) * (random() % 2 == 0 ? 1 : -1));
  return terms;
}

/// All lanes sum the same terms, every second with the opposite sign.
template <class Sum>
Sum summed(const Terms& terms, int interval = carry_interval) {
  Sum sum;
  sum.clear();
  int since = 0;
  for (const float y : terms) {
    simd::Vec<typename Sum::Real, V> lanes{};
    for (int lane = 0; lane < V; ++lane) simd::set_lane<typename Sum::Real, V>(lanes, lane, lane % 2 == 0 ? y : -y);
    sum.add(lanes);
    if (++since == interval) {
      sum.carry(since);
      since = 0;
    }
  }
  sum.carry(since);
  return sum;
}

template <class Sum>
double value_of(const Terms& terms) {
  const Sum sum = summed<Sum>(terms);
  for (int lane = 1; lane < V; ++lane) EXPECT_EQ(sum.value(lane), lane % 2 == 0 ? sum.value(0) : -sum.value(0));
  return sum.value(0);
}

/// Terms of magnitudes between 2^-60 and 2^45 as multiples of 2^-84, modulo 2^128.
unsigned __int128 exact_total(const Terms& terms) {
  unsigned __int128 total = 0;
  for (const float y : terms) total += (unsigned __int128)(__int128(std::ldexp(double(y), 84 - 60))) << 60;
  return total;
}
__int128 exact_fine(const Terms& terms) {  // of magnitudes from 2^-20 to 2^20, as multiples of 2^-44
  __int128 total = 0;
  for (const float y : terms) total += __int128(std::ldexp(double(y), 44));
  return total;
}

double magnitude(const Terms& terms) {
  double total = 0;
  for (const float y : terms) total += std::abs(double(y));
  return total;
}

TEST(QUADRILLE_ACCUMULATORS, SumsOfTwoAreExact) {
  const Terms a = random_terms(20000, -15, 15), b = random_terms(20000, -15, 15);
  int rounded_away = 0;
  for (std::size_t n = 0; n < a.size(); ++n) {
    const long double exact = static_cast<long double>(a[n]) + static_cast<long double>(b[n]);
    const auto value = [](const FloatPair<V>& pair) {
      return static_cast<long double>(simd::lane_of<float, V>(pair.high, V - 1)) +
             static_cast<long double>(simd::lane_of<float, V>(pair.low, V - 1));
    };
    const Floats x = simd::broadcast<float, V>(a[n]), y = simd::broadcast<float, V>(b[n]);
    const FloatPair<V> any = exact_sum<V>(x, y);
    ASSERT_EQ(value(any), exact) << a[n] << " + " << b[n];
    ASSERT_EQ((simd::lane_of<float, V>(any.high, 0)), float(exact));
    if ((simd::lane_of<float, V>(any.low, 0)) != 0) ++rounded_away;
    const bool ordered = std::abs(a[n]) >= std::abs(b[n]);
    ASSERT_EQ(value(ordered ? ordered_sum<V>(x, y) : ordered_sum<V>(y, x)), exact) << a[n] << " + " << b[n];
  }
  EXPECT_GT(rounded_away, 15000);
}

// A compiler that contracts turns a product that is summed into one rounding.
TEST(QUADRILLE_ACCUMULATORS, ProductsThatAreSummedRoundTwice) {
  const Terms a = random_terms(2000, -1, 1), b = random_terms(2000, -1, 1), c = random_terms(2000, -1, 1);
  int differ = 0;
  for (std::size_t n = 0; n < a.size(); ++n) {
    const float product = float(double(a[n]) * double(b[n]));  // rounded once: 48 bits fit a double
    const float expected = float(double(product) + double(c[n]));
    const Floats found =
        rounded::sum(rounded::product(simd::broadcast<float, V>(a[n]), simd::broadcast<float, V>(b[n])),
                     simd::broadcast<float, V>(c[n]));
    ASSERT_EQ((simd::lane_of<float, V>(found, 0)), expected);
    if (std::fma(a[n], b[n], c[n]) != expected) ++differ;
  }
  EXPECT_GT(differ, 100);
}

TEST(QUADRILLE_ACCUMULATORS, PlainSumsAreLoops) {
  const Terms terms = random_terms(5000, -20, 20);
  volatile float single = 0;
  volatile double wide = 0;
  for (const float y : terms) {
    single = single + y;
    wide = wide + double(y);
  }
  EXPECT_EQ((value_of<PlainSum<float, V>>(terms)), double(single));
  EXPECT_EQ((value_of<WideSum<V>>(terms)), wide);
}

// Figure 6 of the paper, line by line.
TEST(QUADRILLE_ACCUMULATORS, GatheredPairsAreFigureSix) {
  const Terms terms = random_terms(5000, 20, 40);
  for (const float large : {0.0f, 0x1.8p48f}) {
    volatile float hs = large, ls = 0;
    for (const float y : terms) {
      volatile float z = hs + y, w = z - hs, zz = y - w;
      hs = z;
      ls = ls + zz;
    }
    volatile float high = hs - large;
    const double expected = double(high) + double(ls);
    EXPECT_EQ((large == 0 ? value_of<GatheredPairSum<V, false>>(terms) : value_of<GatheredPairSum<V, true>>(terms)),
              expected);
  }
}

TEST(QUADRILLE_ACCUMULATORS, NormalizedPairsKeepFortySevenBits) {
  const Terms terms = random_terms(100000, -20, 20);
  const double error = std::abs(
      std::ldexp(double(exact_fine(terms) - __int128(std::ldexp(value_of<NormalizedPairSum<V>>(terms), 44))), -44));
  EXPECT_LE(error, std::ldexp(double(terms.size()) * magnitude(terms), -47));
  EXPECT_LT(error, 1e-4 * std::abs(value_of<PlainSum<float, V>>(terms) - value_of<WideSum<V>>(terms)));
}

template <class Sum>
void expect_fixed_point(int low, int high, double quanta_a_term) {
  Terms terms = random_terms(20000, low, high);
  const Sum sum = summed<Sum>(terms);
  ASSERT_FALSE(sum.strayed(0));
  const double exact =
      std::ldexp(double(__int128(exact_total(terms) - ((unsigned __int128)(__int128(sum.quanta(0))) << 84))), -84);
  EXPECT_LE(std::abs(exact), quanta_a_term * double(terms.size()));
  EXPECT_LE(std::abs(exact), 5 * quanta_a_term * std::sqrt(double(terms.size())));
  for (int lane = 1; lane < V; ++lane) EXPECT_EQ(sum.quanta(lane), lane % 2 == 0 ? sum.quanta(0) : -sum.quanta(0));
  // Any order gives the same bits, opposite terms cancel.
  std::mt19937_64 random(testing::next_seed());
  std::shuffle(terms.begin(), terms.end(), random);
  EXPECT_EQ(summed<Sum>(terms).quanta(0), sum.quanta(0));
  EXPECT_EQ(summed<Sum>(terms, 7).quanta(0), sum.quanta(0));
  Terms both = terms;
  for (const float y : terms) both.push_back(-y);
  std::shuffle(both.begin(), both.end(), random);
  EXPECT_EQ(summed<Sum>(both).quanta(0), 0);
}

TEST(QUADRILLE_ACCUMULATORS, FixedPointIsExactToHalfAQuantumInAnyOrder) {
  expect_fixed_point<Narumi>(-12, 38, 0.5);
  expect_fixed_point<NarumiByConstant>(-12, 36, 0.5);
  expect_fixed_point<LongFixedSum<V>>(-12, 45, 0.5);
}

// Halves of the high part's unit: which way it is rounded depends on the sum so far, the total does not.
TEST(QUADRILLE_ACCUMULATORS, TiesCancelToo) {
  Terms terms;
  for (int n = 0; n < 1001; ++n)
    terms.insert(terms.end(), {0x1p24f, 0x1p25f * float(n % 3), -0x1p24f, -0x1p25f * float(n % 3)});
  std::mt19937_64 random(testing::next_seed());
  std::shuffle(terms.begin(), terms.end(), random);
  EXPECT_EQ(summed<Narumi>(terms).quanta(0), 0);
  for (float& y : terms) y *= 0.25f;
  EXPECT_EQ(summed<NarumiByConstant>(terms).quanta(0), 0);
  EXPECT_EQ(summed<LongFixedSum<V>>(terms).quanta(0), 0);
}

// Figure 8 carries every 128 terms; 128 forces of 0.125, half a unit of its high part, make its integer -2^31.
TEST(QUADRILLE_ACCUMULATORS, TheCarryComesBeforeTheIntegerOverflows) {
  const Terms terms(128, 0x1p24f);  // 0.125 in quanta of LARGE_SHIFT 21
  EXPECT_EQ(std::ldexp(double(summed<Narumi>(terms).quanta(0)), -27), 16);
  EXPECT_EQ(std::ldexp(double(summed<Narumi>(terms, 128).quanta(0)), -27), -16);
  EXPECT_EQ(summed<Narumi>(Terms(1 << 16, 0x1p24f)).quanta(0), std::int64_t(1) << 40);
}

template <class Sum>
void expect_overflow_noticed(int most) {
  const float largest = std::ldexp(1.0f, Sum::term_exponent);
  EXPECT_FALSE(summed<Sum>(Terms(1 << most, largest)).strayed(0));
  EXPECT_EQ(summed<Sum>(Terms(1 << most, largest)).quanta(0), std::int64_t(largest) << most);
  EXPECT_TRUE(summed<Sum>(Terms((1 << (most + 1)) + 64, largest)).strayed(0));
  // Also where the sum comes back.
  Terms there_and_back(1 << (most + 1), largest);
  there_and_back.resize(there_and_back.size() + carry_interval, largest);
  there_and_back.resize(2 * there_and_back.size(), -largest);
  EXPECT_TRUE(summed<Sum>(there_and_back).strayed(0));
}

TEST(QUADRILLE_ACCUMULATORS, OverflowIsNoticed) {
  expect_overflow_noticed<Narumi>(6);
  expect_overflow_noticed<NarumiByConstant>(6);
  expect_overflow_noticed<LongFixedSum<V>>(17);
  EXPECT_TRUE(summed<Narumi>(Terms(3, NAN)).strayed(0));
  EXPECT_TRUE(summed<Narumi>(Terms(3, INFINITY)).strayed(0));
}

TEST(QUADRILLE_ACCUMULATORS, LargestMagnitudesKeepNaN) {
  const auto larger = [](float a, float b) {
    return simd::lane_of<float, V>(
        rounded::larger_magnitude<V>(simd::broadcast<float, V>(a), simd::broadcast<float, V>(b)), 0);
  };
  EXPECT_EQ(larger(-3, 2), 3);
  EXPECT_EQ(larger(1, 2), 2);
  EXPECT_TRUE(std::isnan(larger(NAN, 2)));
  EXPECT_TRUE(std::isnan(larger(2, NAN)));
  EXPECT_EQ(larger(-INFINITY, 2), INFINITY);
}

}  // namespace
}  // namespace quadrille::accumulators::inline QUADRILLE_ISA
