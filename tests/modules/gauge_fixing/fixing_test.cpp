// Gauge fixing against its definitions, link by link, and what holds without them.
#include "modules/gauge_fixing/fixing.h"

#include "core/simd/isa.h"
#include "tests/dirac/dirac_testing.h"
#include "tests/modules/flow/naive_flow.h"
#include "tests/testing/gauge_testing.h"
#include "tests/testing/host_starts.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <iostream>

namespace quadrille::gauge_fixing {
namespace {

using flow::naive::distance;
using flow::naive::in_algebra;
using testing::backend;
using testing::ForcedIsa;
using testing::next_seed;

Dims neighbour(const Lattice& lattice, Dims x, int mu, int by) {
  const int extent = lattice.dims()[std::size_t(mu)];
  x[std::size_t(mu)] = (x[std::size_t(mu)] + by + extent) % extent;
  return x;
}

/// F and theta of links, as their definitions have them.
GaugeState measured_naively(const Lattice& lattice, const HostLinks& links, Gauge gauge) {
  const int directions = gauge == Gauge::Landau ? 4 : 3;
  GaugeState sum;
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const Dims x = lattice.coordinates(site);
    Matrix3 divergence;  // times i
    for (int mu = 0; mu < directions; ++mu) {
      const Matrix3 ahead = Matrix3::read(links.link(site, mu));
      const Matrix3 before = Matrix3::read(links.link(lattice.site(neighbour(lattice, x, mu, -1)), mu));
      divergence = divergence + in_algebra(ahead) + Complex(-1) * in_algebra(before);
      sum.functional += (ahead(0, 0) + ahead(1, 1) + ahead(2, 2)).real();
    }
    sum.theta += real_trace_adjoint(divergence, divergence);
  }
  const double sites = 3 * double(lattice.volume());
  return {sum.functional / (sites * directions), sum.theta / sites};
}

struct Case {
  Dims dims;
  Gauge gauge;
};

class FixingOn : public ::testing::TestWithParam<Case> {
 protected:
  const Lattice lattice{GetParam().dims};
  const Gauge gauge = GetParam().gauge;
};
INSTANTIATE_TEST_SUITE_P(Extents, FixingOn,
                         ::testing::Values(Case{{4, 4, 4, 4}, Gauge::Landau}, Case{{4, 6, 8, 2}, Gauge::Landau},
                                           Case{{2, 2, 2, 8}, Gauge::Landau}, Case{{12, 4, 2, 6}, Gauge::Coulomb},
                                           Case{{4, 4, 4, 8}, Gauge::Coulomb}));

TEST_P(FixingOn, StatesAreThoseOfTheLinksThatItGives) {
  const std::vector<Isa> isas = backend().host_memory() ? available_isas() : std::vector<Isa>{available_isas().front()};
  const HostLinks start = testing::hot_start(lattice, next_seed());
  for (const Isa isa : isas) {
    const ForcedIsa forced(isa);
    const GaugeStore links(lattice, start, backend());
    GaugeFixing fixing(links, gauge);
    EXPECT_EQ(distance(fixing.links()->host_links(), start), 0) << "before all iterations";
    GaugeState now = fixing.measure(), before = now;
    for (int k = 0; k < 4; ++k) {
      const GaugeState expected = measured_naively(lattice, fixing.links()->host_links(), gauge);
      EXPECT_NEAR(now.functional, expected.functional, 1e-13) << to_string(isa) << " " << k;
      const GaugeState seen = fixing.iterate(1.6);
      EXPECT_NEAR(seen.theta, expected.theta, 1e-12) << to_string(isa) << " " << k;
      EXPECT_GT(seen.functional, now.functional);
      now = seen;
    }
    EXPECT_NEAR(fixing.measure().theta, measured_naively(lattice, fixing.links()->host_links(), gauge).theta, 1e-12);
    EXPECT_GT(now.functional, before.functional + 0.1);
    EXPECT_LT(testing::unitarity(fixing.links()->host_links()).unitarity, 1e-14);
  }
}

TEST_P(FixingOn, ReachesThetaAndChangesNothingInvariant) {
  const HostLinks start = testing::weak_start(lattice, next_seed(), 0.6);
  const GaugeStore links(lattice, start, backend());
  const GaugeObservables before = links.observables();
  GaugeFixing fixing(links, gauge);
  GaugeState now = fixing.measure();
  int iterations = 0;
  for (; now.theta > 1e-20 && iterations < 20000; ++iterations) {
    const GaugeState seen = fixing.iterate(1.8);
    EXPECT_GE(seen.functional, now.functional - 1e-14) << iterations;
    now = seen;
  }
  std::cout << iterations << " iterations\n";
  const auto fixed = fixing.links();
  EXPECT_LT(measured_naively(lattice, fixed->host_links(), gauge).theta, 1e-19);
  const GaugeObservables after = fixed->observables();
  for (std::size_t plane = 0; plane < 6; ++plane) EXPECT_NEAR(after.planes[plane], before.planes[plane], 1e-13);
  EXPECT_GT(now.functional, measured_naively(lattice, start, gauge).functional + 0.01);
}

TEST_P(FixingOn, ASmallTurnLowersTheFunctional) {
  const GaugeStore links(lattice, testing::weak_start(lattice, next_seed(), 0.6), backend());
  GaugeFixing fixing(links, gauge);
  for (int k = 0; k < 2000 && fixing.iterate(1.8).theta > 1e-16; ++k) {
  }
  const HostLinks fixed = fixing.links()->host_links();
  const double best = measured_naively(lattice, fixed, gauge).functional;
  std::vector<Complex> g = testing::random_transformation(lattice, next_seed());
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    Matrix3 h = Complex(0, -0.02) * in_algebra(Matrix3::read(g.data() + 9 * site));
    exp_i(h).write(g.data() + 9 * site);
  }
  EXPECT_LT(measured_naively(lattice, testing::gauge_transformed(lattice, fixed, g), gauge).functional, best);
}

