// The search for a cutoff, over a multiplier whose errors and costs are known.
#include "modules/mgemm/choice/choice.h"

#include "core/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace quadrille::mgemm {
namespace {

/// Errors are the cutoff times one of each depth; a product costs its depth and its large elements.
class Known16 : public Multiplier {
 public:
  explicit Known16(std::vector<std::vector<SmallWay>> ways) : ways_(std::move(ways)) {
    product.shape = {100, 100, 100};
    product.a.max_abs = product.b.max_abs = 32768;
    for (int number = 0; number < 16; ++number) {
      product.a.deltas.push_back(std::ldexp(1.0, number));
      product.a.extremes.push_back({1, 1, 15 - number, 1});
    }
    product.b = product.a;
  }
  std::vector<std::vector<SmallWay>> ways() const override { return ways_; }
  ErrorBound bound(const SmallWay& way, std::size_t cutoff) const override {
    const double error = product.a.deltas[cutoff] * double(way.depth);
    return {100 * error, 10 * error};
  }
  double measured(const SmallWay&, std::size_t, const ErrorBound& bound) override {
    ++trials;
    return bound.certain / 100;
  }
  double plain() const override { return 1000; }
  double split(const SmallWay& way, const LargeCounts& large) const override {
    return double(way.depth) + double(large.a + large.b);
  }

  AnalysedProduct product;
  int trials = 0;

 private:
  std::vector<std::vector<SmallWay>> ways_;
};

const FormTraits& half2 = traits_of(SmallForm::half2);
const FormTraits& single = traits_of(SmallForm::single);

MgemmReport chosen(Known16& multiplier, double target, Assurance assurance) {
  return choose(multiplier, multiplier.product, Known::analysed, Cutoff::for_error(target, assurance), {});
}

TEST(Choice, TheLargestCutoffThatKeepsTheTargetInFewTrials) {
  Known16 multiplier({{{&single, 2}}});
  const MgemmReport report = chosen(multiplier, 300, Assurance::measured);
  EXPECT_EQ(report.form, MgemmForm::split) << report.reason;
  EXPECT_EQ(report.delta, 128);
  EXPECT_EQ(report.measured, 256);
  EXPECT_EQ(multiplier.trials, 5) << "the smallest cutoff, and four of sixteen";
}

TEST(Choice, EveryAssuranceHasItsOwnError) {
  for (const auto& [assurance, delta] :
       {std::pair(Assurance::certain, 1), {Assurance::probable, 8}, {Assurance::measured, 128}}) {
    Known16 multiplier({{{&single, 2}}});
    const MgemmReport report = chosen(multiplier, 300, assurance);
    EXPECT_EQ(report.delta, delta);
    EXPECT_EQ(report.measured > 0, assurance == Assurance::measured);
    EXPECT_EQ(multiplier.trials > 0, assurance == Assurance::measured);
  }
}

TEST(Choice, OfAListTheFirstThatKeepsTheTargetOfListsTheCheapest) {
  Known16 one_after_the_other({{{&single, 400}, {&single, 20}, {&single, 10}}});
  const MgemmReport first = chosen(one_after_the_other, 100, Assurance::measured);
  EXPECT_EQ(first.depth, 20) << "10 would let the cutoff be 8 and cost less";
  EXPECT_EQ(first.delta, 4);
  EXPECT_EQ(one_after_the_other.trials, 1 + 5);
  Known16 side_by_side({{{&single, 400}}, {{&single, 20}}, {{&half2, 10}}});
  const MgemmReport cheapest = chosen(side_by_side, 100, Assurance::measured);
  EXPECT_EQ(cheapest.depth, 10);
  EXPECT_EQ(cheapest.delta, 8);
  EXPECT_EQ(cheapest.small_form, SmallForm::half2);
  EXPECT_NE(cheapest.reason.find("the others multiplied as half2"), std::string::npos) << cheapest.reason;
}

TEST(Choice, WhereNothingKeepsTheTargetTheReasonHasTheLeastError) {
  Known16 multiplier({{{&single, 400}, {&single, 20}}});
  const MgemmReport report = chosen(multiplier, 10, Assurance::measured);
  EXPECT_EQ(report.form, MgemmForm::plain_double);
  EXPECT_EQ(report.reason, "with delta = 1 the measured error is 20, above the target 10");
  EXPECT_EQ(report.measured, 0);
}

TEST(Choice, ASplitThatCostsMoreIsNotTaken) {
  Known16 multiplier({{{&single, 2000}}});
  const MgemmReport report = chosen(multiplier, 1e9, Assurance::measured);
  EXPECT_EQ(report.form, MgemmForm::plain_double);
  EXPECT_NE(report.reason.find("2.00 times as long as plain double"), std::string::npos) << report.reason;
  EXPECT_EQ(report.expected_speedup, 0.5);
}

TEST(Choice, CutoffsDoubleFromThePowerOfTwoAboveTheQuantile) {
  const Cutoff automatic = Cutoff::for_error(1);
  EXPECT_EQ(cutoffs_of(Cutoff::at(0.3), 5, 100), std::vector<double>{0.3});
  EXPECT_EQ(cutoffs_of(automatic, 5, 40), (std::vector<double>{8, 16, 32, 64}));
  EXPECT_EQ(cutoffs_of(automatic, 0, 40), (std::vector<double>{0, 40}));
  EXPECT_EQ(cutoffs_of(automatic, HUGE_VAL, 40), (std::vector<double>{0, 40}));
  EXPECT_EQ(cutoffs_of(automatic, 5, 3), std::vector<double>{8});
  EXPECT_EQ(cutoffs_of(automatic, 1e-300, 1).size(), 64u);
}

}  // namespace
}  // namespace quadrille::mgemm
