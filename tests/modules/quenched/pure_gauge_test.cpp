// Sweeps over a lattice: the kernels against the naive reference, identities, and the strong-coupling limit.
#include "modules/quenched/pure_gauge.h"

#include "core/error.h"
#include "core/simd/isa.h"
#include "core/su3/su3.h"
#include "modules/quenched/autocorrelation.h"
#include "tests/dirac/dirac_testing.h"
#include "tests/modules/quenched/link_forms.h"
#include "tests/reference/heatbath.h"
#include "tests/testing/gauge_testing.h"
#include "tests/testing/host_starts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

namespace quadrille::quenched {
namespace {

using testing::backend;
using testing::ForcedIsa;
using testing::gauge_observables;
using testing::next_seed;
using testing::unitarity;

/// The instruction sets to run with: on a GPU they play no part.
std::vector<Isa> tested_isas() {
  return backend().host_memory() ? available_isas() : std::vector<Isa>{available_isas().front()};
}

double distance(const HostLinks& a, const HostLinks& b) {
  double largest = 0;
  for (std::size_t n = 0; n < a.data.size(); ++n) largest = std::max(largest, std::abs(a.data[n] - b.data[n]));
  return largest;
}

/// Of the largest |difference| of a number of each link, the quantile q.
double quantile(const HostLinks& a, const HostLinks& b, double q) {
  std::vector<double> of_links;
  for (std::size_t link = 0; link < a.data.size(); link += 9) {
    double largest = 0;
    for (std::size_t n = link; n < link + 9; ++n) largest = std::max(largest, std::abs(a.data[n] - b.data[n]));
    of_links.push_back(largest);
  }
  const auto place = of_links.begin() + std::ptrdiff_t(q * double(of_links.size() - 1));
  std::nth_element(of_links.begin(), place, of_links.end());
  return *place;
}

class PureGaugeOn : public ::testing::TestWithParam<std::tuple<Dims, LinkForm>> {
 protected:
  PureGauge pure_gauge(const HostLinks& start, const WilsonGaugeAction& action, std::uint64_t seed) const {
    return PureGauge(GaugeStore(lattice, start, backend()), action, seed, form);
  }

