// The accuracy study: its reference, its measure, and the curve of every form of the hopping term from both sides.
#include "input/bench/accuracy.h"

#include "core/error.h"
#include "tests/reference/wilson.h"
#include "tests/testing/random_seed.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrille::bench {
namespace {

using ::testing::ElementsAre;

TEST(ExtendedHop, IsTheHopOfTheReferenceOperator) {
  const Lattice lattice({4, 2, 6, 8});
  const AccuracyStudy study(lattice, testing::next_seed(), cpu_backend());
  // M = (m + 4) - D/2, so D = -2 M where m = -4.
  const HostSpinor m =
      reference::wilson(study.links(), {.mass = -4, .boundary = {0, 0, 0, 1}}, study.vector(), /*dagger=*/false);
  ASSERT_EQ(study.reference().size(), m.data.size());
  for (std::size_t i = 0; i < m.data.size(); ++i) {
    EXPECT_LT(std::abs(Complex(study.reference()[i]) + 2.0 * m.data[i]), 1e-13) << i;
  }
}

TEST(ExtendedHop, MultipliesWithMoreThanDoublePrecision) {
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "long double has no more digits than double";
  HostLinks links({2, 2, 2, 2});
  HostSpinor psi({2, 2, 2, 2});
  links.link(0, 0)[0] = 1 + 0x1p-30;
  psi.data[12] = 1 + 0x1p-31;  // at the site ahead of the first in x, spin 0, color 0
  EXPECT_EQ(extended_hop(links, psi)[0], Extended(1 + 0x1p-30L + 0x1p-31L + 0x1p-61L));
}

/// One site whose 24 parts are all 2 in size, and so is their root mean square.
struct MadeUp {
  HostSpinor result{{1, 1, 1, 1}};
  std::vector<Extended> reference = std::vector<Extended>(12, Extended(2, -2));

