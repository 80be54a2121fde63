// The 16-bit format: its bits, its bounds, its edge cases.
#include "core/numbers/half.h"
#include "core/numbers/half_words.h"

#include "core/random/random.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

namespace quadrille {
namespace {

TEST(Half, GoldenBits) {
  // x, n -> q = round-half-even(x * (32767 / n)); worked out by hand, so every backend can be held to them.
  struct Case {
    float x, n;
    std::int16_t q;
  };
  const Case cases[] = {
      {1.0f, 1.0f, 32767},   {-1.0f, 1.0f, -32767}, {0.0f, 1.0f, 0},     {0.5f, 1.0f, 16384},  // 16383.5 to even
      {0.25f, 1.0f, 8192},   {-0.5f, 1.0f, -16384}, {2.0f, 4.0f, 16384}, {3.0f, 4.0f, 24575},  // 24575.25
      {1e-5f, 1.0f, 0},      {1.6e-5f, 1.0f, 1},    {2.5f, 32767.0f, 2}, {3.5f, 32767.0f, 4},
      {-1.5f, 32767.0f, -2}, {0.5f, 32767.0f, 0},   {7.0f, 2.0f, 32767}, {32766.0f, 32767.0f, 32766},
  };
  for (const Case& c : cases) EXPECT_EQ(half::quantize(c.x, half::scale(c.n)), c.q) << c.x << " of " << c.n;
}

TEST(Half, NormIsTheLargestMagnitude) {
  const float x[] = {0.5f, -3.25f, 1e-30f, 3.0f};
  EXPECT_EQ(half::norm(x, 4), 3.25f);
  const float zero[] = {0.0f, -0.0f};
  EXPECT_EQ(half::norm(zero, 2), 0.0f);
  EXPECT_EQ(half::quantize(0.0f, half::scale(0.0f)), 0);
  const float tiny[] = {1e-36f, 0.0f};
  EXPECT_EQ(half::norm(tiny, 2), 0.0f) << "32767 / n would overflow";
  const float small[] = {0x1p-110f, 0.0f};
  EXPECT_EQ(half::quantize(small[0], half::scale(half::norm(small, 2))), 32767);
}

TEST(Half, NonFiniteComponentsMakeTheNormNotANumber) {
  for (float bad : {HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
    const float x[] = {1.0f, bad, 2.0f};
    EXPECT_TRUE(std::isnan(half::norm(x, 3)));
    EXPECT_EQ(half::quantize(bad, half::scale(half::norm(x, 3))), 0);
  }
}

TEST(Half, RoundTripIsWithinHalfAQuantum) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  double worst = 0;
  for (int trial = 0; trial < 10000; ++trial) {
    float x[24];
    const float size = float(std::exp(10 * random.normal()));
    for (float& c : x) c = size * float(random.normal());
    const float n = half::norm(x, 24);
    for (float c : x) {
      const double error =
          std::abs(double(half::restore(half::quantize(c, half::scale(n)), n)) - double(c)) / double(n);
      worst = std::max(worst, error);
    }
  }
  EXPECT_LT(worst, 0.5 / 32767 * 1.01);
  EXPECT_GT(worst, 0.4 / 32767);
}

TEST(HalfWords, AreTheFormatOfASite) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  for (int trial = 0; trial < 10000; ++trial) {
    const float x[] = {float(std::exp(10 * random.normal())), -float(std::exp(10 * random.normal()))};
    float norm = half::largest(half::largest(0.0f, x[0]), x[1]);
    ASSERT_EQ(norm, half::norm(x, 2));
    const float scale = half::quanta_of(norm);
    ASSERT_EQ(scale, half::scale(norm));
    const std::int16_t q[] = {half::quantize(x[0], scale), half::quantize(x[1], scale)};
    const unsigned word = half::packed(half::rounded(x[0], scale), half::rounded(x[1], scale));
    ASSERT_EQ(int(word & 0xffffu), q[0] + half::offset) << x[0] << ' ' << x[1];
    ASSERT_EQ(int(word >> 16), q[1] + half::offset) << x[0] << ' ' << x[1];
    ASSERT_EQ(half::whole<0>(word), float(q[0]));
    ASSERT_EQ(half::whole<1>(word), float(q[1]));
    const unsigned once = half::packed(half::rounded_once(x[0], scale), half::rounded_once(x[1], scale));
    ASSERT_LE(std::abs(half::whole<0>(once) - float(q[0])), 1);
    ASSERT_LE(std::abs(half::whole<1>(once) - float(q[1])), 1);
  }
}

TEST(HalfWords, SumsOfQuantaAreExact) {
  for (const int low : {-32767, -1, 0, 1, 255, 256, 32767}) {
    for (const int high : {-32767, -256, 0, 77, 32767}) {
      const unsigned word = half::packed(unsigned(low + half::offset), unsigned(high + half::offset));
      EXPECT_EQ(half::whole<0>(word), float(low));
      EXPECT_EQ(half::whole<1>(word), float(high));
      EXPECT_EQ(half::from_magic<2>(half::add<1, 1>(word, half::begin<0>(word))), float(low + high));
      EXPECT_EQ(half::from_magic<0>(half::add<1, -1>(word, half::begin<0>(word))), float(low - high));
      EXPECT_EQ(half::from_magic<0>(half::add<0, -1>(word, half::begin<1>(word))), float(high - low));
      EXPECT_EQ(half::from_magic<-1>(half::add<1, -1>(word, half::magic)), float(-high));
    }
  }
}

TEST(HalfWords, EdgesOfTheNormAreThoseOfTheFormat) {
  for (const float edge : {0.0f, 0x1p-111f, 0x1p-110f, 0x1.fffffep127f}) {
    float norm = edge;
    EXPECT_EQ(half::quanta_of(norm), half::scale(half::norm(&edge, 1)));
    EXPECT_EQ(norm, half::norm(&edge, 1));
  }
  for (float bad : {HUGE_VALF, std::nanf("")}) {
    float norm = half::largest(1.0f, bad);
    EXPECT_EQ(half::quanta_of(norm), 0.0f);
    EXPECT_TRUE(std::isnan(norm));
  }
}

}  // namespace
}  // namespace quadrille
