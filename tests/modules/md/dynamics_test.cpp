// Dynamics against velocity Verlet with the loop in double, and what integrator, thermostat and restarts promise.
#include "modules/md/dynamics/dynamics.h"
#include "core/error.h"
#include "modules/md/dynamics/series.h"
#include "tests/reference/pair_forces.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/random_seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace quadrille::md {
namespace {

using testing::backend;
using testing::next_seed;

constexpr Method methods[] = {Method::single,          Method::single_double,  Method::takahashi,
                              Method::nitadori,        Method::nitadori_large, Method::narumi,
                              Method::narumi_constant, Method::double_double,  Method::int64};

DynamicsOptions with(Method method, double time_step = 0.005, Truncation truncation = Truncation::shifted_force) {
  DynamicsOptions options;
  options.lists.forces.backend = &backend();
  options.lists.forces.method = method;
  options.lists.forces.cutoff = 2.5;
  options.lists.truncation = truncation;
  options.time_step = time_step;
  return options;
}

std::vector<double> velocities_of(const System& system, double temperature = 1.44) {
  return thermal_velocities(system, temperature, 1, next_seed());
}

/// A liquid of two types with charges and masses of its own, 500 particles.
System liquid() {
  System system = fcc_system(500, 0.8);
  const double sigma[] = {1, 0.9}, epsilon[] = {1, 0.7};
  system.table = mixed_table(sigma, epsilon, Mixing::lorentz_berthelot);
  std::mt19937_64 random(next_seed());
  for (std::size_t i = 0; i < 500; ++i) {
    system.types[i] = std::int32_t(random() % 2);
    system.masses[i] = system.types[i] == 0 ? 1 : 1.7;
    system.charges.push_back(i % 2 == 0 ? 0.3 : -0.3);
  }
  return system;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t n = 0; n < a.size(); ++n) largest = std::max(largest, std::abs(a[n] - b[n]));
  return largest;
}

TEST(Dynamics, IsVelocityVerletWithTheForcesOfTheLoop) {
  System system = liquid();
  std::vector<double> v = velocities_of(system);
  DynamicsOptions options = with(Method::double_double, 0.005, Truncation::cut);
  options.lists.forces.coulomb = Coulomb::reaction_field;
  Dynamics dynamics(system, v, options);
  dynamics.run(20);
  std::vector<double> f = reference::pair_forces(system, options.lists.forces).forces;
  for (int step = 0; step < 20; ++step) {
    const auto kick = [&] {
      for (std::size_t n = 0; n < v.size(); ++n) v[n] += 0.0025 * f[n] / system.masses[n / 3];
    };
    kick();
    for (std::size_t n = 0; n < v.size(); ++n) system.positions[n] += 0.005 * v[n];
    f = reference::pair_forces(system, options.lists.forces).forces;
    kick();
  }
  EXPECT_EQ(dynamics.step(), 20);
  EXPECT_LT(largest_difference(dynamics.positions(), system.positions), 1e-11);
  EXPECT_LT(largest_difference(dynamics.velocities(), v), 1e-10);
  EXPECT_LT(largest_difference(dynamics.forces(), f), 1e-8);
}

TEST(Dynamics, StartsAtTheTemperatureWithoutMomentum) {
  const System system = liquid();
  Dynamics dynamics(system, velocities_of(system, 0.9), with(Method::narumi));
  const Observables seen = dynamics.observe();
  EXPECT_NEAR(seen.temperature, 0.9, 1e-12);
  for (const double p : seen.momentum) EXPECT_NEAR(p, 0, 1e-11);
  // In proportion to sqrt(T / m), not all alike.
  double light = 0, heavy = 0, lights = 0, heavies = 0;
  for (std::size_t n = 0; n < 1500; ++n) {
    const double squared = std::pow(dynamics.velocities()[n], 2);
    (system.masses[n / 3] > 1 ? heavy : light) += squared;
    (system.masses[n / 3] > 1 ? heavies : lights) += 1;
  }
  EXPECT_NEAR(heavy / heavies * 1.7 / (light / lights), 1, 0.3);
}

