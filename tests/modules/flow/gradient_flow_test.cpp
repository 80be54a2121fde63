// The gradient flow: every link against a naive integrator, and what holds without one.
#include "modules/flow/gradient_flow.h"

#include "core/simd/isa.h"
#include "modules/flow/scales.h"
#include "tests/dirac/dirac_testing.h"
#include "tests/modules/flow/naive_flow.h"
#include "tests/testing/gauge_testing.h"
#include "tests/testing/host_starts.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <numbers>

namespace quadrille::flow {
namespace {

using testing::backend;
using testing::ForcedIsa;
using testing::next_seed;
using namespace naive;

class GradientFlowOn : public ::testing::TestWithParam<Dims> {
 protected:
  GradientFlow flow_of(const HostLinks& links) const { return GradientFlow(GaugeStore(lattice, links, backend())); }
  const Lattice lattice{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Extents, GradientFlowOn,
                         ::testing::Values(Dims{4, 4, 4, 4}, Dims{4, 6, 8, 2}, Dims{2, 2, 2, 8}, Dims{12, 4, 2, 6},
                                           Dims{6, 6, 6, 6}, Dims{8, 4, 8, 8}));

TEST_P(GradientFlowOn, EveryLinkIsThatOfTheNaiveIntegrator) {
  const std::vector<Isa> isas = backend().host_memory() ? available_isas() : std::vector<Isa>{available_isas().front()};
  for (const bool hot : {true, false}) {
    const HostLinks start =
        hot ? testing::hot_start(lattice, next_seed()) : testing::weak_start(lattice, next_seed(), 0.4);
    HostLinks expected = start;
    step_naively(lattice, expected, 0.1);
    step_naively(lattice, expected, 0.03);
    EXPECT_GT(distance(expected, start), 0.05);
    for (const Isa isa : isas) {
      const ForcedIsa forced(isa);
      GradientFlow flow = flow_of(start);
      EXPECT_EQ(distance(flow.links().host_links(), start), 0);
      flow.step(0.1);
      flow.step(0.03);
      EXPECT_LT(distance(flow.links().host_links(), expected), 1e-13) << to_string(isa);
      EXPECT_LT(testing::unitarity(flow.links().host_links()).unitarity, 1e-14);
    }
  }
}

TEST_P(GradientFlowOn, WithRectanglesLinksAreThoseOfTheNaiveIntegrator) {
  const std::vector<Isa> isas = backend().host_memory() ? available_isas() : std::vector<Isa>{available_isas().front()};
  const HostLinks start = testing::hot_start(lattice, next_seed());
  HostLinks expected = start, other = start;
  step_naively(lattice, expected, 0.04, symanzik_action);
  step_naively(lattice, expected, 0.03, symanzik_action);
  step_naively(lattice, other, 0.04);
  step_naively(lattice, other, 0.03);
  EXPECT_GT(distance(expected, other), 0.01);
  for (const Isa isa : isas) {
    const ForcedIsa forced(isa);
    GradientFlow flow(GaugeStore(lattice, start, backend()), symanzik_action);
    flow.step(0.04);
    flow.step(0.03);
    EXPECT_LT(distance(flow.links().host_links(), expected), 1e-13) << to_string(isa);
  }
}

TEST_P(GradientFlowOn, EnergiesAndChargeAreThoseOfPaths) {
  for (const bool hot : {true, false}) {
    const HostLinks links =
        hot ? testing::hot_start(lattice, next_seed()) : testing::weak_start(lattice, next_seed(), 0.4);
    const FlowPoint expected = measured_naively(lattice, links), found = flow_of(links).measure();
    EXPECT_NEAR(found.plaquette, expected.plaquette, 1e-13);
    EXPECT_NEAR(found.energy_plaquette, expected.energy_plaquette, 1e-12 * expected.energy_plaquette);
    EXPECT_NEAR(found.energy_clover, expected.energy_clover, 1e-12 * expected.energy_clover);
    EXPECT_NEAR(found.charge, expected.charge, 1e-13 * double(lattice.volume()));
    EXPECT_GT(std::abs(expected.charge), 1e-8);
  }
}

TEST_P(GradientFlowOn, IsGaugeCovariant) {
  const HostLinks start = testing::weak_start(lattice, next_seed(), 0.5);
  const std::vector<Complex> g = testing::random_transformation(lattice, next_seed());
  GradientFlow flow = flow_of(start), other = flow_of(testing::gauge_transformed(lattice, start, g));
  for (int step = 0; step < 3; ++step) {
    flow.step(0.05);
    other.step(0.05);
  }
  const HostLinks expected = testing::gauge_transformed(lattice, flow.links().host_links(), g);
  EXPECT_LT(distance(other.links().host_links(), expected), 1e-13);
  EXPECT_NEAR(flow.measure().charge, other.measure().charge, 1e-12 * double(lattice.volume()));
}

TEST(GradientFlow, ItsErrorIsOfThirdOrder) {
  const Lattice lattice({4, 4, 4, 4});
  const HostLinks start = testing::weak_start(lattice, next_seed(), 0.5);
  const auto flowed = [&](int steps) {
    GradientFlow flow(GaugeStore(lattice, start, backend()));
    for (int k = 0; k < steps; ++k) flow.step(0.4 / steps);
    return flow.links().host_links();
  };
  const HostLinks exact = flowed(512);
  const auto error = [&](int steps) {
    const HostLinks found = flowed(steps);
    double sum = 0;
    for (std::size_t n = 0; n < found.data.size(); ++n) sum += std::norm(found.data[n] - exact.data[n]);
    return std::sqrt(sum);
  };
  const double ratio = error(16) / error(32);
  std::cout << "half the step: the error falls by " << ratio << "\n";
  EXPECT_GT(ratio, 7.5);
  EXPECT_LT(ratio, 9.5);
}

TEST(GradientFlow, EnergyFalls) {
  const Lattice lattice({4, 4, 6, 8});
  GradientFlow flow(GaugeStore(lattice, testing::hot_start(lattice, next_seed()), backend()));
  FlowPoint before = flow.measure();
  for (int k = 0; k < 20; ++k) {
    flow.step(0.02);
    const FlowPoint now = flow.measure();
    EXPECT_LT(now.energy_plaquette, before.energy_plaquette);
    EXPECT_GT(now.energy_plaquette, 0);
    before = now;
  }
}

// A weak transverse plane wave in one direction of the algebra falls as exp(- k^2 t), k^2 that of the lattice.
TEST(GradientFlow, APlaneWaveDecaysAsItsMomentumSays) {
  const Dims dims{6, 4, 8, 4};
  const Lattice lattice(dims);
  const int modes[4] = {1, 0, 2, 0};
  double k2 = 0;
  for (std::size_t mu = 0; mu < 4; ++mu) k2 += 4 * std::pow(std::sin(std::numbers::pi * modes[mu] / dims[mu]), 2);
  constexpr double amplitude = 1e-5;
  const auto phase_at = [&](std::int64_t site) {
    const Dims x = lattice.coordinates(site);
    double phase = 0.3;
    for (std::size_t mu = 0; mu < 4; ++mu) phase += 2 * std::numbers::pi * modes[mu] * x[mu] / dims[mu];
    return std::cos(phase);
  };
  HostLinks links = testing::cold_start(lattice);
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    Matrix3 h;
    h(0, 0) = amplitude * phase_at(site);
    h(1, 1) = -2 * amplitude * phase_at(site);
    h(2, 2) = amplitude * phase_at(site);
    exp_i(h).write(links.link(site, 3));  // k has no t component
  }
  GradientFlow flow(GaugeStore(lattice, links, backend()));
  for (int k = 0; k < 40; ++k) flow.step(0.01);
  const HostLinks after = flow.links().host_links();
  const double factor = std::exp(-k2 * 0.4);
  double worst = 0;
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const Matrix3 u = Matrix3::read(after.link(site, 3));
    worst = std::max(worst, std::abs(u(0, 0).imag() - amplitude * phase_at(site) * factor));
    worst = std::max(worst, std::abs(u(1, 1).imag() + 2 * amplitude * phase_at(site) * factor));
    EXPECT_LT(std::abs(Matrix3::read(after.link(site, 0))(0, 0).imag()), 1e-12);
  }
  // Of the integrator (k^2 eps)^3 k^2 t / 24, and amplitude^2 of the links that do not commute: these do.
  EXPECT_LT(worst, 1e-5 * amplitude);
}

TEST(GradientFlow, AnyNumberOfThreadsGivesTheSameBits) {
  const Lattice lattice({8, 4, 6, 8});
  const HostLinks start = testing::hot_start(lattice, next_seed());
  const int before = omp_get_max_threads();
  std::vector<HostLinks> found;
  std::vector<FlowPoint> points;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    GradientFlow flow(GaugeStore(lattice, start, backend()));
    for (int k = 0; k < 3; ++k) flow.step(0.02);
    found.push_back(flow.links().host_links());
    points.push_back(flow.measure());
  }
  omp_set_num_threads(before);
  for (std::size_t k = 1; k < found.size(); ++k) {
    EXPECT_EQ(std::memcmp(found[k].data.data(), found[0].data.data(), found[0].data.size() * sizeof(Complex)), 0);
    EXPECT_EQ(points[k].energy_clover, points[0].energy_clover);
    EXPECT_EQ(points[k].charge, points[0].charge);
  }
}

