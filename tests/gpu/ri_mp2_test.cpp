// RI-MP2 on the GPU against the CPU: the sums alone, and energies in every precision and form.
#include "modules/ri_mp2/ri_mp2.h"

#include "core/error.h"
#include "modules/mgemm/choice/form_bound.h"
#include "modules/ri_mp2/cuda/device_step4.h"
#include "modules/ri_mp2/device.h"
#include "modules/ri_mp2/tasks/generated_system.h"
#include "modules/ri_mp2/tasks/study.h"
#include "tests/gpu/on_device.h"
#include "tests/modules/ri_mp2/systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace quadrille::ri_mp2 {
namespace {

using ::testing::HasSubstr;
using namespace quadrille::testing;
using mgemm::Assurance;
using mgemm::Cutoff;
using mgemm::ProductPrecision;
using mgemm::SmallForm;

/// Occupied, virtual, auxiliary: one virtual orbital, tiles that are full, short and one too long.
constexpr std::array<std::int64_t, 3> sizes[] = {{1, 1, 1},   {9, 1, 3},    {1, 5, 7},    {4, 31, 9},  {3, 32, 40},
                                                 {2, 33, 65}, {11, 64, 30}, {5, 97, 129}, {7, 130, 63}};

Options on_gpu(ProductPrecision precision = ProductPrecision::double_) {
  Options options;
  options.products.precision = precision;
  options.backend = &backend();
  return options;
}

/// mgemm in step 4 with this cutoff, step 3 in double.
Options mixed(const Cutoff& cutoff, SmallForm form = SmallForm::automatic) {
  Options options = on_gpu(ProductPrecision::mgemm);
  options.products.cutoff = cutoff;
  options.products.always_split = true;
  options.small_form = form;
  return options;
}

/// Room for the integrals of so many orbitals.
std::int64_t memory_for(const System& system, std::int64_t orbitals) {
  return orbitals * orbitals * system.virtuals * system.virtuals * 8;
}

void expect_same(const Energy& found, const Energy& expected, double relative) {
  const double rounding = relative * std::abs(expected.opposite_spin);
  EXPECT_NEAR(found.opposite_spin, expected.opposite_spin, rounding);
  EXPECT_NEAR(found.same_spin, expected.same_spin, rounding);
  EXPECT_EQ(found.correlation, found.opposite_spin + found.same_spin);
}

template <class T>
void check_sums(std::int64_t virtuals, std::int64_t count_i, std::int64_t count_j) {
  SCOPED_TRACE(::testing::Message() << virtuals << " virtual, " << count_i << " x " << count_j);
  System system = random_system(count_i + count_j, virtuals, 1);
  std::mt19937_64 random(next_seed());
  std::normal_distribution<double> normal;
  std::vector<T> integrals(std::size_t(count_i * count_j * virtuals * virtuals));
  for (T& x : integrals) x = T(normal(random));
  const OnDevice<T> there(integrals);
  for (const std::int64_t first_j : {std::int64_t(0), count_i}) {  // counted once, and twice
    const Batch<T> batch{integrals.data(), 0, count_i, first_j, count_j};
    Batch<T> batch_there = batch;
    batch_there.integrals = there.get();
    const SpinSums expected = sum_batch(system, batch), found = sum_batch_on_device(system, batch_there);
    EXPECT_NEAR(found.opposite, expected.opposite, 1e-12 * std::abs(expected.opposite));
    EXPECT_NEAR(found.same, expected.same, 1e-12 * std::abs(expected.opposite));
    const SpinSums again = sum_batch_on_device(system, batch_there);
    EXPECT_EQ(again.opposite, found.opposite);
    EXPECT_EQ(again.same, found.same);
  }
}

TEST(CudaRiMp2, TheSumsAreThoseOfTheCpu) {
  for (const std::int64_t virtuals : {1, 2, 31, 32, 33, 64, 95, 97, 129, 300}) {
    check_sums<double>(virtuals, 3, 5);
    check_sums<double>(virtuals, 1, 1);
    check_sums<float>(virtuals, 4, 2);
  }
  check_sums<double>(1, 70, 90);   // many small pairs: more than there are blocks
  check_sums<double>(1300, 3, 2);  // and many tiles
}

TEST(CudaRiMp2, EnergiesInDoubleAreThoseOfTheCpu) {
  for (const auto& [o, v, n] : sizes) {
    const System system = random_system(o, v, n);
    const Energy expected = correlation_energy(system, {});
    for (const std::int64_t orbitals : {std::int64_t(1), std::int64_t(3), o}) {
      SCOPED_TRACE(::testing::Message() << o << ' ' << v << ' ' << n << ", batches of " << orbitals);
      Options options = on_gpu();
      options.memory = memory_for(system, orbitals);
      const Energy found = correlation_energy(system, options), again = correlation_energy(system, options);
      expect_same(found, expected, 1e-11);
      EXPECT_EQ(found.step3.form, "double");
      EXPECT_EQ(found.step4.form, "double");
      EXPECT_LE(found.batch, orbitals);
      EXPECT_EQ(again.opposite_spin, found.opposite_spin);
      EXPECT_EQ(again.same_spin, found.same_spin);
    }
  }
}

/// Three panels of (ia|P), of 128 MiB, in two buffers.
TEST(CudaRiMp2, PanelsOfStep3AndB) {
  const System system = generated_system(40, 300, 3000, next_seed());
  Energy here, there;
  const std::vector<double> expected = make_b(system, {}, here), found = make_b(system, on_gpu(), there);
  ASSERT_EQ(found.size(), expected.size());
  double most = 0, error = 0, error_in_single = 0;
  const std::vector<double> in_single = make_b(system, on_gpu(ProductPrecision::single), there);
  for (std::size_t k = 0; k < found.size(); ++k) {
    most = std::max(most, std::abs(expected[k]));
    error = std::max(error, std::abs(found[k] - expected[k]));
    error_in_single = std::max(error_in_single, std::abs(in_single[k] - expected[k]));
  }
  // Terms of the sums are larger than the sums, as the metric's condition of 10^5 is felt.
  EXPECT_LT(error, 1e-10 * most);
  EXPECT_LT(error_in_single, 1e-1 * most);
  EXPECT_GT(error_in_single, 1e-9 * most);
}

TEST(CudaRiMp2, SinglePrecisionKeepsItsError) {
  for (const auto& [o, v, n] : sizes) {
    const System system = random_system(o, v, n);
    const Energy expected = correlation_energy(system, {});
    Options options = on_gpu(ProductPrecision::single);
    options.memory = memory_for(system, 2);
    const Energy found = correlation_energy(system, options);
    expect_same(found, expected, 1e-4);
    EXPECT_EQ(found.step3.form, "single");
    EXPECT_EQ(found.step4.form, "single");
    EXPECT_EQ(correlation_energy(system, options).correlation, found.correlation);
  }
}

class CudaRiMp2Form : public ::testing::TestWithParam<SmallForm> {};
INSTANTIATE_TEST_SUITE_P(Forms, CudaRiMp2Form,
                         ::testing::Values(SmallForm::single, SmallForm::half2, SmallForm::digits3, SmallForm::digits4,
                                           SmallForm::digits5, SmallForm::digits6),
                         [](const auto& info) { return to_string(info.param); });

/// What the form's proved bound of an integral, with the longest sums, lets the energy move by.
double bound_of_energy(const System& system, const std::vector<double>& b, double delta, SmallForm form) {
  const std::int64_t pairs = system.pairs(), n = system.auxiliary;
  const auto largest =
      std::max_element(b.begin(), b.end(), [](double x, double y) { return std::abs(x) < std::abs(y); });
  const mgemm::FactorProfile profile =
      mgemm::profile_on_host({b.data(), pairs, n, n, true}, std::abs(*largest), {delta}, 1);
  const double element =
      mgemm::form_error_bound({{pairs, pairs, n}, profile, profile}, 0, mgemm::traits_of(form), 2048).certain;
  const Sensitivity sensitivity = energy_sensitivity(system, squares_of_rows(system, b));
  return sensitivity.first * element + sensitivity.second * element * element;
}

TEST_P(CudaRiMp2Form, EnergiesKeepTheBoundOfTheForm) {
  for (const auto& [o, v, n] : sizes) {
    const System system = random_system(o, v, n);
    Energy report;
    const std::vector<double> b = make_b(system, {}, report);
    const Energy expected = correlation_energy(system, {});
    for (const double delta : {0.01, 0.1, 1e9}) {
      SCOPED_TRACE(::testing::Message() << o << ' ' << v << ' ' << n << ", delta " << delta);
      Options options = mixed(Cutoff::at(delta), GetParam());
      options.memory = memory_for(system, 2);
      const Energy found = correlation_energy(system, options);
      EXPECT_THAT(found.step4.form, HasSubstr("small elements in " + to_string(GetParam())));
      EXPECT_EQ(found.step4.delta, delta);
      EXPECT_NEAR(found.correlation, expected.correlation,
                  bound_of_energy(system, b, delta, GetParam()) + 1e-11 * std::abs(expected.opposite_spin));
      EXPECT_EQ(correlation_energy(system, options).correlation, found.correlation);
      // Step 3 in mixed precision, too.
      options.step3 = Cutoff::at(delta);
      const Energy both = correlation_energy(system, options);
      EXPECT_THAT(both.step3.form, HasSubstr("mgemm")) << both.step3.form;
      expect_same(both, expected, 1e-2);
    }
  }
}

/// Orbitals are not a multiple of those of a block.
constexpr std::array<std::int64_t, 3> of_streams = {97, 30, 500};

/// B is so many times the cap.
Options capped(Options options, const System& system, std::int64_t times = 10) {
  options.memory_cap = 8 * system.pairs() * system.auxiliary / times;
  return options;
}

/// Every unit of B comes once in a block, and those before a block once more for it.
void expect_streamed(const Energy& found, const System& system, const Options& options, std::int64_t number_bytes) {
  ASSERT_GT(found.stream.memory, 0);
  EXPECT_LE(found.stream.memory, options.memory_cap);
  const double blocks = std::ceil(double(system.occupied) / double(found.stream.kept));
  const double b_bytes = double(number_bytes) * double(system.pairs()) * double(system.auxiliary);
  EXPECT_GT(blocks, 5);
  // With the last unit as large as the others, which may be a hundredth more.
  EXPECT_LE(double(found.step4.streamed), 1.02 * b_bytes * (blocks + 1) / 2);
  EXPECT_GE(double(found.step4.streamed), 0.8 * b_bytes * blocks / 2);
}

TEST(CudaRiMp2, EnergiesOfABInTheHostsMemoryAreThoseOfOneOnTheDevice) {
  const System system = random_system(of_streams[0], of_streams[1], of_streams[2]);
  const Energy expected = correlation_energy(system, on_gpu());
  const Options in_double = capped(on_gpu(), system), single = capped(on_gpu(ProductPrecision::single), system);
  const Energy found = correlation_energy(system, in_double), again = correlation_energy(system, in_double);
  expect_streamed(found, system, in_double, 8);
  expect_same(found, expected, 1e-11);
  EXPECT_EQ(again.correlation, found.correlation);
  const Energy in_single = correlation_energy(system, single);
  expect_streamed(in_single, system, single, 4);
  expect_same(in_single, correlation_energy(system, on_gpu(ProductPrecision::single)), 1e-5);
}

TEST(CudaRiMp2, IntegralsOfABInTheHostsMemoryAreSeenOnce) {
  const System system = random_system(of_streams[0], 5, 300);
  Options options = on_gpu();
  options.memory_cap = 600000;
  const std::vector<double> found = integrals_made(system, options), expected = integrals_made(system, {});
  EXPECT_GT(correlation_energy(system, options).stream.memory, 0);
  for (std::size_t k = 0; k < expected.size(); ++k) ASSERT_NEAR(found[k], expected[k], 1e-11) << k;
}

TEST_P(CudaRiMp2Form, EnergiesOfABInTheHostsMemoryKeepTheBoundOfTheForm) {
  const System system = random_system(of_streams[0], of_streams[1], of_streams[2]);
  Energy report;
  const std::vector<double> b = make_b(system, {}, report);
  const Energy expected = correlation_energy(system, {});
  for (const double delta : {0.3, 1e9}) {
    for (const std::int64_t times : {10, 3}) {  // units of one orbital, of two
      SCOPED_TRACE(::testing::Message() << "delta " << delta << ", cap B / " << times);
      Options options = capped(mixed(Cutoff::at(delta), GetParam()), system, times);
      const Energy found = correlation_energy(system, options);
      EXPECT_THAT(found.step4.form, HasSubstr("small elements in " + to_string(GetParam())));
      EXPECT_EQ(found.batch, times == 10 ? 1 : 2);
      expect_streamed(found, system, options, 8);
      EXPECT_NEAR(found.correlation, expected.correlation,
                  bound_of_energy(system, b, delta, GetParam()) + 1e-11 * std::abs(expected.opposite_spin));
      EXPECT_EQ(correlation_energy(system, options).correlation, found.correlation);
      options.step3 = Cutoff::at(delta);
      expect_same(correlation_energy(system, options), expected, 1e-2);
    }
  }
}

/// Lists of all of B take 24 bytes a number beside 8 of it: here units that stay, one that passes and its parts fit,
/// lists of all do not.
TEST(CudaRiMp2, ListsThatDoNotFitMeanDouble) {
  const System system = random_system(of_streams[0], of_streams[1], of_streams[2]);
  const double expected = correlation_energy(system, {}).correlation;
  const Options options = capped(mixed(Cutoff::at(1e-9), SmallForm::single), system);
  const Energy found = correlation_energy(system, options);
  EXPECT_THAT(found.step4.form, HasSubstr("double: "));
  EXPECT_EQ(found.step4.delta, 0);
  expect_streamed(found, system, options, 8);
  EXPECT_NEAR(found.correlation, expected, 1e-11 * std::abs(expected));
}

TEST(CudaRiMp2, ACapChoosesACertainCutoffOrRefuses) {
  const System system = random_system(of_streams[0], of_streams[1], of_streams[2]);
  const double expected = correlation_energy(system, on_gpu()).correlation;
  const Options options = capped(mixed(Cutoff::for_error(1, Assurance::certain)), system, 3);
  const Energy energy = correlation_energy(system, options);
  EXPECT_GT(energy.stream.memory, 0);
  EXPECT_THAT(energy.step4.form, HasSubstr("mgemm: delta"));
  EXPECT_LT(std::abs(energy.correlation - expected), 1);
  const auto message_of = [&](const Options& refused) -> std::string {
    try {
      (void)correlation_energy(system, refused);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message_of(capped(mixed(Cutoff::for_error(1, Assurance::measured)), system)),
              HasSubstr("give a delta, or assurance certain"));
  Options small = on_gpu();
  small.memory_cap = 300000;
  const std::string message = message_of(small), before = "the smallest that does is ";
  ASSERT_THAT(message, HasSubstr(before));
  small.memory_cap = std::stoll(message.substr(message.find(before) + before.size()));
  EXPECT_EQ(correlation_energy(system, small).stream.kept, 1);
}

/// The estimate against errors of the energy, in units of which it stands for about twelve.
TEST_P(CudaRiMp2Form, ASampleShowsTheErrorOfTheEnergy) {
  for (const auto& [o, v] : {std::pair{2, 20}, std::pair{6, 60}}) {  // all rows, and a sample
    const System system = random_system(o, v, 80);
    Energy report;
    const std::vector<double> b = make_b(system, {}, report);
    double max_abs = 0;
    for (const double x : b) max_abs = std::max(max_abs, std::abs(x));
    const OnDevice<double> there(b);
    DeviceEnergySample sample(system, there.get(), squares_of_rows(system, b), max_abs);
    const double expected = correlation_energy(system, {}).correlation, rounding = 1e-13 * std::abs(expected);
    double squares = 0, estimates = 0;
    for (const double delta : {0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 1e9}) {
      const double error = correlation_energy(system, mixed(Cutoff::at(delta), GetParam())).correlation - expected;
      const double estimate = sample.errors(GetParam(), delta, 2048).energy;
      EXPECT_LT(std::abs(error), estimate + rounding) << delta;
      EXPECT_EQ(sample.errors(GetParam(), delta, 2048).energy, estimate);
      squares += error * error + rounding * rounding;
      estimates += estimate * estimate;
    }
    EXPECT_LT(std::sqrt(estimates / squares), 1000);
  }
}

/// Step 3 as a split product in this form, step 4 with a cutoff of its own.
Options with_split_step3(double delta_step3, const Cutoff& step4, SmallForm form = SmallForm::automatic) {
  Options options = mixed(step4, form);
  options.step3 = Cutoff::at(delta_step3);
  return options;
}

/// A cutoff with which random numbers are large, so that a split product is one in double.
constexpr double tiny = 1e-9;

/// What a split step 3 makes the energy wrong by, step 4 being exact.
double error_of_split_step3(const System& system, double delta_step3, double expected, SmallForm form) {
  const Energy energy = correlation_energy(system, with_split_step3(delta_step3, Cutoff::at(tiny), form));
  return std::abs(energy.correlation - expected);
}

TEST_P(CudaRiMp2Form, ASampleShowsTheErrorOfASplitStep3) {
  for (const auto& [o, v] : {std::pair{2, 20}, std::pair{6, 60}}) {  // all rows, and a sample
    const System system = random_system(o, v, 80);
    const std::vector<double> root = inverse_square_root(system.p_q, 80);
    const double expected = correlation_energy(system, {}).correlation, rounding = 1e-13 * std::abs(expected);
    double squares = 0, estimates = 0;
    for (const double delta_step3 : {0.01, 0.05, 0.1, 0.2, 0.4, 1e9}) {
      Energy report;
      const std::vector<double> b = make_b(system, with_split_step3(delta_step3, Cutoff::at(tiny), GetParam()), report);
      ASSERT_THAT(report.step3.form, HasSubstr("mgemm"));
      double max_abs = 0;
      for (const double x : b) max_abs = std::max(max_abs, std::abs(x));
      const OnDevice<double> there(b);
      DeviceEnergySample sample(system, there.get(), squares_of_rows(system, b), max_abs, &root);
      const double alone = error_of_split_step3(system, delta_step3, expected, GetParam());
      EXPECT_LT(alone, sample.error_of_step3() + rounding) << delta_step3;
      squares += alone * alone + rounding * rounding;
      estimates += sample.error_of_step3() * sample.error_of_step3();
      for (const double delta : {tiny, 0.1, 1e9}) {
        const Options both = with_split_step3(delta_step3, Cutoff::at(delta), GetParam());
        EXPECT_LT(std::abs(correlation_energy(system, both).correlation - expected),
                  sample.errors(GetParam(), delta, 2048).energy + rounding)
            << delta_step3 << ' ' << delta;
      }
    }
    EXPECT_LT(std::sqrt(estimates / squares), 1000);
  }
}

TEST(CudaRiMp2, TheSampleOfASplitStep3IsThatOfTheCpu) {
  const System system = random_system(6, 60, 80);
  const std::vector<double> root = inverse_square_root(system.p_q, 80);
  for (const double delta_step3 : {0.05, 0.2, 1e9}) {
    Energy report;
    const std::vector<double> b =
        make_b(system, with_split_step3(delta_step3, Cutoff::at(tiny), SmallForm::single), report);
    double max_abs = 0;
    for (const double x : b) max_abs = std::max(max_abs, std::abs(x));
    const OnDevice<double> there(b);
    const SampledEnergyError here(system, b, squares_of_rows(system, b), &root);
    const DeviceEnergySample sample(system, there.get(), squares_of_rows(system, b), max_abs, &root);
    EXPECT_GT(here.error_of_step3(), 0);
    EXPECT_NEAR(sample.error_of_step3(), here.error_of_step3(), 1e-3 * here.error_of_step3()) << delta_step3;
  }
}

/// With targets that lie on both sides of what step 3 does in single, whose error stands out from rounding in double.
TEST(CudaRiMp2, AnAutomaticCutoffKeepsTheTargetWithASplitStep3) {
  const System system = random_system(8, 60, 70);
  const double expected = correlation_energy(system, {}).correlation, rounding = 1e-11 * std::abs(expected);
  const auto check = [&](const Options& options) {
    const double target = options.products.cutoff.target_error;
    SCOPED_TRACE(::testing::Message() << options.step3.delta << ", target " << target);
    const Energy energy = correlation_energy(system, options);
    const double error = std::abs(energy.correlation - expected);
    EXPECT_LT(error, target + rounding) << energy.step3.form << "; " << energy.step4.form;
    EXPECT_LE(energy.step4.energy_error, target);
    EXPECT_GT(energy.step4.energy_error + rounding, error);
    const bool exact = energy.step3.form.starts_with("double") && energy.step4.form.starts_with("double");
    EXPECT_EQ(energy.step4.energy_error == 0, exact);
  };
  for (const double delta_step3 : {0.05, 0.3, 1e9}) {
    const double alone = error_of_split_step3(system, delta_step3, expected, SmallForm::single);
    for (const Assurance assurance : {Assurance::certain, Assurance::measured}) {
      for (const double target : {0.1, 1e-4, 1e-6, 1e-8, 100 * alone, 10 * alone, alone / 2}) {
        for (const SmallForm form : {SmallForm::automatic, SmallForm::single}) {
          check(with_split_step3(delta_step3, Cutoff::for_error(target, assurance), form));
        }
      }
    }
  }
}

TEST(CudaRiMp2, ATooCoarseStep3IsDoneInDoubleAndSaid) {
  const System system = random_system(8, 60, 70);
  const double expected = correlation_energy(system, {}).correlation;
  const double alone = error_of_split_step3(system, 0.3, expected, SmallForm::single);
  for (const Assurance assurance : {Assurance::certain, Assurance::measured}) {
    Options options = with_split_step3(0.3, Cutoff::for_error(alone / 2, assurance), SmallForm::single);
    const Energy exact = correlation_energy(system, options);
    EXPECT_THAT(exact.step3.form, ::testing::StartsWith("double: delta_step3 = 0.3 alone may change the energy by "));
    EXPECT_LT(std::abs(exact.correlation - expected), alone / 2);
    options.products.cutoff.target_error = 100;
    const Energy split = correlation_energy(system, options);
    EXPECT_THAT(split.step3.form, HasSubstr("mgemm"));
    EXPECT_THAT(split.step4.form, HasSubstr("mgemm"));
    EXPECT_GT(split.step4.energy_error, alone);
  }
}

/// A step 3 that is nearly all in double leaves room that no split of step 4 keeps.
TEST(CudaRiMp2, StepFourInDoubleLeavesTheErrorOfASplitStep3) {
  const System system = random_system(8, 60, 70);
  const double expected = correlation_energy(system, {}).correlation;
  Energy report;
  const Options options = with_split_step3(1e-3, Cutoff::at(tiny), SmallForm::single);
  const std::vector<double> root = inverse_square_root(system.p_q, 70), b = make_b(system, options, report);
  const double of_step3 = SampledEnergyError(system, b, squares_of_rows(system, b), &root).error_of_step3();
  const Cutoff target = Cutoff::for_error(1.05 * of_step3, Assurance::measured);
  const Energy energy = correlation_energy(system, with_split_step3(1e-3, target, SmallForm::single));
  EXPECT_THAT(energy.step3.form, HasSubstr("mgemm"));
  EXPECT_THAT(energy.step4.form, HasSubstr("double: no cutoff"));
  EXPECT_NEAR(energy.step4.energy_error, of_step3, 4e-2 * of_step3);
  EXPECT_LT(std::abs(energy.correlation - expected), of_step3);
}

/// The same rows, multiplied in the same precision: what differs is the order of sums.
TEST(CudaRiMp2, TheSampleIsThatOfTheCpu) {
  const System system = random_system(6, 60, 80);
  Energy report;
  const std::vector<double> b = make_b(system, {}, report);
  double max_abs = 0;
  for (const double x : b) max_abs = std::max(max_abs, std::abs(x));
  const OnDevice<double> there(b);
  const SampledEnergyError here(system, b, squares_of_rows(system, b));
  DeviceEnergySample sample(system, there.get(), squares_of_rows(system, b), max_abs);
  for (const double delta : {0.05, 0.2, 1e9}) {
    const double expected = here.errors(delta, 2048).energy,
                 found = sample.errors(SmallForm::single, delta, 2048).energy;
    EXPECT_LT(found, 5 * expected) << delta;
    EXPECT_GT(found, expected / 5) << delta;
  }
}

TEST(CudaRiMp2, AnAutomaticCutoffKeepsTheTarget) {
  const System system = random_system(8, 60, 70);
  const double expected = correlation_energy(system, {}).correlation;
  for (const Assurance assurance : {Assurance::certain, Assurance::measured}) {
    for (const double target : {1.0, 1e-4, 1e-6, 1e-8, 1e-18}) {
      const Energy energy = correlation_energy(system, mixed(Cutoff::for_error(target, assurance)));
      if (!energy.step4.form.starts_with("mgemm")) {
        EXPECT_THAT(energy.step4.form, HasSubstr("double: no cutoff"));
        EXPECT_NEAR(energy.correlation, expected, 1e-11 * std::abs(expected));
        continue;
      }
      EXPECT_LT(std::abs(energy.correlation - expected), target + 1e-12) << energy.step4.form;
      EXPECT_LE(energy.step4.energy_error, target);
      EXPECT_GT(energy.step4.energy_error, 0);
    }
  }
  EXPECT_THAT(correlation_energy(system, mixed(Cutoff::for_error(0.1, Assurance::measured))).step4.form,
              HasSubstr("mgemm"));
  EXPECT_THAT(correlation_energy(system, mixed(Cutoff::for_error(1e-18, Assurance::measured))).step4.form,
              HasSubstr("double: no cutoff"));
}

TEST(CudaRiMp2, SmallProductsAreDoneInDouble) {
  const System system = random_system(3, 8, 20);
  Options options = mixed(Cutoff::at(0.1));
  options.products.always_split = false;
  EXPECT_THAT(correlation_energy(system, options).step4.form, HasSubstr("too small to split"));
}

TEST(CudaRiMp2, WhoSeesBatchesSeesAllIntegrals) {
  const System system = random_system(5, 7, 30);
  const std::vector<double> exact = integrals_of(system);
  const std::int64_t v = system.virtuals, pairs = system.pairs();
  Options options = on_gpu();
  options.memory = memory_for(system, 2);
  std::int64_t seen = 0;
  options.see_batch = [&](const Batch<double>& batch) {
    for (std::int64_t row = 0; row < batch.count_i * v; ++row) {
      for (std::int64_t column = 0; column < batch.count_j * v; ++column, ++seen) {
        EXPECT_NEAR(batch.integrals[row * batch.count_j * v + column],
                    exact[std::size_t((batch.first_i * v + row) * pairs + batch.first_j * v + column)], 1e-12);
      }
    }
  };
  (void)correlation_energy(system, options);
  EXPECT_EQ(seen, (2 * 2 * 3 + 1 * 2 * 2 + 1) * v * v);  // batches of 2, 2 and 1 orbitals
}

TEST(CudaRiMp2, AStudyRunsThere) {
  const System system = random_system(5, 7, 30);
  StudyOptions study;
  study.deltas = {0.1};
  study.target_errors = {0.1};
  study.repeats = 1;
  study.memory = memory_for(system, 2);
  const std::vector<StudyRow> here = study_system(system, study);
  study.backend = &backend();
  const std::vector<StudyRow> there = study_system(system, study);
  ASSERT_EQ(there.size(), here.size());
  EXPECT_NEAR(there[0].energy.correlation, here[0].energy.correlation, 1e-11 * std::abs(here[0].energy.correlation));
  EXPECT_EQ(there[2].large_b, here[2].large_b);
  for (std::size_t k = 1; k < there.size(); ++k) {
    EXPECT_GT(there[k].integrals.largest, 0) << to_string(there[k]);
    EXPECT_LT(there[k].integrals.largest, 0.01) << to_string(there[k]);
    EXPECT_LT(there[k].step4_seconds, there[k].seconds);
  }
}

/// What is said of a memory that nobody has given a cap for.
std::string message_of_a_large_pair(const Options& options) {
  const std::int64_t virtuals = 300000;  // 720 GB for the integrals of one pair of occupied orbitals
  System system{1, virtuals, 1, std::vector<double>(std::size_t(virtuals), 0.1), {1}, {-1}, {}};
  system.eps_virtual.assign(std::size_t(virtuals), 1);
  try {
    (void)correlation_energy(system, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    return error.message();
  }
  return "no error";
}

TEST(CudaRiMp2, MemoryThatIsNotThereIsSaidInBytes) {
  Options options = on_gpu();
  options.memory = std::int64_t(1) << 40;
  const std::string message = message_of_a_large_pair(options);
  EXPECT_THAT(message, HasSubstr("one pair of occupied orbitals needs 720007462144 bytes (686653 MiB) of the GPU's"));
  EXPECT_THAT(message, HasSubstr("free memory there, or compute on the CPU"));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("memory_cap")));
  // The sample of this choice needs B on the device.
  options.products.precision = ProductPrecision::mgemm;
  options.products.cutoff = Cutoff::for_error(1, Assurance::measured);
  const std::string of_batch = message_of_a_large_pair(options);
  EXPECT_THAT(of_batch, HasSubstr("a batch of integrals needs 720000000000 bytes"));
  EXPECT_THAT(of_batch, HasSubstr("use a smaller `memory`"));
  EXPECT_LT(correlation_energy(random_system(2, 5, 6), on_gpu()).correlation, 0);  // and life goes on
}

}  // namespace
}  // namespace quadrille::ri_mp2
