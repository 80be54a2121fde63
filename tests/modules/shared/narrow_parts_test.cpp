// Numbers in narrow parts against the definition of the formats and the bounds of the header.
#include "modules/shared/dense/narrow_parts.h"

#include "core/random/random.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace quadrille::narrow {
namespace {

/// The value of 16 bits of the format with 11 significant bits, by its definition.
double half_value(unsigned bits) {
  const int exponent = int(bits >> 10 & 31u), fraction = int(bits & 1023u);
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000u) != 0 ? -magnitude : magnitude;
}

/// Numbers of all magnitudes in [-largest, largest], many of them near the edges of formats.
std::vector<double> numbers(double largest, std::int64_t count = 200000) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  std::vector<double> x{0.0, -0.0, largest, -largest, largest / 3, std::ldexp(largest, -60)};
  for (std::int64_t i = 0; i < count; ++i) {
    const double mantissa = 2 * random.uniform() - 1;
    const int exponent = i % 4 == 0 ? 0 : -int(60 * random.uniform());
    double y = std::ldexp(largest * mantissa, exponent);
    // Ties, and one unit beside them.
    if (i % 8 == 1) y = std::ldexp(std::floor(std::ldexp(y, 40)) + 0.5, -40);
    if (i % 16 == 2) y = double(std::bit_cast<float>(std::bit_cast<std::uint32_t>(float(y)) & 0xfffff000u));
    if (std::abs(y) <= largest) x.push_back(y);
  }
  return x;
}

TEST(NarrowParts, EveryHalfIsItself) {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    if ((bits & 0x7c00u) == 0x7c00u) continue;
    EXPECT_EQ(double(from_half(std::uint16_t(bits))), half_value(bits)) << bits;
    EXPECT_EQ(to_half(float(half_value(bits))), bits == 0x8000u ? 0x8000u : bits) << bits;
  }
  EXPECT_TRUE(std::isinf(from_half(to_half(65520.0f))));
  EXPECT_EQ(to_half(std::nextafter(65520.0f, 0.0f)), 0x7bffu);
  EXPECT_TRUE(std::isnan(from_half(to_half(std::numeric_limits<float>::quiet_NaN()))));
}

/// Between neighbouring halves the nearer one is taken, and in the middle the even one.
TEST(NarrowParts, HalvesAreTheNearest) {
  for (unsigned bits = 0; bits < 0x7bffu; ++bits) {
    const double low = half_value(bits), high = half_value(bits + 1), middle = (low + high) / 2;
    EXPECT_EQ(to_half(float(middle)), bits % 2 == 0 ? bits : bits + 1) << bits;
    EXPECT_EQ(to_half(std::nextafter(float(middle), 0.0f)), bits) << bits;
    EXPECT_EQ(to_half(std::nextafter(float(middle), 1e6f)), bits + 1) << bits;
    EXPECT_EQ(to_half(-float(middle)) & 0x7fffu, unsigned(to_half(float(middle))));
  }
}

template <class Format, int count>
void check_floats() {
  const double s = std::ldexp(1 + std::ldexp(1.0, 2 - Format::significant_bits), -Format::significant_bits);
  double most = 0;
  for (double x : numbers(Format::largest)) {
    typename Format::Element parts[count];
    FloatParts<Format, count>::encode(x, parts);
    long double sum = 0;
    for (int r = 0; r < count; ++r) {
      const double part = double(Format::decode(parts[r]));
      EXPECT_LE(std::abs(part), std::pow(s, r) * (1 + s) * std::abs(x) + 2 * Format::tiny) << x << ", part " << r;
      sum += static_cast<long double>(part);
    }
    const double error = double(std::abs(static_cast<long double>(x) - sum));
    EXPECT_LE(error, std::pow(s, count) * std::abs(x) + Format::tiny) << x;
    if (std::abs(x) > Format::largest / 4) most = std::max(most, error / std::abs(x));
  }
  // The bound is no wide one: a part errs by half of it on average, and seldom do all err much.
  EXPECT_GE(most, 0.1 * std::pow(s, count));
}

TEST(NarrowParts, TwoHalves) { check_floats<HalfFormat, 2>(); }
TEST(NarrowParts, OneSingle) { check_floats<SingleFormat, 1>(); }

template <int count>
void check_digits() {
  double most = 0;
  for (double x : numbers(1)) {
    std::int8_t digits[count];
    Digits<count>::encode(x, digits);
    long double sum = 0;
    for (int r = 0; r < count; ++r) sum += std::ldexp(static_cast<long double>(digits[r]), 8 * (count - 1 - r));
    sum = std::ldexp(sum, 2 - 8 * count);
    const double error = double(std::abs(static_cast<long double>(x) - sum));
    EXPECT_LE(error, std::ldexp(1.0, 1 - 8 * count)) << x;
    EXPECT_LE(std::abs(int(digits[0])), 65) << x;
    most = std::max(most, error);
    // What is a multiple of the last digit is kept whole.
    const double kept = std::ldexp(std::nearbyint(std::ldexp(x, 8 * count - 2)), 2 - 8 * count);
    EXPECT_EQ(double(sum), kept) << x;
  }
  EXPECT_GE(most, std::ldexp(0.9, 1 - 8 * count));
}

TEST(NarrowParts, DigitsAreExactUpToTheLast) {
  check_digits<2>();
  check_digits<3>();
  check_digits<4>();
  check_digits<5>();
  check_digits<6>();
}

TEST(NarrowParts, ExponentsAreAbove) {
  EXPECT_EQ(exponent_above(0), 0);
  EXPECT_EQ(exponent_above(1), 0);
  EXPECT_EQ(exponent_above(std::nextafter(1.0, 2.0)), 1);
  EXPECT_EQ(exponent_above(0.75), 0);
  EXPECT_EQ(exponent_above(0.5), -1);
  EXPECT_EQ(exponent_above(std::numeric_limits<double>::max()), 1024);
  EXPECT_EQ(exponent_above(1e-320), -1000);
}

}  // namespace
}  // namespace quadrille::narrow
