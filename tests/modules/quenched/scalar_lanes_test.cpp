// The device's form of the updates, run on the host: one lane against vectors with the same random numbers, and sweeps
// over links in the device's layout against those of the CPU.
#define QUADRILLE_ISA unit_test
#include "tests/modules/quenched/scalar_lanes.h"

#include "core/field/convert.h"
#include "core/field/field.h"
#include "core/field/layer_exchange.h"
#include "core/layout/grouped_layout.h"
#include "core/random/random.h"
#include "modules/quenched/pure_gauge.h"
#include "modules/quenched/updates/link_update.h"
#include "tests/modules/quenched/link_forms.h"
#include "tests/testing/host_starts.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <tuple>
#include <vector>

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

  GroupedLinks links() { return grouped_links(field_, field_.lattice()); }
  Field& field() { return field_; }
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

/// The parts of a lattice as ranks on GPUs would have them, in one process.
class Parts {
 public:
  struct Part {
    Dims at;  ///< in the grid
    Lattice own, torus;
    GroupedField links, with_ghosts;

    Part(const Dims& place, const Dims& dims, const Divided& divided, const HostLinks& mine, const LinkForm& form)
        : at(place),
          own(dims),
          torus(torus_around(dims, divided, 1)),
          links(own, mine, form),
          with_ghosts(torus, HostLinks(torus.dims()), form) {}
  };

  Parts(const Lattice& lattice, const Dims& grid, const HostLinks& links, const LinkForm& form)
      : lattice_(lattice), grid_(grid) {
    for (std::size_t mu = 0; mu < 4; ++mu) {
      divided_[mu] = grid[mu] > 1;
      dims_[mu] = lattice.dims()[mu] / grid[mu];
    }
    for (int k = 0; k < int(volume(grid)); ++k) {
      const int above_x = k / grid[0], above_y = above_x / grid[1];
      const Dims at{k % grid[0], above_x % grid[1], above_y % grid[2], above_y / grid[2]};
      HostLinks mine(dims_);
      each_site(at, [&](std::int64_t here, std::int64_t there) {
        for (int mu = 0; mu < 4; ++mu) std::copy_n(links.link(there, mu), 9, mine.link(here, mu));
      });
      parts_.push_back(std::make_unique<Part>(at, dims_, divided_, mine, form));
      copy(parts_.back()->with_ghosts, parts_.back()->links);
    }
    for (int mu = 0; mu < 4; ++mu) {
      for (int parity : {0, 1}) exchange(mu, parity);
    }
  }

  template <class Update>
  void update(const SweepPart& part, const Update& update) {
    for (const auto& mine : parts_) update(torus(*mine));
    exchange(part.direction, part.parity);
  }
  template <class Sums>
  Sums sum(Sums (*of)(const GroupedLinks&)) {
    Sums all{};
    for (const auto& mine : parts_) {
      const Sums more = of(torus(*mine));
      for (std::size_t k = 0; k < all.size(); ++k) all[k] += more[k];
    }
    return all;
  }
  HostLinks values() {
    HostLinks all(lattice_.dims());
    for (const auto& mine : parts_) {
      copy(mine->links, mine->with_ghosts);
      const HostLinks own = mine->links.values();
      each_site(mine->at, [&](std::int64_t here, std::int64_t there) {
        for (int mu = 0; mu < 4; ++mu) std::copy_n(own.link(here, mu), 9, all.link(there, mu));
      });
    }
    return all;
  }

