// The device's form of the updates, run on the host: one lane against vectors with the same random numbers, and sweeps
// over links in the device's layout against those of the CPU.
#define QUADRILLE_ISA unit_test
#include "tests/modules/quenched/scalar_lanes.h"

#include "core/field/convert.h"
#include "core/field/field.h"
#include "core/layout/grouped_layout.h"
#include "core/random/random.h"
#include "modules/quenched/link_update.h"
#include "modules/quenched/pure_gauge.h"
#include "tests/host_starts.h"
#include "tests/modules/quenched/link_forms.h"
#include "tests/random_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace quadrille::quenched {
namespace {

using testing::next_seed;

template <class T>
constexpr int lanes = 16 / int(sizeof(T));

/// One lane and several round differently: in float that may, about once in 10^7 draws, turn an attempt that one
/// accepts into one that the other does not. In double that is never seen.
template <class T>
constexpr int most_turns = sizeof(T) == 8 ? 0 : 3;

template <class T>
class ScalarLanes : public ::testing::Test {};
using Numbers = ::testing::Types<double, float>;
TYPED_TEST_SUITE(ScalarLanes, Numbers);

TYPED_TEST(ScalarLanes, UniformsAreThoseOfTheVectors) {
  using T = TypeParam;
  constexpr int V = lanes<T>;
  const std::uint64_t seed = next_seed();
  const std::uint32_t stream = random_stream(RandomPurpose::Test, 9);
  const std::int64_t sites[] = {12345, (std::int64_t(1) << 47) + 3, 0, 77};
  const simd::LaneRandom<T, V> random(seed, stream, sites);
  for (std::uint32_t block = 0; block < 100; ++block) {
    Real<T, V> first, second, first_rest, second_rest;
    random.uniforms(block, first, second);
    random.complements(block, first_rest, second_rest);
    for (int lane = 0; lane < V; ++lane) {
      const auto found = scalar::uniforms<T>(seed, stream, sites[lane], block);
      EXPECT_EQ(found[0], first[lane]);
      EXPECT_EQ(found[1], second[lane]);
      const auto rest = scalar::complements<T>(seed, stream, sites[lane], block);
      EXPECT_EQ(rest[0], first_rest[lane]);
      EXPECT_EQ(rest[1], second_rest[lane]);
    }
  }
}

TYPED_TEST(ScalarLanes, DrawsAreThoseOfTheVectors) {
  using T = TypeParam;
  constexpr int V = lanes<T>;
  const std::uint64_t seed = next_seed();
  const std::uint32_t stream = random_stream(RandomPurpose::Test, 9);
  const T tolerance = sizeof(T) == 8 ? T(2e-13) : T(2e-5);
  int turned = 0;
  // All lanes by one method, each by another, and one of no finite alpha.
  for (const auto& [one, two] : {std::pair{0.0, 1e-9}, std::pair{0.7, 1.5}, std::pair{1.2, 3.0}, std::pair{5.0, 20.0},
                                 std::pair{1e5, 0.3}, std::pair{2.0, HUGE_VAL}, std::pair{std::nan(""), 1.0}}) {
    for (std::int64_t first = 0; first < 2000; first += V) {
      std::int64_t sites[V];
      Real<T, V> alpha;
      for (int lane = 0; lane < V; ++lane) {
        sites[lane] = first + lane;
        alpha[lane] = T(lane % 2 == 0 ? one : two);
      }
      DrawCounts<T, V> counts;
      const Quaternion<T, V> expected = draw_su2<T, V>(alpha, simd::LaneRandom<T, V>(seed, stream, sites), counts);
      for (int lane = 0; lane < V; ++lane) {
        const scalar::Draw found = scalar::draw_su2<T>(alpha[lane], seed, stream, sites[lane]);
        ASSERT_EQ(found.counts.draws, counts.draws[lane]);
        ASSERT_EQ(found.counts.creutz_draws, counts.creutz_draws[lane]);
        if (found.counts.attempts != counts.attempts[lane]) {
          ++turned;
          continue;
        }
        ASSERT_EQ(found.counts.creutz_attempts, counts.creutz_attempts[lane]);
        if (!std::isfinite(alpha[lane])) {
          EXPECT_TRUE(std::isnan(found.a[0]) && std::isnan(expected.a[0][lane]));
          continue;
        }
        for (std::size_t i = 0; i < 4; ++i) {
          EXPECT_NEAR(found.a[i], expected.a[i][lane], tolerance) << "alpha " << alpha[lane];
        }
      }
    }
  }
  EXPECT_LE(turned, most_turns<T>);
}

TYPED_TEST(ScalarLanes, UpdatesAreThoseOfTheVectors) {
  using T = TypeParam;
  constexpr int V = lanes<T>;
  const double unit = sizeof(T) == 8 ? 1 : 1e6;  // of the tolerances
  SiteRandom random(next_seed(), RandomPurpose::Test, 0);
  const std::uint64_t seed = next_seed();
  int turned = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const SweepPart part{0, 0, 1, 0.1 + 3 * random.uniform(), seed, random_stream(RandomPurpose::Heatbath, 0)};
    std::int64_t sites[V];
    Real<T, V> u[18], staples[18], largest{};
    T one[V][18], around[V][18];
    for (int lane = 0; lane < V; ++lane) {
      sites[lane] = V * trial + lane;
      for (int n = 0; n < 18; ++n) {
        u[n][lane] = one[lane][n] = T(random.normal());
        // Every seventh group has surroundings without direction.
        staples[n][lane] = around[lane][n] = trial % 7 == 0 ? T(0) : T(random.normal());
      }
    }
    const auto expect_same = [&](const char* what, double tolerance) {
      for (int lane = 0; lane < V; ++lane) {
        for (int n = 0; n < 18; ++n) EXPECT_NEAR(one[lane][n], u[n][lane], tolerance) << what;
      }
    };
    reunitarize_link<T, V>(u, largest);
    for (int lane = 0; lane < V; ++lane) {
      EXPECT_NEAR(scalar::reunitarize(one[lane]), largest[lane], 1e-12 * unit * largest[lane]);
    }
    expect_same("reunitarize", 1e-12 * (sizeof(T) == 8 ? 1 : 1e9));  // the rows may be nearly parallel
    for (int lane = 0; lane < V; ++lane) {
      for (int n = 0; n < 18; ++n) one[lane][n] = u[n][lane];
    }
    DrawCounts<T, V> counts;
    update_link<T, V>(u, staples, Heatbath<T, V>{T(part.scale), part.seed, part.stream, &counts}, sites);
    for (int lane = 0; lane < V; ++lane) {
      HeatbathCounts mine;
      scalar::heatbath(one[lane], around[lane], part, sites[lane], mine);
      EXPECT_EQ(mine.draws, 3);
      if (mine.attempts == counts.attempts[lane]) continue;
      ++turned;
      for (int n = 0; n < 18; ++n) one[lane][n] = u[n][lane];
    }
    expect_same("heatbath", 1e-9 * unit);
    for (int lane = 0; lane < V; ++lane) {
      for (int n = 0; n < 18; ++n) one[lane][n] = u[n][lane];
    }
    update_link<T, V>(u, staples, Overrelaxation<T, V>{}, nullptr);
    for (int lane = 0; lane < V; ++lane) scalar::overrelax(one[lane], around[lane]);
    expect_same("overrelaxation", 1e-8 * unit);
  }
  EXPECT_LE(turned, most_turns<T>);
}

