// The choice of a form for a GPU: host arithmetic.
#include "modules/mgemm/choice/device_choice.h"

#include "core/error.h"
#include "modules/mgemm/choice/form_bound.h"
#include "modules/mgemm/choice/magnitude_sample.h"
#include "modules/shared/dense/cuda/magnitude_split.h"
#include "modules/shared/dense/magnitude_split.h"
#include "tests/modules/mgemm/salted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace quadrille::mgemm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A profile of matrices uniform in [-1, 1] with salt of magnitude 100, for cutoffs 1, 2, 4, ..., 128.
FactorProfile salted_profile(double lines, double k, double fraction) {
  FactorProfile profile;
  profile.max_abs = 110;
  for (double delta = 1; delta < 200; delta *= 2) {
    const bool all_small = delta > 110;
    const double background = k / 3 * 1.05, salt = fraction * k * 1e4 * 2;
    profile.deltas.push_back(delta);
    profile.extremes.push_back({background + (all_small ? salt : 0), background + salt,
                                all_small ? 0 : std::int64_t(fraction * lines * k),
                                all_small ? 0 : std::int64_t(3 * fraction * k + 5)});
  }
  return profile;
}

AnalysedProduct salted_product(std::int64_t n, double fraction) {
  const FactorProfile p = salted_profile(double(n), double(n), fraction);
  return {{n, n, n}, p, p};
}

MgemmReport choose(std::int64_t n, double fraction, const Cutoff& cutoff, const MgemmOptions& options = {}) {
  AnalysedProduct product = salted_product(n, fraction);
  if (!cutoff.automatic) product.a.deltas.resize(1);
  return choose_on_device(product, Known::analysed, cutoff, options);
}

TEST(DeviceChoice, AGivenCutoffKeepsWhatSinglePrecisionWould) {
  const MgemmReport choice = choose(16384, 1e-4, Cutoff::at(1));
  EXPECT_EQ(choice.form, MgemmForm::split);
  EXPECT_GT(choice.expected_speedup, 2);
  const double single = form_error_bound(salted_product(16384, 1e-4), 0, traits_of(SmallForm::single), 2048).certain;
  EXPECT_LE(choice.bound, single);
  EXPECT_NE(choice.reason.find("times as fast as plain double"), std::string::npos) << choice.reason;
}

TEST(DeviceChoice, TighterTargetsTakeMoreExactForms) {
  double last = infinity;
  for (double target : {10.0, 0.1, 1e-4, 1e-6}) {
    const MgemmReport choice = choose(16384, 1e-4, Cutoff::for_error(target));
    ASSERT_EQ(choice.form, MgemmForm::split) << target << ": " << choice.reason;
    EXPECT_LE(choice.bound, target);
    EXPECT_LE(choice.expected_speedup, last * 1.0001);
    last = choice.expected_speedup;
  }
  const MgemmReport none = choose(16384, 1e-4, Cutoff::for_error(1e-14));
  EXPECT_EQ(none.form, MgemmForm::plain_double);
  EXPECT_NE(none.reason.find("above the target"), std::string::npos) << none.reason;
}

TEST(DeviceChoice, AProbableTargetCountsIndependentErrorsAndAMeasuredOneIsRefused) {
  MgemmOptions options;
  options.small_form = SmallForm::single;
  options.always_split = true;
  const MgemmReport given = choose(16384, 1e-4, Cutoff::at(1), options);
  const double between = std::sqrt(given.bound * given.probable_bound);
  const Cutoff certain = Cutoff::for_error(between), probable = Cutoff::for_error(between, Assurance::probable);
  EXPECT_NE(choose(16384, 1e-4, certain, options).depth, 2048);
  const MgemmReport choice = choose(16384, 1e-4, probable, options);
  EXPECT_EQ(choice.depth, 2048);
  EXPECT_LE(choice.probable_bound, between);
  EXPECT_GT(choice.bound, between);
  require_no_sample(certain);
  require_no_sample(probable);
  require_no_sample(Cutoff::at(1));
  EXPECT_THROW(require_no_sample(Cutoff::for_error(1e-2, Assurance::measured)), Error);
}