 private:
  GroupedLinks torus(Part& part) {
    GroupedLinks links = grouped_links(part.with_ghosts.field(), part.own);
    const Dims& global = lattice_.dims();
    links.whole = {global[0], global[1], global[2], global[3], 0};
    links.origin.x = part.at[0] * dims_[0];
    links.origin.y = part.at[1] * dims_[1];
    links.origin.z = part.at[2] * dims_[2];
    links.origin.t = part.at[3] * dims_[3];
    return links;
  }
  /// This rank's own sites.
  void copy(GroupedField& to, GroupedField& from) const {
    for (int mu = 0; mu < 4; ++mu) {
      for (const Parity p : {Parity::Even, Parity::Odd})
        copy_own_sites_cpu(section_of(to.field(), mu, p), section_of(from.field(), mu, p), extents_of(dims_), int(p));
    }
  }
  Part& neighbour(const Part& part, int axis, int step) {
    Dims at = part.at;
    const int n = grid_[std::size_t(axis)];
    at[std::size_t(axis)] = (at[std::size_t(axis)] + n + step) % n;
    return *parts_[std::size_t(((at[3] * grid_[2] + at[2]) * grid_[1] + at[1]) * grid_[0] + at[0])];
  }
  /// f(site of the part, site of the lattice)
  template <class F>
  void each_site(const Dims& at, const F& f) const {
    const Lattice own(dims_);
    for (std::int64_t site = 0; site < own.volume(); ++site) {
      Dims x = own.coordinates(site);
      for (std::size_t mu = 0; mu < 4; ++mu) x[mu] += at[mu] * dims_[mu];
      f(site, lattice_.site(x));
    }
  }
  void exchange(int mu, int parity) {
    for (const GhostAxis& layers : ghost_axes(dims_, divided_, 1)) {
      const int items = layers.leave[0].items();
      std::vector<std::vector<std::byte>> sent;
      const auto message = [&](std::size_t k, const SiteLayers& of, const SiteSection& links) {
        return message_of(of, links.groups, sent[k].data());
      };
      for (const auto& mine : parts_) {
        const SiteSection links = section_of(mine->with_ghosts.field(), mu, Parity(parity));
        for (const SiteLayers& leave : layers.leave) {
          sent.emplace_back(std::size_t(items) * 18 * sizeof(double));
          const SiteGroups out = message(sent.size() - 1, leave, links);
          for (int item = 0; item < items; ++item)
            copy_site(out, item, links.groups, links.site(leave.place(parity, item)));
        }
      }
      for (std::size_t k = 0; k < sent.size(); ++k) {
        const bool backward = k % 2 == 0;
        Part& to = neighbour(*parts_[k / 2], layers.axis, backward ? -1 : 1);
        const SiteSection links = section_of(to.with_ghosts.field(), mu, Parity(parity));
        const SiteLayers& come = layers.come[k % 2];
        const SiteGroups in = message(k, come, links);
        for (int item = 0; item < items; ++item)
          copy_site(links.groups, links.site(come.place(parity, item)), in, item);
      }
    }
  }

  const Lattice& lattice_;
  Dims grid_, dims_{};
  Divided divided_{};
  std::vector<std::unique_ptr<Part>> parts_;
};

TEST_P(GroupedUpdates, PartsWithGhostsHaveTheBitsOfTheWhole) {
  const HostLinks start = testing::weak_start(lattice, next_seed(), 0.4);
  const std::uint64_t seed = next_seed();
  for (const Dims& grid : {Dims{1, 1, 1, 2}, Dims{2, 1, 1, 1}, Dims{1, 2, 2, 1}, Dims{2, 2, 1, 2}, Dims{3, 1, 2, 1}}) {
    bool divides = true;
    for (std::size_t mu = 0; mu < 4; ++mu) divides = divides && lattice.dims()[mu] % (2 * grid[mu]) == 0;
    if (!divides) continue;
    SCOPED_TRACE(::testing::Message() << grid[0] << " " << grid[1] << " " << grid[2] << " " << grid[3]);
    GroupedField whole(lattice, start, form);
    Parts parts(lattice, grid, start, form);
    HeatbathCounts counts, of_parts;
    for (int mu = 0; mu < 4; ++mu) {
      for (int parity : {0, 1}) {
        const SweepPart part{mu, parity, 0.3, 4.1, seed, random_stream(RandomPurpose::Heatbath, std::uint32_t(4 * mu))};
        scalar::heatbath(whole.links(), part, counts);
        parts.update(part, [&](const GroupedLinks& links) { scalar::heatbath(links, part, of_parts); });
        scalar::overrelax(whole.links(), part);
        parts.update(part, [&](const GroupedLinks& links) { scalar::overrelax(links, part); });
      }
    }
    EXPECT_EQ(parts.values().data, whole.values().data);
    EXPECT_GT(distance(whole.values(), start), 0.1);
    EXPECT_EQ(of_parts.attempts, counts.attempts);
    const std::array<double, 6> planes = parts.sum(scalar::plane_sums), expected = scalar::plane_sums(whole.links());
    for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(planes[k], expected[k], 1e-11 * double(lattice.volume()));
  }
}

}  // namespace
}  // namespace quadrille::quenched