  const Lattice lattice{std::get<0>(GetParam())};
  const LinkForm form = std::get<1>(GetParam());
  const bool single = form.precision == Precision::Single;
};
INSTANTIATE_TEST_SUITE_P(Extents, PureGaugeOn,
                         ::testing::Combine(::testing::Values(Dims{4, 4, 4, 4}, Dims{4, 6, 8, 2}, Dims{2, 2, 2, 8},
                                                              Dims{12, 4, 2, 6}, Dims{6, 6, 6, 6}, Dims{8, 4, 8, 8}),
                                            ::testing::ValuesIn(tested_forms)));

TEST_P(PureGaugeOn, EveryLinkIsThatOfTheReference) {
  const WilsonGaugeAction action{5.8, 2.464};
  const reference::GaugeAction same{action.beta, action.xi0};
  for (bool hot : {true, false}) {
    const HostLinks start =
        hot ? testing::hot_start(lattice, next_seed()) : testing::weak_start(lattice, next_seed(), 0.4);
    const std::uint64_t seed = next_seed();
    // Among random links some have staples whose subgroup part nearly vanishes: its direction magnifies rounding.
    const double rounding = (hot ? 1e-10 : 1e-12) * (single ? 1e8 : 1);
    HostLinks heated = start, relaxed = start;
    reference::heatbath_sweep(lattice, heated, same, seed, 12345678901);
    reference::overrelaxation_sweep(lattice, relaxed, same);
    PureGauge exact(GaugeStore(lattice, start), action, seed);
    exact.heatbath(12345678901);
    EXPECT_GT(distance(heated, start), 0.5);
    EXPECT_GT(distance(relaxed, start), 0.1);
    for (Isa isa : tested_isas()) {
      const ForcedIsa forced(isa);
      PureGauge gauge = pure_gauge(start, action, seed);
      EXPECT_LT(distance(gauge.links().host_links(), start), single                                 ? 5e-7
                                                             : form.reconstruct == Reconstruct::R18 ? 1e-300
                                                                                                    : 2e-15);
      gauge.heatbath(12345678901);
      // In float a draw may turn by its rounding, about one in 10^7, and so do links that see it after it.
      if (!single) {
        EXPECT_LT(distance(gauge.links().host_links(), heated), rounding) << to_string(isa);
        EXPECT_EQ(gauge.counts().attempts, exact.counts().attempts) << to_string(isa);
      }
      EXPECT_LT(quantile(gauge.links().host_links(), heated, 0.7), rounding) << to_string(isa);
      EXPECT_LT(quantile(gauge.links().host_links(), heated, 0.5), single ? 1e-5 : 1e-13) << to_string(isa);
      PureGauge other = pure_gauge(start, action, seed);
      other.overrelax();
      // In float some few links in a thousand may see a staple that vanishes to rounding.
      const HostLinks found = other.links().host_links();
      EXPECT_LT(single ? quantile(found, relaxed, 0.999) : distance(found, relaxed), rounding) << to_string(isa);
      EXPECT_LT(quantile(other.links().host_links(), relaxed, 0.5), single ? 1e-5 : 1e-13) << to_string(isa);
    }
  }
}

TEST_P(PureGaugeOn, OverrelaxationKeepsTheAction) {
  const WilsonGaugeAction action{6.1, 1.7};
  const HostLinks start = testing::weak_start(lattice, next_seed(), 0.5);
  PureGauge gauge = pure_gauge(start, action, 1);
  const double before = reference::gauge_action(lattice, start, {action.beta, action.xi0});
  for (int n = 0; n < 3; ++n) gauge.overrelax();
  const HostLinks after = gauge.links().host_links();
  EXPECT_NEAR(reference::gauge_action(lattice, after, {action.beta, action.xi0}), before,
              (single ? 3e-6 : 1e-12) * std::abs(before));
  EXPECT_GT(distance(after, start), 0.1);
  EXPECT_LT(unitarity(after).unitarity, single ? 2e-5 : 1e-13);
  // Of another action it is not the symmetry.
  EXPECT_GT(std::abs(reference::gauge_action(lattice, after, {action.beta, 1}) -
                     reference::gauge_action(lattice, start, {action.beta, 1})),
            (single ? 1e-5 : 1e-6) * std::abs(before));
}

TEST_P(PureGaugeOn, PlanesAndPolyakovLoopAreThoseOfTheLinks) {
  const double rounding = single ? 2e-6 : 1e-14;
  const HostLinks links = testing::weak_start(lattice, next_seed(), 0.4);
  const GaugeObservables seen = gauge_observables(links);
  Complex loops = 0;
  for (std::int64_t place = 0; place < lattice.volume() / lattice.dims()[3]; ++place) {
    Matrix3 loop = Matrix3::identity();
    for (int t = 0; t < lattice.dims()[3]; ++t) {
      loop = loop * Matrix3::read(links.link(place + t * (lattice.volume() / lattice.dims()[3]), 3));
    }
    loops += (loop(0, 0) + loop(1, 1) + loop(2, 2)) / 3.0;
  }
  loops /= double(lattice.volume() / lattice.dims()[3]);
  for (Isa isa : tested_isas()) {
    const ForcedIsa forced(isa);
    const PureGauge gauge = pure_gauge(links, {6, 1}, 1);
    const std::array<double, 6> planes = gauge.planes();
    for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(planes[k], seen.planes[k], rounding) << to_string(isa);
    EXPECT_NEAR(plaquette_of(planes), seen.plaquette, rounding);
    EXPECT_NEAR(spatial_plaquette_of(planes), (seen.planes[0] + seen.planes[1] + seen.planes[3]) / 3, rounding);
    EXPECT_NEAR(temporal_plaquette_of(planes), (seen.planes[2] + seen.planes[4] + seen.planes[5]) / 3, rounding);
    EXPECT_LT(std::abs(gauge.polyakov_loop() - loops), rounding);
  }
}

TEST_P(PureGaugeOn, BitsDoNotDependOnThreads) {
  const HostLinks start = testing::hot_start(lattice, next_seed());
  const std::uint64_t seed = next_seed();
  const int threads = omp_get_max_threads();
  struct Outcome {
    std::vector<Complex> links;
    std::array<double, 6> planes;
    Complex loop;
    double change;
    std::int64_t attempts;
    bool operator==(const Outcome&) const = default;
  };
  const auto run = [&](int n) {
    omp_set_num_threads(n);
    PureGauge gauge = pure_gauge(start, {5.9, 1.3}, seed);
    for (std::uint64_t sweep = 0; sweep < 2; ++sweep) gauge.sweep(sweep, 2);
    const double change = gauge.reunitarize();
    return Outcome{gauge.links().host_links().data, gauge.planes(), gauge.polyakov_loop(), change,
                   gauge.counts().attempts};
  };
  const Outcome one = run(1);
  for (int n : {2, 3}) EXPECT_TRUE(run(n) == one) << n << " threads";
  omp_set_num_threads(threads);
}

class PureGaugeIn : public ::testing::TestWithParam<LinkForm> {};
INSTANTIATE_TEST_SUITE_P(Forms, PureGaugeIn, ::testing::ValuesIn(tested_forms));

TEST(PureGauge, FormsWithoutKernelsAreRefused) {
  const Lattice lattice({4, 4, 4, 4});
  for (const LinkForm& form :
       {LinkForm{Precision::Half, Reconstruct::R18}, LinkForm{Precision::Single, Reconstruct::R8}}) {
    try {
      const PureGauge gauge(GaugeStore(lattice, testing::cold_start(lattice), backend()), {6, 1}, 1, form);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("double or single precision with 18 or 12 numbers per link"));
    }
  }
}

TEST(PureGauge, RandomNumbersAreThoseOfSeedAndSweep) {
  const Lattice lattice({4, 4, 4, 4});
  const HostLinks start = testing::hot_start(lattice, 1);
  const auto after = [&](std::uint64_t seed, std::uint64_t number) {
    PureGauge gauge(GaugeStore(lattice, start, backend()), {6, 1}, seed);
    gauge.heatbath(number);
    return gauge.links().host_links();
  };
  const HostLinks links = after(5, 7);
  EXPECT_EQ(distance(after(5, 7), links), 0);
  EXPECT_GT(distance(after(5, 8), links), 0.1);
  EXPECT_GT(distance(after(6, 7), links), 0.1);
  // The same surroundings everywhere: no two links may share their random numbers.
  PureGauge gauge(GaugeStore(lattice, testing::cold_start(lattice), backend()), {6, 1}, 5);
  gauge.heatbath(0);
  const HostLinks first = gauge.links().host_links();
  std::vector<double> traces;
  for (std::size_t n = 0; n < first.data.size(); n += 9) traces.push_back(first.data[n].real());
  std::sort(traces.begin(), traces.end());
  EXPECT_EQ(std::unique(traces.begin(), traces.end()), traces.end());
}

// What the task `generate` promises of a chain that is cut at a saved configuration.
TEST_P(PureGaugeIn, AChainGoesOnWithTheSameBits) {
  const Lattice lattice({4, 6, 4, 8});
  const HostLinks start = testing::hot_start(lattice, next_seed());
  const WilsonGaugeAction action{5.9, 1.2};
  const std::uint64_t seed = next_seed();
  PureGauge whole(GaugeStore(lattice, start, backend()), action, seed, GetParam());
  for (std::uint64_t n = 0; n < 3; ++n) whole.sweep(n, 2);
  whole.reunitarize();
  const HostLinks saved = whole.links().host_links();
  PureGauge rest(GaugeStore(lattice, saved, backend()), action, seed, GetParam());
  EXPECT_EQ(rest.links().host_links().data, saved.data);
  for (std::uint64_t n = 3; n < 5; ++n) {
    whole.sweep(n, 2);
    rest.sweep(n, 2);
  }
  EXPECT_EQ(rest.links().host_links().data, whole.links().host_links().data);
  EXPECT_EQ(rest.planes(), whole.planes());
  EXPECT_EQ(rest.polyakov_loop(), whole.polyakov_loop());
  EXPECT_EQ(rest.counts().draws, 2 * 4 * 3 * lattice.volume());
  EXPECT_EQ(whole.counts().draws, 5 * 4 * 3 * lattice.volume());
  EXPECT_GT(whole.counts().attempts, whole.counts().draws);
}

// Of single precision it is that much larger. With 12 numbers it must not grow from update to update.
TEST_P(PureGaugeIn, DriftIsRoundingAndReunitarizationTakesItAway) {
  const Lattice lattice({4, 4, 4, 4});
  const double unit = GetParam().precision == Precision::Single ? 0x1p29 : 1;
  PureGauge gauge(GaugeStore(lattice, testing::hot_start(lattice, next_seed()), backend()), {6, 1}, next_seed(),
                  GetParam());
  for (std::uint64_t n = 0; n < 20; ++n) gauge.sweep(n, 4);
  const double before = unitarity(gauge.links().host_links()).unitarity;
  const double change = gauge.reunitarize();
  const double after = unitarity(gauge.links().host_links()).unitarity;
  EXPECT_GT(change, 1e-16 * unit);
  EXPECT_LT(change, (unit == 1 ? 1e-12 : 4e-14) * unit);
  EXPECT_LT(after, 3e-15 * unit);
  EXPECT_GT(before, after);
  EXPECT_LT(unitarity(gauge.links().host_links()).determinant, 3e-15 * unit);
}

TEST_P(PureGaugeIn, ALinkThatIsNoNumberIsSeen) {
  const Lattice lattice({4, 4, 4, 4});
  HostLinks links = testing::cold_start(lattice);
  links.data[40] = std::nan("");
  PureGauge gauge(GaugeStore(lattice, links, backend()), {6, 1}, 1, GetParam());
  gauge.sweep(0, 1);
  EXPECT_TRUE(std::isnan(plaquette_of(gauge.planes())));
}

/// The mean of Re tr P / 3 of a plaquette with weight exp(beta Re tr P / 3), by Weyl's integration formula: the
/// plaquette of the lattice up to terms of its fifth power.
double one_plaquette(double beta) {
  constexpr int n = 96;
  double weights = 0, sum = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const double t[3] = {2 * std::numbers::pi * i / n, 2 * std::numbers::pi * j / n,
                           -2 * std::numbers::pi * (i + j) / n};
      double weight = 1, trace = 0;
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < a; ++b) weight *= 2 - 2 * std::cos(t[a] - t[b]);
        trace += std::cos(t[a]);
      }
      weight *= std::exp(beta * trace / 3);
      weights += weight;
      sum += weight * trace / 3;
    }
  }
  return sum / weights;
}

