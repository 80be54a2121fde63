// Strip plans: what is held, what travels, and that the blocks and strips cover everything.
#include "modules/shared/dense/strip_plan.h"

#include "core/random/random.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

namespace quadrille {
namespace {

TEST(StripPlan, HoldsNoMoreThanItMayAndMovesWhatItSays) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  const auto size = [&](double most) { return 1 + std::int64_t(random.uniform() * most); };
  int found = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const ProductShape shape{size(3000), size(3000), size(3000)};
    const std::int64_t numbers = size(6e6);
    for (bool read_c : {false, true}) {
      const auto plan = plan_strips(shape, numbers, read_c);
      if (!plan) continue;
      ++found;
      EXPECT_LE(plan->held(), numbers);
      std::int64_t up = 0, down = 0, steps = 0;
      for (std::int64_t row = 0; row < shape.m; row += plan->rows) {
        const std::int64_t rows = std::min(plan->rows, shape.m - row);
        for (std::int64_t l = 0; l < shape.k; l += plan->depth) {
          const std::int64_t depth = std::min(plan->depth, shape.k - l);
          up += rows * depth;
          for (std::int64_t column = 0; column < shape.n; column += plan->columns, ++steps) {
            const std::int64_t columns = std::min(plan->columns, shape.n - column);
            up += depth * columns + (l > 0 || read_c ? rows * columns : 0);
            down += rows * columns;
          }
        }
      }
      EXPECT_EQ(double(up), plan->up(read_c));
      EXPECT_EQ(double(down), plan->down());
      EXPECT_EQ(steps, plan->steps());
    }
  }
  EXPECT_GT(found, 100);
}

/// With half of the matrices' size in memory each way is close to what 2 n^3 / sqrt(M) numbers of A and B take.
TEST(StripPlan, SquareMatricesInFourBlocks) {
  const std::int64_t n = 10048, numbers = (std::int64_t(256) << 20) / 8;
  const auto plan = plan_strips({n, n, n}, numbers, false);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->row_blocks(), 2);
  EXPECT_EQ(plan->depth_blocks(), 2);
  EXPECT_EQ(plan->longest_way(false), 4.0 * double(n) * double(n));
}

TEST(StripPlan, NothingForNothing) {
  EXPECT_FALSE(plan_strips({0, 5, 5}, 1000, false));
  EXPECT_FALSE(plan_strips({5, 5, 0}, 1000, false));
  EXPECT_FALSE(plan_strips({1000, 1000, 1000}, 100, false));
}

}  // namespace
}  // namespace quadrille
