// B through a memory that it does not fit into: plans, energies against those with B in memory, and what goes wrong.
#include "modules/ri_mp2/stream/streamed.h"

#include "core/error.h"
#include "modules/ri_mp2/stream/plan.h"
#include "modules/ri_mp2/stream/scratch_file.h"
#include "modules/ri_mp2/tasks/generated_system.h"
#include "tests/modules/ri_mp2/systems.h"
#include "tests/testing/file_size_limit.h"
#include "tests/testing/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace quadrille::ri_mp2 {
namespace {

using ::testing::HasSubstr;
using namespace quadrille::testing;
using mgemm::ProductPrecision;

TEST(RiMp2Plan, APlanBringsEachPairOnceWithinTheCap) {
  for (const std::int64_t occupied : {1, 2, 7, 30, 31}) {
    for (const std::int64_t most_batch : {1, 3, 40}) {
      const StreamCosts costs{1000, 700, 30, 50};
      EXPECT_FALSE(plan_stream(occupied, costs, costs.smallest() - 1, most_batch));
      for (std::int64_t cap = costs.smallest(); cap < 80000; cap = cap * 5 / 4) {
        const std::optional<StreamPlan> plan = plan_stream(occupied, costs, cap, most_batch);
        ASSERT_TRUE(plan) << occupied << ' ' << cap;
        EXPECT_LE(plan->bytes, cap);
        EXPECT_LE(plan->batch, most_batch);
        EXPECT_EQ(plan->units, (occupied + plan->batch - 1) / plan->batch);
        std::set<std::pair<std::int64_t, std::int64_t>> seen;
        std::set<std::int64_t> here;
        std::int64_t passing = -1, brought = 0;
        for_each_pair(
            *plan,
            [&](std::int64_t first, std::int64_t count) {
              EXPECT_LE(count, plan->kept);
              here.clear();
              for (std::int64_t unit = first; unit < first + count; ++unit, ++brought) here.insert(unit);
            },
            [&](std::int64_t unit) {
              passing = unit;
              ++brought;
            },
            [&](std::int64_t i, std::int64_t j) {
              EXPECT_TRUE(here.contains(i));
              EXPECT_TRUE(here.contains(j) || passing == j);
              EXPECT_LE(j, i);
              EXPECT_TRUE(seen.emplace(i, j).second);
            });
        EXPECT_EQ(std::int64_t(seen.size()), plan->units * (plan->units + 1) / 2);
        EXPECT_EQ(brought, plan->brought());
        const double blocks = std::ceil(double(plan->units) / double(plan->kept));
        EXPECT_LE(double(brought), double(plan->units) * (blocks + 1) / 2);
      }
    }
  }
}

/// What a cap leaves for the block decides: room for larger units than there are would be lost to it.
TEST(RiMp2Plan, UnitsAreAsLargeAsTheRoomThatIsSetAsideForThem) {
  const auto costs_of = [](std::int64_t batch) { return StreamCosts{1000, 700, 30, 50 + 300 * batch * batch}; };
  EXPECT_FALSE(plan_stream_of(31, costs_of, costs_of(1).smallest() - 1, 40));
  for (std::int64_t cap = costs_of(1).smallest(); cap < 200000; cap = cap * 5 / 4) {
    const std::optional<StreamPlan> plan = plan_stream_of(31, costs_of, cap, 40);
    ASSERT_TRUE(plan) << cap;
    const StreamCosts costs = costs_of(plan->batch);
    EXPECT_LE(plan->bytes, cap);
    EXPECT_EQ(plan->bytes, plan_stream(31, costs, cap, plan->batch)->bytes);
    for (std::int64_t larger = plan->batch + 1; larger <= 40; ++larger) {
      const std::optional<StreamPlan> other = plan_stream(31, costs_of(larger), cap, larger);
      EXPECT_TRUE(!other || other->batch < larger) << cap << ' ' << larger;
    }
  }
  EXPECT_EQ(plan_stream_of(31, costs_of, costs_of(1).smallest(), 40)->kept, 1);
}

/// A system whose (ia|P) is asked for in parts, as one in a file.
System in_parts(const System& system) {
  System out = system;
  out.ia_p.clear();
  const std::int64_t orbital = system.virtuals * system.auxiliary;
  out.read_ia_p = [ia_p = system.ia_p, orbital](std::int64_t first, std::int64_t count, double* to) {
    std::copy_n(ia_p.begin() + first * orbital, count * orbital, to);
  };
  return out;
}

class RiMp2Stream : public ::testing::Test {
 protected:
  Options with_cap(Options options, std::int64_t bytes) {
    options.memory_cap = bytes;
    options.scratch = folder_.file("scratch");
    return options;
  }
  bool nothing_is_left() const { return folder_.count() == 0; }
  std::string message_of(const System& system, const Options& options, ErrorCode code) {
    try {
      (void)correlation_energy(system, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_TRUE(nothing_is_left());
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
};

Options in(ProductPrecision precision, double delta = 0) {
  Options options;
  options.products = {precision, mgemm::Cutoff::at(delta), true};
  options.step3 = options.products.cutoff;
  return options;
}

/// What a cap changes is the order of sums: in double these are the only errors, in the others sums of single
/// precision.
TEST_F(RiMp2Stream, EnergiesAreThoseOfABInMemory) {
  const System system = random_system(60, 20, 40);
  const std::int64_t b_bytes = 8 * system.pairs() * system.auxiliary;
  const double expected = correlation_energy(system, {}).correlation;
  for (const Options& options : {in(ProductPrecision::double_), in(ProductPrecision::single),
                                 in(ProductPrecision::mgemm, 0.4), in(ProductPrecision::mgemm, 1e9)}) {
    const Energy whole = correlation_energy(system, options);
    EXPECT_EQ(whole.stream.memory, 0);
    EXPECT_EQ(whole.step3.streamed + whole.step4.streamed, 0);
    const bool exact = options.products.precision == ProductPrecision::double_;
    for (const std::int64_t share : {10, 2}) {
      SCOPED_TRACE(::testing::Message() << whole.step4.form << ", cap B / " << share);
      const Options capped = with_cap(options, b_bytes / share);
      for (const System& source : {system, in_parts(system)}) {
        const Energy found = correlation_energy(source, capped);
        EXPECT_NEAR(found.correlation, whole.correlation, (exact ? 1e-12 : 2e-6) * std::abs(expected));
        EXPECT_NEAR(found.same_spin, whole.same_spin, (exact ? 1e-12 : 2e-6) * std::abs(expected));
        EXPECT_EQ(found.step4.form, whole.step4.form);
        EXPECT_GT(found.stream.memory, 0);
        EXPECT_LE(found.stream.memory, capped.memory_cap);
        EXPECT_GE(found.step4.streamed, found.step3.streamed);
        EXPECT_TRUE(nothing_is_left());
      }
    }
  }
}

/// A third of B in lists, which count.
TEST_F(RiMp2Stream, ManyLargeElementsTakeMemoryToo) {
  const System system = random_system(30, 20, 40);
  const Options options = in(ProductPrecision::mgemm, 0.1);
  const Energy whole = correlation_energy(system, options);
  const std::int64_t cap = 8 * system.pairs() * system.auxiliary / 2;
  const Energy found = correlation_energy(system, with_cap(options, cap));
  EXPECT_EQ(found.step4.form, whole.step4.form);
  EXPECT_LE(found.stream.memory, cap);
  EXPECT_LT(found.stream.kept, correlation_energy(system, with_cap(in(ProductPrecision::mgemm, 1e9), cap)).stream.kept);
  EXPECT_NEAR(found.correlation, whole.correlation, 2e-6 * std::abs(whole.correlation));
}

/// Lists of all of B take 92 bytes a number, B in double 8.
TEST_F(RiMp2Stream, ListsThatDoNotFitMeanDouble) {
  const System system = random_system(30, 20, 40);
  const double expected = correlation_energy(system, {}).correlation;
  const Energy found = correlation_energy(system, with_cap(in(ProductPrecision::mgemm, 1e-9), 40000));
  EXPECT_EQ(found.step4.form, "double: large elements leave no room for a split in 40000 bytes");
  EXPECT_LE(found.stream.memory, 40000);
  EXPECT_NEAR(found.correlation, expected, 1e-11 * std::abs(expected));
}

TEST_F(RiMp2Stream, AScratchFileIsWantedWhereBDoesNotFit) {
  const System system = random_system(12, 20, 30);
  const std::int64_t b_bytes = 8 * system.pairs() * system.auxiliary;
  EXPECT_FALSE(needs_scratch(system, {}));
  Options options;
  options.memory_cap = b_bytes / 2;
  EXPECT_TRUE(needs_scratch(system, options));
  options.memory_cap = 1 << 30;
  EXPECT_FALSE(needs_scratch(system, options));
}

TEST_F(RiMp2Stream, BIsMadeOfASystemInParts) {
  const System system = random_system(5, 6, 11);
  Energy ignored;
  EXPECT_EQ(make_b(in_parts(system), {}, ignored), make_b(system, {}, ignored));
}

TEST_F(RiMp2Stream, IntegralsAreSeenOnceAndAreThoseOfABInMemory) {
  const System system = random_system(9, 7, 15);
  const std::vector<double> expected = integrals_of(system);
  Options options = with_cap({}, 8 * system.pairs() * system.auxiliary / 2);
  const std::vector<double> found = integrals_made(system, options);
  for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(found[k], expected[k], 1e-11);
  std::int64_t seen = 0;
  double last = 0;
  options.see_batch = [&](const Batch<double>& batch) {
    seen += batch.count_i * batch.count_j * (batch.first_i == batch.first_j ? 1 : 2);
  };
  options.progress = [&](double fraction) {
    EXPECT_GT(fraction, last);
    last = fraction;
  };
  EXPECT_GT(correlation_energy(system, options).stream.kept, 1);
  EXPECT_EQ(seen, 9 * 9);
  EXPECT_EQ(last, 1);
}

/// The bytes that are read are those of the plan: all of B once, and the units before each block.
TEST_F(RiMp2Stream, TheBytesThatPassAreCounted) {
  const System system = random_system(30, 20, 40);
  const std::int64_t b_bytes = 8 * system.pairs() * system.auxiliary;
  const Energy found = correlation_energy(system, with_cap({}, b_bytes / 10));
  EXPECT_EQ(found.step3.streamed, b_bytes);
  const double blocks = std::ceil(30.0 / double(found.stream.kept));
  EXPECT_LE(double(found.step4.streamed), double(b_bytes) * (blocks + 1) / 2);
  EXPECT_GE(double(found.step4.streamed), 0.8 * double(b_bytes) * blocks / 2);
}

TEST_F(RiMp2Stream, TheSmallestCapIsSaid) {
  const System system = random_system(12, 20, 30);
  for (const Options& options :
       {in(ProductPrecision::double_), in(ProductPrecision::single), in(ProductPrecision::mgemm, 1e9)}) {
    const std::string message = message_of(system, with_cap(options, 1000), ErrorCode::invalid_input);
    const std::string before = "the smallest that does is ";
    EXPECT_THAT(message,
                HasSubstr("a memory_cap of 1000 bytes does not hold one pair of occupied orbitals: " + before));
    const std::int64_t least = std::stoll(message.substr(message.find(before) + before.size()));
    EXPECT_THAT(message_of(system, with_cap(options, least - 1), ErrorCode::invalid_input),
                HasSubstr(before + std::to_string(least) + " bytes"));
    const Energy found = correlation_energy(system, with_cap(options, least));
    EXPECT_GE(found.stream.kept, 1);
    EXPECT_LE(found.stream.kept, 3) << "step 3 may need more than a pair";
    EXPECT_NEAR(found.correlation, correlation_energy(system, options).correlation, 2e-6 * std::abs(found.correlation));
  }
  EXPECT_THAT(message_of(system, with_cap({}, -1), ErrorCode::invalid_input), HasSubstr("memory_cap = -1"));
}

/// 72 TB for the integrals of one pair of occupied orbitals.
TEST_F(RiMp2Stream, WithoutACapWhatIsFreeIsSaid) {
  const std::int64_t virtuals = 3000000;
  System system{1, virtuals, 1, std::vector<double>(std::size_t(virtuals), 0.1), {1}, {-1}, {}};
  system.eps_virtual.assign(std::size_t(virtuals), 1);
  Options options = with_cap({}, 0);
  options.memory = std::int64_t(1) << 50;
  const std::string message = message_of(system, options, ErrorCode::unsupported);
  EXPECT_THAT(message, HasSubstr("not enough memory: one pair of occupied orbitals needs 72000048000000 bytes"));
  EXPECT_THAT(message, HasSubstr(" of the host's memory, of which "));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("memory_cap")));
}

TEST_F(RiMp2Stream, AnAutomaticCutoffIsCertain) {
  const System system = random_system(16, 40, 70);
  const double expected = correlation_energy(system, {}).correlation;
  const std::int64_t cap = 8 * system.pairs() * system.auxiliary / 3;
  Options options;
  options.products = {ProductPrecision::mgemm, mgemm::Cutoff::for_error(1, mgemm::Assurance::measured), true};
  EXPECT_THAT(message_of(system, with_cap(options, cap), ErrorCode::invalid_input),
              HasSubstr("give a delta, or assurance certain"));
  for (const double target : {1e3, 1e-12}) {
    options.products.cutoff = mgemm::Cutoff::for_error(target, mgemm::Assurance::certain);
    const Energy energy = correlation_energy(system, with_cap(options, cap));
    EXPECT_GT(energy.stream.memory, 0);
    EXPECT_LT(std::abs(energy.correlation - expected), energy.step4.energy_error + 1e-11 * std::abs(expected));
    EXPECT_LE(energy.step4.energy_error, target);
    EXPECT_THAT(energy.step4.form, ::testing::StartsWith(target < 1e-9 ? "double: no cutoff" : "mgemm"));
  }
  options.step3 = mgemm::Cutoff::at(0.3);  // too coarse for the target
  options.products.cutoff = mgemm::Cutoff::for_error(1e-9, mgemm::Assurance::certain);
  const Energy energy = correlation_energy(system, with_cap(options, cap));
  EXPECT_THAT(energy.step3.form, HasSubstr("double: delta_step3 = 0.3 alone may change the energy by "));
  EXPECT_LT(std::abs(energy.correlation - expected), 1e-11 * std::abs(expected));
}

TEST_F(RiMp2Stream, ADiskThatDoesNotTakeBIsSaidAndNothingIsLeft) {
  const System system = random_system(12, 20, 30);
  Options options = with_cap({}, 40000);
  {
    const FileSizeLimit full(20000);
    EXPECT_THAT(message_of(system, options, ErrorCode::file), HasSubstr("cannot be written, as it needs 57600 bytes"));
  }
  EXPECT_GT(correlation_energy(system, options).stream.memory, 0);
  options.scratch = folder_.file("nowhere/scratch");
  EXPECT_THAT(message_of(system, options, ErrorCode::file), HasSubstr("its folder must exist"));
  options.scratch = "/dev/null";
  EXPECT_THAT(message_of(system, options, ErrorCode::file), HasSubstr("B can be in a file only"));
}

TEST_F(RiMp2Stream, NumbersThatAreNotFiniteAreNamed) {
  System bad = random_system(12, 20, 30);
  bad.ia_p[6543] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message_of(in_parts(bad), with_cap({}, 40000), ErrorCode::numerical),
              HasSubstr("(ia|P): number 6543 (from 0) is nan"));
  EXPECT_THAT(message_of(in_parts(bad), {}, ErrorCode::numerical), HasSubstr("(ia|P): number 6543 (from 0) is nan"));
}

TEST(RiMp2, AGeneratedSystemIsTheSameInParts) {
  const std::uint64_t seed = next_seed();
  const System whole = generated_system(5, 6, 17, seed), parts = generated_on_demand(5, 6, 17, seed);
  std::vector<double> ia_p(whole.ia_p.size());
  parts.read_ia_p(0, 2, ia_p.data());
  parts.read_ia_p(2, 3, ia_p.data() + 2 * 6 * 17);
  const double largest = std::abs(*std::max_element(whole.ia_p.begin(), whole.ia_p.end(),
                                                    [](double x, double y) { return std::abs(x) < std::abs(y); }));
  for (std::size_t k = 0; k < ia_p.size(); ++k) EXPECT_NEAR(ia_p[k], whole.ia_p[k], 1e-13 * largest);
  EXPECT_EQ(parts.p_q, whole.p_q);
  EXPECT_EQ(parts.eps_virtual, whole.eps_virtual);
}

}  // namespace
}  // namespace quadrille::ri_mp2
