#include "solvers/methods/search_pace.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quadrille::test {
namespace {

/// |r| after `iterations` more at a pace; how often the space was found to have slowed down is added to `slowed`.
double go_on(SearchPace& pace, double residual, double rate, int iterations, int& slowed) {
  for (int i = 0; i < iterations; ++i) {
    residual *= std::exp(-rate);
    slowed += pace.slowed(residual);
  }
  return residual;
}

TEST(SearchPace, ASteadyOneIsKept) {
  for (const double rate : {0.01, 0.09, 0.2, 1.0}) {
    SearchPace pace;
    pace.begin(3);
    int slowed = 0;
    go_on(pace, 3, rate, 100, slowed);
    EXPECT_EQ(slowed, 0) << rate;
  }
}

TEST(SearchPace, OneThatSlowsDownIsLeft) {
  SearchPace pace;
  pace.begin(1);
  int slowed = 0;
  double residual = go_on(pace, 1, 0.2, 24, slowed);
  EXPECT_EQ(slowed, 0);
  residual = go_on(pace, residual, 0.1, 30, slowed);  // another order of magnitude, at half the pace
  EXPECT_EQ(slowed, 1);
  pace.begin(residual);  // a new space has a pace of its own
  slowed = 0;
  go_on(pace, residual, 0.1, 200, slowed);
  EXPECT_EQ(slowed, 0);
}

TEST(SearchPace, OneThatLearnsIsKept) {
  SearchPace pace;
  pace.begin(1);
  int slowed = 0;
  double residual = go_on(pace, 1, 0.02, 100, slowed);
  residual = go_on(pace, residual, 0.04, 100, slowed);
  go_on(pace, residual, 0.06, 100, slowed);
  EXPECT_EQ(slowed, 0);
}

// The fast modes of a point source go first; then comes the plateau on which the slow ones are learnt.
TEST(SearchPace, OneThatIsSlowAnywayIsKept) {
  SearchPace pace;
  pace.begin(1);
  int slowed = 0;
  double residual = go_on(pace, 1, 0.25, 9, slowed);
  residual = go_on(pace, residual, 0.001, 100, slowed);
  go_on(pace, residual, 0.03, 100, slowed);
  EXPECT_EQ(slowed, 0);
}

TEST(SearchPace, PeaksAreNoProgress) {
  SearchPace pace;
  pace.begin(1);
  int slowed = 0;
  double residual = go_on(pace, 1, 0.3, 9, slowed);
  EXPECT_FALSE(pace.slowed(100 * residual));
  EXPECT_TRUE(pace.slowed(residual)) << "down from a peak, where it was before";
  EXPECT_FALSE(pace.slowed(std::nan("")));
}

}  // namespace
}  // namespace quadrille::test