TEST(Fixing, APureGaugeComesBackToUnitLinks) {
  const Lattice lattice({4, 4, 6, 4});
  // Near 1, so that no other maximum is in the way.
  std::vector<Complex> g = testing::random_transformation(lattice, next_seed());
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    exp_i(Complex(0, -0.2) * in_algebra(Matrix3::read(g.data() + 9 * site))).write(g.data() + 9 * site);
  }
  const HostLinks start = testing::gauge_transformed(lattice, testing::cold_start(lattice), g);
  const GaugeStore links(lattice, start, backend());
  GaugeFixing fixing(links, Gauge::Landau);
  for (int k = 0; k < 2000 && fixing.iterate(1.8).theta > 1e-30; ++k) {
  }
  EXPECT_NEAR(fixing.measure().functional, 1, 1e-14);
  EXPECT_LT(distance(fixing.links()->host_links(), testing::cold_start(lattice)), 1e-13);
}

TEST(Fixing, OverrelaxationNeedsFewerIterations) {
  const Lattice lattice({6, 6, 6, 8});
  const GaugeStore links(lattice, testing::weak_start(lattice, next_seed(), 0.5), backend());
  const auto iterations = [&](double omega) {
    GaugeFixing fixing(links, Gauge::Landau);
    int count = 0;
    while (count < 20000 && fixing.iterate(omega).theta > 1e-12) ++count;
    return count;
  };
  const int without = iterations(1), with = iterations(1.5);
  std::cout << without << " iterations without, " << with << " with overrelaxation\n";
  EXPECT_LT(with, without);
}

TEST(Fixing, AnyNumberOfThreadsGivesTheSameBits) {
  const Lattice lattice({8, 4, 6, 8});
  const GaugeStore links(lattice, testing::hot_start(lattice, next_seed()), backend());
  const int before = omp_get_max_threads();
  std::vector<HostLinks> found;
  std::vector<double> theta;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    GaugeFixing fixing(links, Gauge::Coulomb);
    for (int k = 0; k < 3; ++k) fixing.iterate(1.8);
    found.push_back(fixing.links()->host_links());
    theta.push_back(fixing.measure().theta);
  }
  omp_set_num_threads(before);
  for (std::size_t k = 1; k < found.size(); ++k) {
    EXPECT_EQ(distance(found[k], found[0]), 0);
    EXPECT_EQ(theta[k], theta[0]);
  }
}

}  // namespace
}  // namespace quadrille::gauge_fixing