TEST(DeviceChoice, GenerousTargetsHaveNoLargeElements) {
  const MgemmReport choice = choose(8192, 1e-3, Cutoff::for_error(1e9));
  EXPECT_EQ(choice.form, MgemmForm::split);
  EXPECT_EQ(choice.delta, 128);
}

TEST(DeviceChoice, ManyLargeElementsMeanDouble) {
  const MgemmReport choice = choose(4096, 0.3, Cutoff::at(1));
  EXPECT_EQ(choice.form, MgemmForm::plain_double);
  EXPECT_LT(choice.expected_speedup, 1);
  MgemmOptions always;
  always.always_split = true;
  EXPECT_EQ(choose(4096, 0.3, Cutoff::at(1), always).form, MgemmForm::split);
}

TEST(DeviceChoice, AFormByNameIsTaken) {
  for (const FormTraits& form : all_forms()) {
    MgemmOptions options;
    options.small_form = form.form;
    options.always_split = true;
    const MgemmReport choice = choose(4096, 1e-4, Cutoff::at(1), options);
    EXPECT_EQ(choice.form, MgemmForm::split);
    EXPECT_EQ(choice.small_form, form.form);
    EXPECT_EQ(choice.depth, usual_depth(form));
    options.depth = 256;
    if (!form.integer) {
      EXPECT_EQ(choose(4096, 1e-4, Cutoff::at(1), options).depth, 256);
    }
  }
}

TEST(DeviceChoice, TheFasterFormWins) {
  MgemmOptions halves, digits;
  halves.device_cost.integer_flops = 1e12;
  digits.device_cost.half_flops = 1e12;
  EXPECT_EQ(choose(16384, 1e-4, Cutoff::at(1), halves).small_form, SmallForm::half2);
  EXPECT_EQ(choose(16384, 1e-4, Cutoff::at(1), digits).small_form, SmallForm::digits3);
}

TEST(DeviceChoice, WithoutABoundThereIsNoSplit) {
  AnalysedProduct product = salted_product(100, 0);
  for (auto& e : product.a.extremes) e.small_squares = infinity;
  EXPECT_EQ(choose_on_device(product, Known::analysed, Cutoff::for_error(1), {}).form, MgemmForm::plain_double);
}

TEST(DeviceChoice, AnAnalysisThatIsDoneCostsNothingMore) {
  const AnalysedProduct product = salted_product(4096, 1e-4);
  MgemmOptions options;
  options.device_cost.wait = 1;  // seconds: an analysis never pays
  const auto with = [&](Known known) { return choose_on_device(product, known, Cutoff::for_error(1), options); };
  EXPECT_EQ(with(Known::sampled).form, MgemmForm::plain_double);
  EXPECT_EQ(with(Known::analysed).form, MgemmForm::split);
  EXPECT_LT(with(Known::analysed).expected_speedup, 1);
}

TEST(MagnitudeSample, OfAllElementsSaysWhatIsTrueOfAllLinesTogether) {
  const std::int64_t lines = 30, length = 100;
  const std::vector<double> x = testing::salted_matrix(lines * length, 0.05, 100);
  std::vector<double> magnitudes;
  for (const double element : x) magnitudes.push_back(std::abs(element));
  const MagnitudeSample sample(magnitudes, lines, length);
  const std::vector<double> deltas{0.5, 1, 97, 100, 200};
  const FactorProfile profile = sample.profile(deltas);
  EXPECT_EQ(profile.max_abs, *std::max_element(magnitudes.begin(), magnitudes.end()));
  for (std::size_t d = 0; d < deltas.size(); ++d) {
    double small = 0, all = 0;
    std::int64_t large = 0;
    for (const double m : magnitudes) {
      all += m * m;
      small += m <= deltas[d] ? m * m : 0;
      large += m > deltas[d] ? 1 : 0;
    }
    EXPECT_NEAR(profile.extremes[d].small_squares * double(lines), small, 1e-12 * small);
    EXPECT_NEAR(profile.extremes[d].all_squares * double(lines), all, 1e-12 * all);
    EXPECT_NEAR(double(profile.extremes[d].large), double(large), 1);
    EXPECT_NEAR(double(profile.extremes[d].most_large), double(large) / double(lines), 1);
  }
}

