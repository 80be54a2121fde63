// The device's form of the updates, run on the host: one lane against vectors with the same random numbers, and sweeps
// over links in the device's layout against those of the CPU.
#define QUADRILLE_ISA unit_test
#include "tests/modules/quenched/scalar_lanes.h"

#include "core/convert.h"
#include "core/field.h"
#include "core/gauge/start.h"
#include "core/layout/grouped_layout.h"
#include "core/random.h"
#include "modules/quenched/link_update.h"
#include "modules/quenched/pure_gauge.h"
#include "tests/random_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace quadrille::quenched {
namespace {

using testing::next_seed;

constexpr int lanes = 2;

TEST(ScalarLanes, UniformsAreThoseOfTheVectors) {
  const std::uint64_t seed = next_seed();
  const std::uint32_t stream = random_stream(RandomPurpose::Test, 9);
  alignas(16) const std::int64_t sites[lanes] = {12345, (std::int64_t(1) << 47) + 3};
  const simd::LaneRandom<lanes> random(seed, stream, sites);
  for (std::uint32_t block = 0; block < 100; ++block) {
    Real<lanes> first, second;
    random.uniforms(block, first, second);
    for (int lane = 0; lane < lanes; ++lane) {
      const auto found = scalar::uniforms(seed, stream, sites[lane], block);
      EXPECT_EQ(found[0], first[lane]);
      EXPECT_EQ(found[1], second[lane]);
    }
  }
}

TEST(ScalarLanes, DrawsAreThoseOfTheVectors) {
  const std::uint64_t seed = next_seed();
  const std::uint32_t stream = random_stream(RandomPurpose::Test, 9);
  // Both lanes by one method, each by another, and one of no finite alpha.
  for (const auto& [one, two] : {std::pair{0.0, 1e-9}, std::pair{0.7, 1.5}, std::pair{1.2, 3.0}, std::pair{5.0, 20.0},
                                 std::pair{1e5, 0.3}, std::pair{2.0, HUGE_VAL}, std::pair{std::nan(""), 1.0}}) {
    for (std::int64_t first = 0; first < 2000; first += lanes) {
      alignas(16) const std::int64_t sites[lanes] = {first, first + 1};
      const double alpha[lanes] = {one, two};
      DrawCounts<lanes> counts;
      const Quaternion<lanes> expected =
          draw_su2<lanes>(Real<lanes>{one, two}, simd::LaneRandom<lanes>(seed, stream, sites), counts);
      for (int lane = 0; lane < lanes; ++lane) {
        const scalar::Draw found = scalar::draw_su2(alpha[lane], seed, stream, sites[lane]);
        ASSERT_EQ(found.counts.attempts, counts.attempts[lane]);
        ASSERT_EQ(found.counts.draws, counts.draws[lane]);
        ASSERT_EQ(found.counts.creutz_attempts, counts.creutz_attempts[lane]);
        ASSERT_EQ(found.counts.creutz_draws, counts.creutz_draws[lane]);
        if (!std::isfinite(alpha[lane])) {
          EXPECT_TRUE(std::isnan(found.a[0]) && std::isnan(expected.a[0][lane]));
          continue;
        }
        for (std::size_t i = 0; i < 4; ++i) {
          EXPECT_NEAR(found.a[i], expected.a[i][lane], 2e-13) << "alpha " << alpha[lane];
        }
      }
    }
  }
}

TEST(ScalarLanes, UpdatesAreThoseOfTheVectors) {
  SiteRandom random(next_seed(), RandomPurpose::Test, 0);
  const std::uint64_t seed = next_seed();
  for (int trial = 0; trial < 300; ++trial) {
    const SweepPart part{0, 0, 1, 0.1 + 3 * random.uniform(), seed, random_stream(RandomPurpose::Heatbath, 0)};
    alignas(16) const std::int64_t sites[lanes] = {2 * trial, 2 * trial + 1};
    Real<lanes> u[18], staples[18], largest{};
    double one[lanes][18], around[lanes][18];
    for (int n = 0; n < 18; ++n) {
      for (int lane = 0; lane < lanes; ++lane) {
        u[n][lane] = one[lane][n] = random.normal();
        // Every seventh pair has surroundings without direction.
        staples[n][lane] = around[lane][n] = trial % 7 == 0 ? 0 : random.normal();
      }
    }
    const auto expect_same = [&](const char* what, double tolerance) {
      for (int lane = 0; lane < lanes; ++lane) {
        for (int n = 0; n < 18; ++n) EXPECT_NEAR(one[lane][n], u[n][lane], tolerance) << what;
      }
    };
    reunitarize_link<lanes>(u, largest);
    for (int lane = 0; lane < lanes; ++lane) {
      EXPECT_NEAR(scalar::reunitarize(one[lane]), largest[lane], 1e-12 * largest[lane]);
    }
    expect_same("reunitarize", 1e-12);
    DrawCounts<lanes> counts;
    update_link<lanes>(u, staples, Heatbath<lanes>{part.scale, part.seed, part.stream, &counts}, sites);
    for (int lane = 0; lane < lanes; ++lane) {
      HeatbathCounts mine;
      scalar::heatbath(one[lane], around[lane], part, sites[lane], mine);
      EXPECT_EQ(mine.attempts, counts.attempts[lane]);
      EXPECT_EQ(mine.draws, 3);
    }
    expect_same("heatbath", 1e-9);
    update_link<lanes>(u, staples, Overrelaxation<lanes>{}, nullptr);
    for (int lane = 0; lane < lanes; ++lane) scalar::overrelax(one[lane], around[lane]);
    expect_same("overrelaxation", 1e-8);
  }
}

/// Links in the device's layout in this machine's memory.
class GroupedField {
 public:
  GroupedField(const Lattice& lattice, const HostLinks& links) : field_(desc(lattice)) { import_links(field_, links); }