/// Root mean square fluctuation of the energy over a time, sampled every 0.02.
double fluctuation(const System& system, const std::vector<double>& v, double time_step, double time) {
  DynamicsOptions options = with(Method::double_double, time_step);
  Dynamics dynamics(system, v, options);
  std::vector<double> times, energies;
  const auto every = std::int64_t(std::lround(0.02 / time_step));
  for (std::int64_t n = 0; double(n) * 0.02 < time; ++n) {
    dynamics.run(every);
    times.push_back(double(n) * 0.02);
    energies.push_back(dynamics.observe().energy());
  }
  return trend_of(times, energies).fluctuation.value();
}

// From a liquid that has forgotten its crystal, in the same stretch of time.
TEST(Dynamics, EnergyFluctuatesAsTheSquareOfTheTimeStep) {
  System system = liquid();
  Dynamics melting(system, velocities_of(system), with(Method::narumi));
  melting.run(400);
  system.positions = melting.positions();
  const double whole = fluctuation(system, melting.velocities(), 0.004, 0.6),
               half = fluctuation(system, melting.velocities(), 0.002, 0.6);
  EXPECT_NEAR(whole / half, 4, 0.4) << whole << ' ' << half;
}

// Energy in double of the same trajectory's length: F drifts no more than G does, and its momentum is that of the start
// but for the rounding of velocities.
TEST(Dynamics, FIsAsGoodAsGAndKeepsItsMomentum) {
  const System system = fcc_system(864, 0.8442);
  const std::vector<double> v = velocities_of(system);
  const std::int64_t steps = 2000;
  std::vector<Trend> trends;
  for (const Method method : {Method::narumi, Method::double_double}) {
    DynamicsOptions options = with(method, 0.002);
    options.energies_in_double = true;
    Dynamics dynamics(system, v, options);
    dynamics.run(500);
    const std::array<double, 3> before = dynamics.observe().momentum;
    std::vector<double> times, energies;
    for (std::int64_t n = 0; n < steps; n += 10) {
      dynamics.run(10);
      const Observables seen = dynamics.observe();
      times.push_back(double(n) * 0.002);
      energies.push_back(seen.energy() / 864);
    }
    trends.push_back(trend_of(times, energies));
    if (method != Method::narumi) continue;
    const std::array<double, 3> after = dynamics.observe().momentum;
    // Two roundings a step of 864 velocities of about 1.2, at random: 2^-53 sqrt(2 x 2000 x 864).
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(after[k], before[k], 8 * 0x1p-53 * std::sqrt(4000.0 * 864)) << k;
  }
  const double error = std::hypot(trends[0].slope_error.value(), trends[1].slope_error.value());
  EXPECT_NEAR(trends[0].slope, trends[1].slope, 4 * error);
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 1e-4);
}

TEST(Dynamics, GoesOnWithTheSameBitsOnAnyNumberOfThreads) {
  System system = liquid();
  const std::vector<double> v = velocities_of(system);
  const int threads = omp_get_max_threads();
  for (const Method method : methods) {
    for (const double friction : {0.0, 1.5}) {
      DynamicsOptions options = with(method);
      options.friction = friction;
      options.temperature = 1.1;
      options.seed = 7;
      options.lists.forces.coulomb = Coulomb::plain;
      omp_set_num_threads(1);
      Dynamics whole(system, v, options), first(system, v, options);
      whole.run(60);
      const Observables expected = whole.observe();
      first.run(33);
      const Dynamics::Memory memory = first.memory();
      omp_set_num_threads(3);
      Dynamics second(system, std::vector<double>(v.size(), 0.0), options);
      second.remember(memory);
      EXPECT_EQ(second.step(), 33);
      second.run(27);
      EXPECT_EQ(second.positions(), whole.positions()) << letter_of(method) << ' ' << friction;
      EXPECT_EQ(second.velocities(), whole.velocities()) << letter_of(method) << ' ' << friction;
      EXPECT_EQ(second.observe().energy(), expected.energy()) << letter_of(method) << ' ' << friction;
    }
  }
  omp_set_num_threads(threads);
}