struct Measured {
  ChainMean plaquette, spatial, temporal;
};

Measured measure(const Lattice& lattice, const WilsonGaugeAction& action, int warm, int sweeps, int overrelaxations,
                 const LinkForm& form = {}) {
  PureGauge gauge(GaugeStore(lattice, testing::cold_start(lattice), backend()), action, next_seed(), form);
  std::vector<double> all, spatial, temporal;
  for (int n = 0; n < warm + sweeps; ++n) {
    gauge.sweep(std::uint64_t(n), overrelaxations);
    if (n < warm) continue;
    const std::array<double, 6> planes = gauge.planes();
    all.push_back(plaquette_of(planes));
    spatial.push_back(spatial_plaquette_of(planes));
    temporal.push_back(temporal_plaquette_of(planes));
  }
  return {chain_mean(all), chain_mean(spatial), chain_mean(temporal)};
}

TEST(PureGauge, StrongCoupling) {
  const Lattice lattice({4, 4, 8, 8});
  EXPECT_NEAR(one_plaquette(0.01), 0.01 / 18 + 1e-4 / 216, 1e-9);
  for (int overrelaxations : {0, 2}) {
    for (const WilsonGaugeAction& action : {WilsonGaugeAction{1, 1}, WilsonGaugeAction{0.9, 2}}) {
      const Measured found = measure(lattice, action, 20, 250, overrelaxations);
      const double spatial = one_plaquette(action.beta / action.xi0),
                   temporal = one_plaquette(action.beta * action.xi0);
      ASSERT_TRUE(found.spatial.reliable && found.temporal.reliable);
      EXPECT_NEAR(found.spatial.mean, spatial, 7 * found.spatial.error + 2e-5);
      EXPECT_NEAR(found.temporal.mean, temporal, 7 * found.temporal.error + 5 * std::pow(temporal, 5));
      EXPECT_LT(found.temporal.error, 6e-4);
      EXPECT_LT(found.spatial.error, 6e-4);
    }
  }
}

