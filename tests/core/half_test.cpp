// The 16-bit format: its bits, its bounds, its edge cases.
#include "core/half.h"

#include "core/random.h"
#include "tests/random_seed.h"

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

}  // namespace
}  // namespace quadrille