// In fixed point a particle's way has the same bits wherever it stands among the others.
TEST(Dynamics, InFixedPointDoesNotKnowTheOrderOfTheParticles) {
  const System system = liquid();
  const std::vector<double> v = velocities_of(system);
  std::vector<std::size_t> to(500);
  std::iota(to.begin(), to.end(), std::size_t(0));
  std::shuffle(to.begin(), to.end(), std::mt19937_64(next_seed()));
  System other = system;
  std::vector<double> other_v = v;
  for (std::size_t i = 0; i < 500; ++i) {
    other.types[to[i]] = system.types[i];
    other.masses[to[i]] = system.masses[i];
    other.charges[to[i]] = system.charges[i];
    for (std::size_t k = 0; k < 3; ++k) {
      other.positions[3 * to[i] + k] = system.positions[3 * i + k];
      other_v[3 * to[i] + k] = v[3 * i + k];
    }
  }
  for (const Method method : {Method::narumi, Method::int64}) {
    DynamicsOptions options = with(method);
    options.lists.forces.coulomb = Coulomb::plain;
    Dynamics one(system, v, options), two(other, other_v, options);
    one.run(150);
    two.run(150);
    EXPECT_GT(one.statistics().builds, 3);
    for (std::size_t i = 0; i < 500; ++i) {
      for (std::size_t k = 0; k < 3; ++k) {
        ASSERT_EQ(one.positions()[3 * i + k], two.positions()[3 * to[i] + k]) << letter_of(method) << ' ' << i;
      }
    }
  }
}

TEST(Dynamics, TheThermostatBringsTheTemperature) {
  const System system = liquid();
  DynamicsOptions options = with(Method::narumi);
  options.friction = 5;
  options.temperature = 0.8;
  options.seed = next_seed();
  Dynamics dynamics(system, velocities_of(system, 2), options);
  dynamics.run(400);
  double sum = 0;
  for (int n = 0; n < 200; ++n) {
    dynamics.run(10);
    sum += dynamics.observe().temperature;
  }
  // 1,500 degrees of freedom, 200 samples 0.05 apart with a friction of 5: an error of 0.8 sqrt(2 / 1500 / 40) or so.
  EXPECT_NEAR(sum / 200, 0.8, 0.03);
}

// The pressure is what the energy does to the volume: P = 2 K / (3 V) - dU / dV.
TEST(Dynamics, PressureIsTheChangeOfEnergyWithVolume) {
  System system = liquid();
  Dynamics melting(system, velocities_of(system), with(Method::narumi));
  melting.run(100);
  system.positions = melting.positions();
  DynamicsOptions options = with(Method::double_double);
  options.lists.forces.coulomb = Coulomb::plain;
  // Bonds across no face: a few pairs that are near each other.
  for (std::int32_t i = 0; i + 1 < 40; i += 2) system.bonds.push_back({i, i + 1, 3, 1.1});
  const auto at = [&](double scale) {
    System scaled = system;
    for (double& x : scaled.positions) x *= scale;
    for (double& edge : scaled.box) edge *= scale;
    return Dynamics(scaled, melting.velocities(), options).observe();
  };
  const double e = 1e-5;
  const Observables less = at(1 - e), now = at(1), more = at(1 + e);
  const double volume = system.box[0] * system.box[1] * system.box[2];
  const double slope = (more.pairs + more.bonded - less.pairs - less.bonded) / (6 * e * volume);
  EXPECT_NEAR(now.pressure, 2 * now.kinetic / (3 * volume) - slope, 1e-6 * std::abs(now.pressure) + 1e-6);
  EXPECT_GT(now.bonded, 0);
}

// Two particles on a spring, out of reach of Lennard-Jones: the period of mass and spring, to the second order in the
// time step.
TEST(Dynamics, ASpringOscillates) {
  System system;
  system.types = {0, 0};
  system.masses = {1, 3};
  const double none[] = {0.1};
  system.table = mixed_table(none, none, Mixing::geometric);
  system.table.c12 = system.table.c6 = {0};
  system.box = {10, 10, 10};
  system.positions = {4, 5, 5, 5.5, 5, 5};
  system.bonds.push_back({0, 1, 2.0, 1.4});  // k (r - r0)^2: a force constant of 4
  DynamicsOptions options = with(Method::narumi, 0.002);
  Dynamics dynamics(system, std::vector<double>(6, 0.0), options);
  const double frequency = std::sqrt(4.0 / 0.75);  // over the reduced mass
  dynamics.run(1700);
  const double r = dynamics.positions()[3] - dynamics.positions()[0];
  EXPECT_NEAR(r, 1.4 + 0.1 * std::cos(frequency * 3.4), 1e-6);
  EXPECT_NEAR(dynamics.observe().energy(), 2 * 0.01, 2e-7);
}

