#include "modules/shared/study/take_turns.h"

#include <gtest/gtest.h>

namespace quadrille {
namespace {

TEST(TakeTurns, EverySecondTimeBackwards) {
  std::vector<std::size_t> calls;
  take_turns(3, 3, [&](std::size_t which) { calls.push_back(which); });
  EXPECT_EQ(calls, (std::vector<std::size_t>{0, 1, 2, 2, 1, 0, 0, 1, 2}));
}

TEST(TakeTurns, Median) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({5, 1, 90}), 5);
  EXPECT_EQ(median({8, 1, 90, 5}), 6.5);
}

}  // namespace
}  // namespace quadrille
