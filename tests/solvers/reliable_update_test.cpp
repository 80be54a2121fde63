#include "solvers/methods/reliable_update.h"

#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace quadrille {
namespace {

/// Whether an update is due after one more iteration.
template <class Update>
bool due_after(Update&& update, double residual, double gain) {
  update.observe(residual, gain);
  return update.due();
}

TEST(ReliableUpdate, DueBelowDeltaTimesTheLargestResidual) {
  ReliableUpdate update(0.1, 1e-12, 1e-6);
  update.reset(1);
  EXPECT_FALSE(due_after(update, 0.5, 0));
  EXPECT_FALSE(due_after(update, 0.1, 0));
  EXPECT_TRUE(due_after(update, 0.0999, 0));
}

TEST(ReliableUpdate, RemembersTheLargestSinceTheLastUpdate) {
  ReliableUpdate update(0.1, 1e-12, 1e-6);
  update.reset(1);
  EXPECT_FALSE(due_after(update, 20, 0));
  EXPECT_TRUE(due_after(update, 1.9, 0)) << "a peak in between carries rounding errors of its own size";
  update.reset(1.9);
  EXPECT_FALSE(due_after(update, 1.8, 0)) << "the peak belongs to the group before";
  EXPECT_FALSE(due_after(update, 0.2, 0));
  EXPECT_TRUE(due_after(update, 0.18, 0));
}

TEST(ReliableUpdate, DueAtTheTarget) {
  ReliableUpdate update(0.1, 0.5, 1e-6);
  update.reset(1);
  EXPECT_FALSE(due_after(update, 0.51, 0));
  EXPECT_TRUE(due_after(update, 0.5, 0));
  update.reset(0.6);  // the true residual still misses
  EXPECT_FALSE(due_after(update, 0.55, 0));
  EXPECT_TRUE(due_after(update, 0.45, 0));
}

TEST(ReliableUpdate, DeltaZeroMeansNever) {
  ReliableUpdate update(0, 0.5, 1e-6);
  EXPECT_FALSE(update.enabled());
  update.reset(1);
  EXPECT_FALSE(due_after(update, 0.4, 0));
  EXPECT_FALSE(due_after(update, 0, 0));
  EXPECT_TRUE(ReliableUpdate(0.9, 0, 1e-6).enabled());
}

TEST(ReliableUpdate, DueWhenRoundingHasMovedTheTrueResidual) {
  const double unit = 1e-6;  // the estimate 2 unit |A| |d| may reach sqrt(unit) |r|: |A| |d| may reach 500 |r|
  ReliableUpdate update(0.1, 1e-12, unit);
  update.reset(1);
  EXPECT_FALSE(due_after(update, 0.9, 0.9 * 499));
  EXPECT_TRUE(due_after(update, 0.9, 0.9 * 501));
  EXPECT_TRUE(due_after(update, 0.2, 0.2 * 501)) << "it is |r| of now that counts";
  EXPECT_FALSE(due_after(ReliableUpdate(0.1, 1e-12, unit / 100), 0.9, 0.9 * 4990)) << "a finer format goes farther";
  EXPECT_TRUE(due_after(ReliableUpdate(0.1, 1e-12, unit / 100), 0.9, 0.9 * 5010));
  EXPECT_FALSE(due_after(ReliableUpdate(0, 1e-12, unit), 0.9, 1e9)) << "turned off";
}

// CG on a diagonal matrix, with the sum of its steps at hand.
TEST(SolutionGain, IsTheNormOfTheSteps) {
  std::mt19937_64 random(testing::next_seed());
  std::uniform_real_distribution<double> eigenvalue(1, 9);
  std::normal_distribution<double> normal;
  const std::size_t n = 40;
  std::vector<double> matrix(n), z(n), p(n), d(n, 0);
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  for (std::size_t i = 0; i < n; ++i) {
    matrix[i] = eigenvalue(random);
    p[i] = z[i] = normal(random);
  }
  double z2 = dot(z, z);
  SolutionGain gain;
  gain.begin(z2);
  EXPECT_EQ(gain.norm(), 0);
  for (int k = 1; k <= 12; ++k) {
    double pq = 0;
    for (std::size_t i = 0; i < n; ++i) pq += p[i] * matrix[i] * p[i];
    const double alpha = z2 / pq;
    for (std::size_t i = 0; i < n; ++i) {
      d[i] += alpha * p[i];
      z[i] -= alpha * matrix[i] * p[i];
    }
    gain.step(alpha);
    EXPECT_NEAR(gain.norm(), std::sqrt(dot(d, d)), 1e-9 * gain.norm()) << "step " << k;
    if (k == 5) {  // an update: x takes d, the search goes on
      gain.reset();
      EXPECT_EQ(gain.norm(), 0);
      d.assign(n, 0);
    }
    const double next = dot(z, z), beta = next / z2;
    z2 = next;
    gain.new_direction(z2, beta);
    if (k == 9) {  // a new search
      gain.begin(z2);
      d.assign(n, 0);
      p = z;
    } else {
      for (std::size_t i = 0; i < n; ++i) p[i] = z[i] + beta * p[i];
    }
  }
}

TEST(ReliableUpdate, NotANumberIsNotDue) {
  ReliableUpdate update(0.1, 0.5, 1e-6);
  update.reset(1);
  EXPECT_FALSE(due_after(update, std::numeric_limits<double>::quiet_NaN(), 0));
  EXPECT_FALSE(due_after(update, std::numeric_limits<double>::infinity(), 0));
  update.reset(1);
  EXPECT_FALSE(due_after(update, 0.9, std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace
}  // namespace quadrille
