// The search for the cheapest cutoff that keeps a target, with errors that are known.
#include "modules/ri_mp2/split_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace quadrille::ri_mp2 {
namespace {

struct Known {
  double gain;
  CutoffErrors errors;
  double bound;
};

/// The index of what is found for a target of 1; -1 for none. Counts trials.
int found_in(const std::vector<Known>& all, int* trials = nullptr) {
  int count = 0;
  std::vector<SplitWay> ways;
  for (const Known& known : all) {
    ways.push_back({{&mgemm::traits_of(mgemm::SmallForm::single), 2048}, 1, 0, known.bound, known.gain});
  }
  const FoundCutoff found = find_cutoff(ways, 1, [&](const SplitWay& way) {
    ++count;
    return all[std::size_t(&way - ways.data())].errors;
  });
  if (trials != nullptr) *trials = count;
  return found.way == nullptr ? -1 : int(found.way - ways.data());
}

TEST(CutoffSearch, TakesTheFirstThatKeepsTheTarget) {
  EXPECT_EQ(found_in({{4, {8, 0.1}, 8}, {3, {0.9, 0.1}, 1}, {2, {0.1, 0.1}, 0.1}}), 1);
  EXPECT_EQ(found_in({{4, {8, 0.1}, 8}, {3, {1.1, 0.1}, 1}, {2, {0.1, 0.1}, 0.1}}), 2);
}

TEST(CutoffSearch, PaysAQuarterForIntegralsTenTimesAsExact) {
  EXPECT_EQ(found_in({{4, {0.9, 3}, 8}, {3.3, {0.5, 0.9}, 1}, {2, {0.1, 0.1}, 0.1}}), 1);
  EXPECT_EQ(found_in({{4, {0.9, 3}, 8}, {3.1, {0.5, 0.9}, 1}, {2, {0.1, 0.1}, 0.1}}), 0);
  EXPECT_EQ(found_in({{4, {0.9, 3}, 8}, {3.5, {1.1, 0.9}, 1}, {3.3, {0.1, 0.1}, 0.1}}), 0) << "more than the target";
  EXPECT_EQ(found_in({{4, {0.9, 3}, 8}, {3.5, {0.8, 2.9}, 4}, {3.3, {0.1, 0.1}, 0.1}}), 2) << "bounds promise it";
}

TEST(CutoffSearch, TriesOneMoreForThat) {
  int trials = 0;
  const std::vector<Known> all{
      {4, {0.9, 9}, 8}, {3.9, {0.8, 8}, 0.8}, {3.8, {0.7, 0.7}, 0.09}, {3.7, {0.1, 0.1}, 0.01}};
  EXPECT_EQ(found_in(all, &trials), 0);
  EXPECT_EQ(trials, 3);  // the last and the first two
}

TEST(CutoffSearch, TriesNothingMoreWhereTheMostExactFails) {
  int trials = 0;
  EXPECT_EQ(found_in({{4, {8, 0.1}, 8}, {2, {1.1, 0.1}, 0.1}}, &trials), -1);
  EXPECT_EQ(trials, 1);
  EXPECT_EQ(found_in({{4, {8, 0.1}, 8}, {2, {NAN, 0.1}, 0.1}}), -1);
}

TEST(CutoffSearch, DoesNotTryWhatBoundsDoNotPromise) {
  int trials = 0;
  // Twelve times the target, and half of its bound.
  EXPECT_EQ(found_in({{4, {12, 0.1}, 8}, {3, {0.5, 0.1}, 4}, {2, {0.1, 0.1}, 0.1}}, &trials), 2);
  EXPECT_EQ(trials, 3) << "the most exact one is tried first, and when its turn comes";
}

TEST(CutoffSearch, ATenthOfNothingIsNothing) {
  EXPECT_EQ(over_a_tenth(0, 0), 0);
  EXPECT_EQ(over_a_tenth(1e-9, 1e-8), 1);
  EXPECT_EQ(over_a_tenth(1e-9, HUGE_VAL), 0);
  EXPECT_EQ(over_a_tenth(1e-9, 0), HUGE_VAL);
}

}  // namespace
}  // namespace quadrille::ri_mp2