/// Links in the device's layout in this machine's memory.
class GroupedField {
 public:
  GroupedField(const Lattice& lattice, const HostLinks& links, const LinkForm& form) : field_(desc(lattice, form)) {
    import_links(field_, links);
  }

  GroupedLinks links() {
    const Dims& dims = field_.lattice().dims();
    return {{field_.numbers(Parity::Even), field_.numbers(Parity::Odd)},
            {int(number_bytes(field_.desc().precision)), int(field_.desc().reconstruct)},
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
  static FieldDesc desc(const Lattice& lattice, const LinkForm& form) {
    FieldDesc desc = FieldDesc::links(lattice, form.precision, form.reconstruct);
    desc.layout = grouped_layout(form.precision);
    return desc;
  }

  Field field_;
};

double distance(const HostLinks& a, const HostLinks& b) {
  double largest = 0;
  for (std::size_t n = 0; n < a.data.size(); ++n) largest = std::max(largest, std::abs(a.data[n] - b.data[n]));
  return largest;
}

/// The fraction of links of which a number differs by more than `tolerance`, or is none.
double links_apart(const HostLinks& a, const HostLinks& b, double tolerance) {
  std::int64_t apart = 0;
  for (std::size_t link = 0; link < a.data.size(); link += 9) {
    double largest = 0;
    for (std::size_t n = link; n < link + 9; ++n) {
      const double difference = std::abs(a.data[n] - b.data[n]);
      largest = std::isnan(difference) ? difference : std::max(difference, largest);
    }
    apart += largest <= tolerance ? 0 : 1;
  }
  return double(apart) / double(a.data.size() / 9);
}

class GroupedUpdates : public ::testing::TestWithParam<std::tuple<Dims, LinkForm>> {
 protected:
  const Lattice lattice{std::get<0>(GetParam())};
  const LinkForm form = std::get<1>(GetParam());
  const bool single = form.precision == Precision::Single;
};
INSTANTIATE_TEST_SUITE_P(Extents, GroupedUpdates,
                         ::testing::Combine(::testing::Values(Dims{4, 4, 4, 4}, Dims{4, 6, 8, 2}, Dims{2, 2, 2, 8},
                                                              Dims{12, 4, 2, 6}, Dims{6, 10, 6, 4}),
                                            ::testing::ValuesIn(tested_forms)));

TEST_P(GroupedUpdates, SweepsAreThoseOfTheCpu) {
  const WilsonGaugeAction action{5.8, 2.464};
  const HostLinks start = testing::weak_start(lattice, next_seed(), 0.4);
  const std::uint64_t seed = next_seed(), number = 77;
  GroupedField relaxed(lattice, start, form), heated(lattice, start, form);
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
  const double tolerance = single ? 5e-5 : 1e-12;
  PureGauge other(GaugeStore(lattice, start), action, seed, form);
  other.overrelax();
  EXPECT_LT(distance(relaxed.values(), other.links().host_links()), tolerance);
  EXPECT_GT(distance(relaxed.values(), start), 0.1);
  PureGauge gauge(GaugeStore(lattice, start), action, seed, form);
  gauge.heatbath(number);
  EXPECT_EQ(counts.draws, gauge.counts().draws);
  if (single) {  // a draw may turn by its rounding, and so do links that see it after it
    EXPECT_LT(links_apart(heated.values(), gauge.links().host_links(), tolerance), 0.3);
    return;
  }
  EXPECT_LT(distance(heated.values(), gauge.links().host_links()), tolerance);
  EXPECT_EQ(counts.attempts, gauge.counts().attempts);
  EXPECT_EQ(counts.creutz_attempts, gauge.counts().creutz_attempts);
  EXPECT_EQ(counts.creutz_draws, gauge.counts().creutz_draws);
}

TEST_P(GroupedUpdates, SumsAndReunitarizationAreThoseOfTheCpu) {
  HostLinks start = testing::weak_start(lattice, next_seed(), 0.4);
  start.data[4] += 1e-4;
  const double rounding = single ? 2e-6 : 1e-14;
  GroupedField field(lattice, start, form);
  PureGauge gauge(GaugeStore(lattice, start), {6, 1}, 1, form);
  const std::array<double, 6> sums = scalar::plane_sums(field.links()), planes = gauge.planes();
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(sums[k] / (3.0 * double(lattice.volume())), planes[k], rounding);
  const std::array<double, 2> loops = scalar::loop_sum(field.links());
  const double space = 3.0 * double(lattice.volume() / lattice.dims()[3]);
  EXPECT_LT(std::abs(Complex(loops[0], loops[1]) / space - gauge.polyakov_loop()), rounding);
  const double change = scalar::reunitarize(field.links());
  EXPECT_NEAR(change, gauge.reunitarize(), rounding);
  EXPECT_GT(change, 1e-5);
  EXPECT_LT(distance(field.values(), gauge.links().host_links()), rounding);
}

}  // namespace
}  // namespace quadrille::quenched