/// Of matrices with a pattern, as a strong diagonal or a row unlike the others, too.
TEST(MagnitudeSample, PlacesHaveNoPattern) {
  for (const auto& [lines, length] : {std::pair<std::int64_t, std::int64_t>{4096, 4096}, {4096, 3001}, {12288, 3001}}) {
    const std::int64_t total = lines * length, step = sample_step(total);
    std::set<std::int64_t> rows, columns;
    std::int64_t diagonal = 0, last = -1;
    for (std::int64_t i = 0; i < total / step; ++i) {
      const std::int64_t place = cuda::sampled_place(i, step);
      EXPECT_GT(place, last);
      EXPECT_LT(place, total);
      rows.insert(place / length);
      columns.insert(place % length);
      diagonal += place / length == place % length ? 1 : 0;
      last = place;
    }
    EXPECT_LT(diagonal, 10);
    EXPECT_GT(rows.size(), 1500u);
    EXPECT_GT(columns.size(), 1500u);
  }
}

TEST(MagnitudeSample, QuantilesAndWhatIsNotANumber) {
  std::vector<double> magnitudes;
  for (int i = 0; i < 100; ++i) magnitudes.push_back((37 * i) % 100);
  EXPECT_EQ(MagnitudeSample(magnitudes, 10, 10).quantile(0.98), 98);
  EXPECT_TRUE(MagnitudeSample(magnitudes, 10, 10).finite());
  magnitudes[50] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(MagnitudeSample(magnitudes, 10, 10).finite());
  EXPECT_EQ(MagnitudeSample(magnitudes, 10, 10).quantile(0.995), infinity);
  EXPECT_EQ(MagnitudeSample({}, 0, 3).quantile(0.5), 0);
}

TEST(HostProfile, IsWhatTheDefinitionSays) {
  const std::int64_t lines = 30, k = 500;
  const std::vector<double> x = testing::salted_matrix(lines * k, 0.01, 100);
  const std::vector<double> deltas{1, 2, 97, 100, 200};
  for (bool by_rows : {true, false}) {
    const DenseView<const double> view{x.data(), lines, k, by_rows ? k : lines, by_rows};
    const FactorProfile profile = profile_on_host(view, 110, deltas, 0.1);
    ASSERT_EQ(profile.deltas, deltas);
    for (std::size_t d = 0; d < deltas.size(); ++d) {
      CutoffExtremesOfLines most;
      for (std::int64_t line = 0; line < lines; ++line) {
        double small = 0, all = 0;
        std::int64_t large = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const double v = view(line, l);
          all += v * v;
          if (std::abs(v) <= deltas[d])
            small += v * v;
          else
            ++large;
        }
        most.small_squares = std::max(most.small_squares, small);
        most.all_squares = std::max(most.all_squares, all);
        most.large += large;
        most.most_large = std::max(most.most_large, large);
      }
      EXPECT_NEAR(profile.extremes[d].small_squares, most.small_squares, 1e-12 * most.small_squares);
      EXPECT_NEAR(profile.extremes[d].all_squares, most.all_squares, 1e-12 * most.all_squares);
      EXPECT_EQ(profile.extremes[d].large, most.large);
      EXPECT_EQ(profile.extremes[d].most_large, most.most_large);
    }
    const FactorProfile unlisted = profile_on_host(view, 110, deltas, 1e-3);
    EXPECT_EQ(unlisted.deltas, std::vector<double>{1});
    EXPECT_EQ(unlisted.extremes.front().all_squares, infinity);
  }
}

}  // namespace
}  // namespace quadrille::mgemm