  GroupedLinks links() {
    const Dims& dims = field_.lattice().dims();
    const auto elements = [&](Parity p) { return static_cast<LinkElement*>(field_.numbers(p)); };
    return {{elements(Parity::Even), elements(Parity::Odd)},
            dims[0],
            dims[1],
            dims[2],
            dims[3],
            int(field_.lattice().half_volume())};
  }
  HostLinks values() const {
    HostLinks out(field_.lattice().dims());
    export_links(out, field_);
    return out;
  }

 private:
  static FieldDesc desc(const Lattice& lattice) {
    FieldDesc desc = FieldDesc::links(lattice, Precision::Double, Reconstruct::R18);
    desc.layout = grouped_layout(Precision::Double);
    return desc;
  }

  Field field_;
};

double distance(const HostLinks& a, const HostLinks& b) {
  double largest = 0;
  for (std::size_t n = 0; n < a.data.size(); ++n) largest = std::max(largest, std::abs(a.data[n] - b.data[n]));
  return largest;
}

class GroupedUpdates : public ::testing::TestWithParam<Dims> {};
INSTANTIATE_TEST_SUITE_P(Extents, GroupedUpdates,
                         ::testing::Values(Dims{4, 4, 4, 4}, Dims{4, 6, 8, 2}, Dims{2, 2, 2, 8}, Dims{12, 4, 2, 6},
                                           Dims{6, 10, 6, 4}));

TEST_P(GroupedUpdates, SweepsAreThoseOfTheCpu) {
  const Lattice lattice(GetParam());
  const WilsonGaugeAction action{5.8, 2.464};
  const HostLinks start = weak_start(lattice, next_seed(), 0.4);
  const std::uint64_t seed = next_seed(), number = 77;
  GroupedField relaxed(lattice, start), heated(lattice, start);
  HeatbathCounts counts;
  for (int mu = 0; mu < 4; ++mu) {
    for (int parity : {0, 1}) {
      const SweepPart part{mu,
                           parity,
                           1 / (action.xi0 * action.xi0),
                           action.beta * action.xi0 / 3,
                           step_seed(seed, RandomPurpose::Sweep, number),
                           random_stream(RandomPurpose::Heatbath, std::uint32_t(4 * mu))};
      scalar::overrelax(relaxed.links(), part);
      scalar::heatbath(heated.links(), part, counts);
    }
  }
  PureGauge other(lattice, start, action, seed);
  other.overrelax();
  EXPECT_LT(distance(relaxed.values(), other.links()), 1e-12);
  EXPECT_GT(distance(relaxed.values(), start), 0.1);
  PureGauge gauge(lattice, start, action, seed);
  gauge.heatbath(number);
  EXPECT_LT(distance(heated.values(), gauge.links()), 1e-12);
  EXPECT_EQ(counts.attempts, gauge.counts().attempts);
  EXPECT_EQ(counts.draws, gauge.counts().draws);
  EXPECT_EQ(counts.creutz_attempts, gauge.counts().creutz_attempts);
  EXPECT_EQ(counts.creutz_draws, gauge.counts().creutz_draws);
}

TEST_P(GroupedUpdates, SumsAndReunitarizationAreThoseOfTheCpu) {
  const Lattice lattice(GetParam());
  HostLinks start = weak_start(lattice, next_seed(), 0.4);
  start.data[17] += 1e-4;
  GroupedField field(lattice, start);
  PureGauge gauge(lattice, start, {6, 1}, 1);
  const std::array<double, 6> sums = scalar::plane_sums(field.links()), planes = gauge.planes();
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(sums[k] / (3.0 * double(lattice.volume())), planes[k], 1e-14);
  const std::array<double, 2> loops = scalar::loop_sum(field.links());
  const double space = 3.0 * double(lattice.volume() / lattice.dims()[3]);
  EXPECT_LT(std::abs(Complex(loops[0], loops[1]) / space - gauge.polyakov_loop()), 1e-14);
  const double change = scalar::reunitarize(field.links());
  EXPECT_NEAR(change, gauge.reunitarize(), 1e-14);
  EXPECT_GT(change, 1e-5);
  EXPECT_LT(distance(field.values(), gauge.links()), 1e-14);
}

}  // namespace
}  // namespace quadrille::quenched