  MadeUp() {
    for (std::size_t i = 0; i < 12; ++i) result.data[i] = Complex(reference[i]);
  }
};

TEST(Deviations, AreSortedAndRelativeToTheRootMeanSquare) {
  MadeUp made;
  // Real parts 1 to 11 deviate by 2 * 10^-2 .. 2 * 10^-12, up and down; all others not at all.
  for (std::size_t i = 1; i < 12; ++i) made.result.data[i] += (i % 2 == 0 ? 2 : -2) * std::pow(10.0, -double(i + 1));
  const Deviations deviations(made.result, made.reference);
  EXPECT_EQ(deviations.count(), 24u);
  EXPECT_NEAR(deviations.smallest(), 1e-12, 1e-15);
  EXPECT_EQ(deviations.quantile(0), 0);
  EXPECT_EQ(deviations.quantile(12.0 / 23), 0) << "13 of 24 are exact";
  EXPECT_NEAR(deviations.quantile(13.0 / 23), 1e-12, 1e-15);
  EXPECT_NEAR(deviations.quantile(1), 1e-2, 1e-15);
}

TEST(Deviations, CurveCountsWhatStaysWithin) {
  MadeUp made;
  for (std::size_t i : {0, 1, 2}) made.result.data[i] += Complex(0, 6e-5);  // 3 of 24 at 3e-5
  for (std::size_t i : {3, 4}) made.result.data[i] -= Complex(4e-3, 8e-4);  // 2 at 2e-3, 2 at 4e-4
  std::vector<double> epsilons, fractions;
  for (const auto& point : Deviations(made.result, made.reference).curve(2)) {
    epsilons.push_back(std::log10(point.epsilon));
    fractions.push_back(point.fraction * 24);
  }
  using ::testing::DoubleNear;
  const auto near = [](double value) { return DoubleNear(value, 1e-9); };
  EXPECT_THAT(epsilons, ElementsAre(near(-5), near(-4.5), near(-4), near(-3.5), near(-3), near(-2.5)));
  EXPECT_THAT(fractions, ElementsAre(near(17), near(20), near(20), near(20), near(22), near(24)));
}

TEST(Deviations, OfTheSameNumbersAreZero) {
  const MadeUp made;
  const Deviations deviations(made.result, made.reference);
  EXPECT_EQ(deviations.smallest(), 0);
  EXPECT_EQ(deviations.quantile(1), 0);
  EXPECT_TRUE(deviations.curve(8).empty());
}

TEST(Deviations, RefuseWhatTheyCannotCompare) {
  MadeUp made;
  made.result.data[7] = {0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THROW(Deviations(made.result, made.reference), Error);
  made = {};
  made.reference.pop_back();
  EXPECT_THROW(Deviations(made.result, made.reference), Error);
}

/// Where the orders come from, in units u of rounding (2^-53, 2^-24, half a quantum: rounding_unit()) and relative to
/// the size of the result:
///
/// - Double and single. Rounding a normal number to a format costs 0.42 u (root mean square: u/sqrt(3) times the mean
/// of
///   the power of two below the number). The hopping term adds 24 rounded products a part of the result, which costs
///   more than rounding spinors and links to the format does. 18 and 12 numbers come out at a median of 0.9 u in single
///   and of 1.3 u in double, whose changes of the spin basis round as well. Rounded once from better numbers the median
///   would be 0.29 u, and were spinors and links alone rounded to single and all sums exact, 0.40 u: 0.5 u parts these
///   from true kernels.
/// - Half. The quanta decide, as sums are made in single: see half_deviation() below.
/// - 8 numbers divide by what may be small: medians grow by 1.5 or so, and the largest deviation is of the order of the
///   square root of u (core/su3/link_codec.h).
///
/// The left end: the density of deviations has a limit at zero, so that 10 % of the numbers lie under 0.19 of the
/// median (of a normal distribution; products of a wide spread of sizes have more small ones), and of n numbers the
/// smallest follows an exponential distribution with mean 1.86 / n of the median.
class Curves : public ::testing::TestWithParam<OperatorForm> {};

/// Root mean square deviation of half precision with all numbers of a link. A quantum q of uniform rounding costs
/// q/sqrt(12). Spinors have q = n/32767 with n the largest of 24 parts, whose square is 5.22 on average for normal ones
/// of variance 1; they are rounded before and after, relative to parts of size 1 (then 4). Links have q = 1/32767 and
/// parts with a mean square of 1/6.
double half_deviation() {
  const double spinor = 5.22, link = 6;
  return std::sqrt((2 * spinor + link) / 12) / 32767;
}

const AccuracyStudy& study() {
  static const Lattice lattice({8, 8, 8, 8});
  static const AccuracyStudy study(lattice, testing::next_seed(), cpu_backend());
  return study;
}

Deviations deviations(const OperatorForm& form) { return {study().product(form).vector, study().reference()}; }

TEST_P(Curves, LeftEndAndMedianAreOfTheFormatsOrder) {
  const OperatorForm form = GetParam();
  const Deviations curve = deviations(form);
  const double unit = rounding_unit(form.precision), median = curve.quantile(0.5);
  EXPECT_GT(median, 0.5 * unit) << "computed in a higher precision than it says";
  EXPECT_LT(median, 4 * unit);
  EXPECT_GT(curve.quantile(0.1), 0.13 * median);
  EXPECT_LT(curve.quantile(0.1), 0.2 * median);
  // Chances of 1e-6 each. In double the reference's own digits, of 2^-64 or less, show at this end.
  const double mean = 1.86 * median / double(curve.count());
  const double grain = form.precision == Precision::Double ? 0x1p-61 : 0;
  EXPECT_GT(curve.smallest(), grain > 0 ? 0 : 1e-6 * mean);
  EXPECT_LT(curve.smallest(), 14 * mean + grain);
}

TEST_P(Curves, RightEndIsOfTheFormatsOrder) {
  const OperatorForm form = GetParam();
  const Deviations curve = deviations(form);
  const double median = curve.quantile(0.5), largest = curve.quantile(1);
  EXPECT_GT(largest, 5 * median);
  EXPECT_LT(curve.quantile(0.9), 3.5 * median);
  if (form.reconstruct == Reconstruct::R8) {
    EXPECT_LT(largest, 4 * std::sqrt(rounding_unit(form.precision)));
  } else {
    EXPECT_LT(largest, 25 * median);
  }
}

std::vector<OperatorForm> all_forms() {
  std::vector<OperatorForm> forms;
  for (Precision precision : {Precision::Double, Precision::Single, Precision::Half}) {
    for (Reconstruct reconstruct : {Reconstruct::R18, Reconstruct::R12, Reconstruct::R8}) {
      for (bool temporal_gauge : {false, true}) forms.push_back({precision, reconstruct, temporal_gauge});
    }
  }
  return forms;
}

std::string name(const ::testing::TestParamInfo<OperatorForm>& info) {
  std::string name = to_string(info.param);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(EveryForm, Curves, ::testing::ValuesIn(all_forms()), name);

TEST(Accuracy, HalfHasTheDeviationOfItsQuanta) {
  for (Reconstruct reconstruct : {Reconstruct::R18, Reconstruct::R12}) {
    // The median of a normal distribution is 0.6745 of its root mean square.
    const double ratio = deviations({Precision::Half, reconstruct, false}).quantile(0.5) / (0.6745 * half_deviation());
    EXPECT_GT(ratio, 0.9) << "links or spinors are not stored in half";
    EXPECT_LT(ratio, 1.1);
  }
}

TEST(Accuracy, ReconstructionsDiffer) {
  for (Precision precision : {Precision::Double, Precision::Single, Precision::Half}) {
    const auto product = [&](Reconstruct r) { return study().product({precision, r, false}).vector; };
    const HostSpinor with_18 = product(Reconstruct::R18), with_12 = product(Reconstruct::R12);
    EXPECT_NE(with_18.data, with_12.data) << to_string(precision);
    const double ratio = Deviations(product(Reconstruct::R8), study().reference()).quantile(0.5) /
                         Deviations(with_18, study().reference()).quantile(0.5);
    EXPECT_GT(ratio, 1.2) << to_string(precision);
    EXPECT_LT(ratio, 2.5) << to_string(precision);
  }
}

}  // namespace
}  // namespace quadrille::bench