TEST(PureGauge, FormsAgreeAtBeta6) {
  const Lattice lattice({4, 4, 4, 8});
  const WilsonGaugeAction action{6, 1};
  const Measured in_double = measure(lattice, action, 60, 700, 3);
  ASSERT_TRUE(in_double.plaquette.reliable);
  for (Reconstruct reconstruct : {Reconstruct::R18, Reconstruct::R12}) {
    const Measured in_single = measure(lattice, action, 60, 700, 3, {Precision::Single, reconstruct});
    ASSERT_TRUE(in_single.plaquette.reliable);
    const double error = std::hypot(in_single.plaquette.error, in_double.plaquette.error);
    EXPECT_NEAR(in_single.plaquette.mean, in_double.plaquette.mean, 6 * error) << to_string(reconstruct);
    EXPECT_LT(error, 4e-3);
  }
}

TEST(PureGauge, HeatbathAloneAndWithOverrelaxationAgree) {
  const Lattice lattice({4, 4, 4, 4});
  const WilsonGaugeAction action{5.2, 1.5};
  const Measured alone = measure(lattice, action, 60, 1500, 0), with = measure(lattice, action, 60, 700, 3);
  const auto compare = [](const ChainMean& a, const ChainMean& b) {
    ASSERT_TRUE(a.reliable && b.reliable);
    EXPECT_NEAR(a.mean, b.mean, 7 * std::hypot(a.error, b.error));
    EXPECT_LT(std::hypot(a.error, b.error), 2e-3);
  };
  compare(alone.spatial, with.spatial);
  compare(alone.temporal, with.temporal);
  EXPECT_GT(with.temporal.mean - with.spatial.mean, 0.1);
}