std::string message_of(const System& system, const std::vector<double>& v, const DynamicsOptions& options,
                       std::int64_t steps = 0) {
  try {
    Dynamics(system, v, options).run(steps);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Dynamics, RefusesWhatIsWrongByName) {
  using ::testing::HasSubstr;
  const System good = liquid();
  const std::vector<double> v = velocities_of(good);
  const DynamicsOptions options = with(Method::narumi);
  EXPECT_EQ(message_of(good, v, options, 3), "");
  EXPECT_THAT(message_of(good, std::vector<double>(1497), options), HasSubstr("1497 velocities for 500 particles"));
  std::vector<double> bad_v = v;
  bad_v[3 * 20 + 2] = INFINITY;
  EXPECT_THAT(message_of(good, bad_v, options), HasSubstr("velocity z of particle 21 is inf"));
  System bad = good;
  bad.masses[6] = 0;
  EXPECT_THAT(message_of(bad, v, options), HasSubstr("the mass of particle 7 is 0"));
  bad = good;
  bad.positions[3 * 9] = NAN;
  EXPECT_THAT(message_of(bad, v, options), HasSubstr("coordinate x of particle 10 is nan"));
  bad = good;
  std::copy_n(bad.positions.begin(), 3, bad.positions.begin() + 3 * 99);
  EXPECT_THAT(message_of(bad, v, options), ::testing::AnyOf(HasSubstr("particle 1 is not finite: particle 100 is at"),
                                                            HasSubstr("particle 100 is not finite: particle 1 is at")));
  EXPECT_THAT(message_of(good, v, with(Method::narumi, -0.1)), HasSubstr("time step = -0.1"));
  // The one that is fast leaves in the first step; a time step of 0.5 ends within a few.
  bad_v = v;
  bad_v[3 * 77] = 310;  // 1.55 in a step; the forces change that by less than 0.05
  EXPECT_THAT(message_of(good, bad_v, options, 5), HasSubstr("step 1: particle 78 moves by 1.5"));
  EXPECT_THAT(message_of(good, v, with(Method::narumi, 0.5), 50), HasSubstr("the time step, 0.5, is too large"));
  Dynamics dynamics(good, v, options);
  Dynamics::Memory memory = dynamics.memory();
  memory.positions.resize(3 * 499);
  EXPECT_THROW(dynamics.remember(memory), Error);
  memory = dynamics.memory();
  memory.lists.box[1] *= 1.1;
  EXPECT_THROW(dynamics.remember(memory), Error);
}

TEST(Trend, IsALineWithItsError) {
  std::mt19937_64 random(next_seed());
  std::normal_distribution<double> noise(0, 0.1);
  std::vector<double> times, values;
  for (int n = 0; n < 4000; ++n) {
    times.push_back(0.5 * n);
    values.push_back(3 - 0.02 * 0.5 * n + noise(random));
  }
  const Trend trend = trend_of(times, values);
  const double expected = 0.1 / std::sqrt(4000.0) / (2000 / std::sqrt(12.0));
  EXPECT_NEAR(trend.slope, -0.02, 6 * expected);
  EXPECT_NEAR(trend.slope_error.value() / expected, 1, 0.6);
  EXPECT_NEAR(trend.fluctuation.value(), 0.1, 0.01);
  EXPECT_EQ(trend_of({}, {}).slope, 0);
}

// A line goes through two points whatever they are: an error of 0 would be a lie.
TEST(Trend, OfFewValuesHasNoError) {
  const std::vector<double> times{0, 1, 2, 3}, values{5, 7, 9, 11.5};
  for (const std::size_t count : {1, 2, 3, 4}) {
    const Trend trend = trend_of(std::span(times).first(count), std::span(values).first(count));
    EXPECT_EQ(trend.slope_error.has_value(), count == 4) << count;
    EXPECT_EQ(trend.fluctuation.has_value(), count == 4) << count;
    if (count > 1) {
      EXPECT_NEAR(trend.slope, 2, 0.2);
    }
  }
}

}  // namespace
}  // namespace quadrille::md
