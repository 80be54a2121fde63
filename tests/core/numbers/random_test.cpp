// Philox against its authors' known answers; the distributions of what is made from it.
#include "core/random/random.h"

#include "tests/testing/random_seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quadrille {
namespace {

TEST(Philox, KnownAnswers) {
  // The vectors of the Random123 distribution (kat_vectors, philox4x32 10).
  using Four = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(SiteRandom, StreamsOfOtherSeedSitePurposeDiffer) {
  const std::uint64_t seed = testing::next_seed();
  SiteRandom a(seed, RandomPurpose::Test, 7), again(seed, RandomPurpose::Test, 7);
  SiteRandom other_seed(seed + (1ull << 40), RandomPurpose::Test, 7), other_site(seed, RandomPurpose::Test, 8),
      other_purpose(seed, RandomPurpose::HotLinks, 7);
  SiteRandom* const others[] = {&other_seed, &other_site, &other_purpose};
  int equal[3] = {};
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t x = a.integer();
    EXPECT_EQ(x, again.integer());
    for (int k = 0; k < 3; ++k) equal[k] += others[k]->integer() == x ? 1 : 0;
  }
  EXPECT_THAT(equal, ::testing::Each(::testing::Lt(3))) << "of 32 bits";
}

TEST(SiteRandom, MomentsOfUniformAndNormal) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  constexpr int n = 400000;
  double uniform = 0, square = 0, normal = 0, variance = 0, fourth = 0;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform(), g = random.normal();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    uniform += u / n;
    square += u * u / n;
    normal += g / n;
    variance += g * g / n;
    fourth += g * g * g * g / n;
  }
  const double sigma = 1 / std::sqrt(double(n));
  EXPECT_NEAR(uniform, 0.5, 6 * sigma * std::sqrt(1.0 / 12));
  EXPECT_NEAR(square, 1.0 / 3, 6 * sigma * std::sqrt(4.0 / 45));
  EXPECT_NEAR(normal, 0, 6 * sigma);
  EXPECT_NEAR(variance, 1, 6 * sigma * std::sqrt(2.0));
  EXPECT_NEAR(fourth, 3, 6 * sigma * std::sqrt(96.0));
}

}  // namespace
}  // namespace quadrille