/// By how much the Schwinger-Dyson equation of one link, <tr H^2> = 8 <Re tr W>, misses on these links, relative to its
/// right side. W = U A with the weighted staples A, H the traceless part of (W - W^+) / 2i. With D_a = Re tr(i T_a W)
/// the derivative of Re tr W, the integral over U of the total derivative of D_a exp(Re tr W / 3) vanishes; the sum
/// over a of its two terms is -(4/3) Re tr W and (1/3) (1/2) tr H^2. In equilibrium the mean is 0 for any beta and
/// lattice.
double schwinger_dyson(const Lattice& lattice, const HostLinks& links, const reference::GaugeAction& action) {
  double left = 0, right = 0;
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    for (int mu = 0; mu < 4; ++mu) {
      const Matrix3 w = Matrix3::read(links.link(site, mu)) *
                        reference::weighted_staples(lattice, links, action, lattice.coordinates(site), mu);
      const Matrix3 h = Complex(0, -0.5) * (w + Complex(-1) * adjoint(w));
      const double trace = (h(0, 0) + h(1, 1) + h(2, 2)).real();
      for (const Complex& x : h.e) left += std::norm(x);
      left -= trace * trace / 3;
      right += 8 * (w(0, 0) + w(1, 1) + w(2, 2)).real();
    }
  }
  return left / right - 1;
}

// At the couplings that are used, and near the bulk crossover of beta 5.7, where a wrong weight would show most: exact,
// unlike a published plaquette. Of links in equilibrium at another beta' the mean is beta/beta' - 1.
TEST(PureGauge, SchwingerDysonEquationHolds) {
  const Lattice lattice({6, 6, 6, 6});
  struct Chain {
    WilsonGaugeAction action;
    int overrelaxations;
    LinkForm form;
  };
  for (const auto& [action, overrelaxations, form] :
       {Chain{{5.7, 1}, 3, {}}, Chain{{6, 1}, 0, {}}, Chain{{5.7, 2}, 2, {}},
        Chain{{5.7, 1}, 3, {Precision::Single, Reconstruct::R12}},
        Chain{{6, 1.5}, 1, {Precision::Single, Reconstruct::R18}}}) {
    PureGauge gauge(GaugeStore(lattice, testing::cold_start(lattice), backend()), action, next_seed(), form);
    std::vector<double> misses;
    for (int n = 0; n < 150; ++n) {
      gauge.sweep(std::uint64_t(n), overrelaxations);
      if (n >= 50) misses.push_back(schwinger_dyson(lattice, gauge.links().host_links(), {action.beta, action.xi0}));
    }
    const ChainMean found = chain_mean(misses);
    ASSERT_TRUE(found.reliable);
    EXPECT_LT(std::abs(found.mean), 6 * found.error) << "beta " << action.beta << " xi0 " << action.xi0;
    EXPECT_LT(found.error, 4e-3);
  }
}

}  // namespace
}  // namespace quadrille::quenched
