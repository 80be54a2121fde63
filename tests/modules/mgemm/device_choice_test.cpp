// The choice of a form for a GPU: host arithmetic.
#include "modules/mgemm/device_choice.h"

#include "core/dense/cuda/magnitude_split.h"
#include "core/dense/magnitude_split.h"
#include "core/error.h"
#include "modules/mgemm/host_profile.h"
#include "modules/mgemm/magnitude_sample.h"
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

DeviceChoice choose(std::int64_t n, double fraction, const Cutoff& cutoff, const MgemmOptions& options = {}) {
  FactorProfile p = salted_profile(double(n), double(n), fraction);
  if (!cutoff.automatic) {
    p.deltas.resize(1);
    p.extremes.resize(1);
  }
  return choose_on_device({n, n, n}, p, p, Known::analysed, cutoff, options);
}

TEST(DeviceChoice, AGivenCutoffKeepsWhatSinglePrecisionWould) {
  const DeviceChoice choice = choose(16384, 1e-4, Cutoff::at(1));
  EXPECT_TRUE(choice.split);
  EXPECT_GT(choice.expected_speedup, 2);
  const FactorProfile p = salted_profile(16384, 16384, 1e-4);
  const double single = form_error_bound({16384, 16384, 16384}, p, p, 0, traits_of(SmallForm::single), 2048).certain;
  EXPECT_LE(choice.bound.certain, single);
  EXPECT_NE(choice.reason.find("times as fast as plain double"), std::string::npos) << choice.reason;
}

TEST(DeviceChoice, TighterTargetsTakeMoreExactForms) {
  double last = infinity;
  for (double target : {10.0, 0.1, 1e-4, 1e-6}) {
    const DeviceChoice choice = choose(16384, 1e-4, Cutoff::for_error(target));
    ASSERT_TRUE(choice.split) << target << ": " << choice.reason;
    EXPECT_LE(choice.bound.certain, target);
    EXPECT_LE(choice.expected_speedup, last * 1.0001);
    last = choice.expected_speedup;
  }
  const DeviceChoice none = choose(16384, 1e-4, Cutoff::for_error(1e-14));
  EXPECT_FALSE(none.split);
  EXPECT_NE(none.reason.find("above the target"), std::string::npos) << none.reason;
}

TEST(DeviceChoice, AProbableTargetCountsIndependentErrorsAndAMeasuredOneIsRefused) {
  MgemmOptions options;
  options.small_form = SmallForm::single;
  options.always_split = true;
  const ErrorBound bound = choose(16384, 1e-4, Cutoff::at(1), options).bound;
  const double between = std::sqrt(bound.certain * bound.probable);
  const Cutoff certain = Cutoff::for_error(between), probable = Cutoff::for_error(between, Assurance::probable);
  EXPECT_NE(choose(16384, 1e-4, certain, options).depth, 2048);
  const DeviceChoice choice = choose(16384, 1e-4, probable, options);
  EXPECT_EQ(choice.depth, 2048);
  EXPECT_LE(choice.bound.probable, between);
  EXPECT_GT(choice.bound.certain, between);
  require_no_sample(certain);
  require_no_sample(probable);
  require_no_sample(Cutoff::at(1));
  EXPECT_THROW(require_no_sample(Cutoff::for_error(1e-2, Assurance::measured)), Error);
}

TEST(DeviceChoice, GenerousTargetsHaveNoLargeElements) {
  const DeviceChoice choice = choose(8192, 1e-3, Cutoff::for_error(1e9));
  EXPECT_TRUE(choice.split);
  EXPECT_EQ(choice.cutoff, 7u);
}

TEST(DeviceChoice, ManyLargeElementsMeanDouble) {
  const DeviceChoice choice = choose(4096, 0.3, Cutoff::at(1));
  EXPECT_FALSE(choice.split);
  EXPECT_LT(choice.expected_speedup, 1);
  MgemmOptions always;
  always.always_split = true;
  EXPECT_TRUE(choose(4096, 0.3, Cutoff::at(1), always).split);
}

TEST(DeviceChoice, AFormByNameIsTaken) {
  for (const FormTraits& form : all_forms()) {
    MgemmOptions options;
    options.small_form = form.form;
    options.always_split = true;
    const DeviceChoice choice = choose(4096, 1e-4, Cutoff::at(1), options);
    EXPECT_TRUE(choice.split);
    EXPECT_EQ(choice.form, form.form);
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
  EXPECT_EQ(choose(16384, 1e-4, Cutoff::at(1), halves).form, SmallForm::half2);
  EXPECT_EQ(choose(16384, 1e-4, Cutoff::at(1), digits).form, SmallForm::digits3);
}

TEST(DeviceChoice, WithoutABoundThereIsNoSplit) {
  FactorProfile p = salted_profile(100, 100, 0);
  for (auto& e : p.extremes) e.small_squares = infinity;
  EXPECT_FALSE(choose_on_device({100, 100, 100}, p, p, Known::analysed, Cutoff::for_error(1), {}).split);
}

TEST(DeviceChoice, AnAnalysisThatIsDoneCostsNothingMore) {
  const FactorProfile p = salted_profile(4096, 4096, 1e-4);
  MgemmOptions options;
  options.device_cost.wait = 1;  // seconds: an analysis never pays
  const auto with = [&](Known known) {
    return choose_on_device({4096, 4096, 4096}, p, p, known, Cutoff::for_error(1), options);
  };
  EXPECT_FALSE(with(Known::sampled).split);
  EXPECT_TRUE(with(Known::analysed).split);
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
