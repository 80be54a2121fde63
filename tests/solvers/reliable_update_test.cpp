#include "solvers/reliable_update.h"

#include <gtest/gtest.h>

#include <limits>

namespace quadrille {
namespace {

TEST(ReliableUpdate, DueBelowDeltaTimesTheLargestResidual) {
  ReliableUpdate update(0.1, 1e-12);
  update.reset(1);
  EXPECT_FALSE(update.due(0.5));
  EXPECT_FALSE(update.due(0.1));
  EXPECT_TRUE(update.due(0.0999));
}

TEST(ReliableUpdate, RemembersTheLargestSinceTheLastUpdate) {
  ReliableUpdate update(0.1, 1e-12);
  update.reset(1);
  EXPECT_FALSE(update.due(20));
  EXPECT_TRUE(update.due(1.9)) << "a peak in between carries rounding errors of its own size";
  update.reset(1.9);
  EXPECT_FALSE(update.due(1.8)) << "the peak belongs to the group before";
  EXPECT_FALSE(update.due(0.2));
  EXPECT_TRUE(update.due(0.18));
}

TEST(ReliableUpdate, DueAtTheTarget) {
  ReliableUpdate update(0.1, 0.5);
  update.reset(1);
  EXPECT_FALSE(update.due(0.51));
  EXPECT_TRUE(update.due(0.5));
  update.reset(0.6);  // the true residual still misses
  EXPECT_FALSE(update.due(0.55));
  EXPECT_TRUE(update.due(0.45));
}

TEST(ReliableUpdate, DeltaZeroMeansNever) {
  ReliableUpdate update(0, 0.5);
  EXPECT_FALSE(update.enabled());
  update.reset(1);
  EXPECT_FALSE(update.due(0.4));
  EXPECT_FALSE(update.due(0));
  EXPECT_TRUE(ReliableUpdate(0.9, 0).enabled());
}

TEST(ReliableUpdate, NotANumberIsNotDue) {
  ReliableUpdate update(0.1, 0.5);
  update.reset(1);
  EXPECT_FALSE(update.due(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(update.due(std::numeric_limits<double>::infinity()));
}

}  // namespace
}  // namespace quadrille