TEST(FlowScales, ACubicCurveGivesItsRoots) {
  // t^2 E = a t + b t^3.
  constexpr double a = 0.11, b = 0.004;
  std::vector<double> times, energies;
  for (const double t : {0.0, 0.1, 0.3, 0.5, 1.0, 1.4, 1.9, 2.5, 3.0}) {
    times.push_back(t);
    energies.push_back(t > 0 ? (a * t + b * t * t * t) / (t * t) : 7.0);
  }
  const Scales found = scales(times, energies);
  ASSERT_TRUE(found.t0 && found.w0);
  EXPECT_NEAR(a * *found.t0 + b * std::pow(*found.t0, 3), 0.3, 1e-12);
  const double t = *found.w0 * *found.w0;
  EXPECT_NEAR(a * t + 3 * b * std::pow(t, 3), 0.3, 1e-12);
  EXPECT_LT(t, *found.t0);
}

TEST(FlowScales, ACurveThatStaysBelowHasNone) {
  const std::vector<double> times{0, 0.5, 1, 1.5, 2}, energies{5, 0.4, 0.1, 0.04, 0.02};
  EXPECT_FALSE(scales(times, energies).t0);
  EXPECT_FALSE(scales(times, energies).w0);
  EXPECT_FALSE(scales({0, 1, 2}, {1, 1, 1}).t0) << "too few points";
  // It rises through the reference between the last two.
  EXPECT_TRUE(scales({0, 0.5, 1, 1.5}, {5, 0.4, 0.2, 0.2}).t0);
}

}  // namespace
}  // namespace quadrille::flow
