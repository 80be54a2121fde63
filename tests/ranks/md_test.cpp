// Forces between particles and their dynamics on several ranks against one process: the same bits in every method.
#include "core/error.h"
#include "modules/md/dynamics/dynamics.h"
#include "tests/ranks/ranks_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace quadrille::md {
namespace {

constexpr Method methods[] = {Method::single,          Method::single_double,  Method::takahashi,
                              Method::nitadori,        Method::nitadori_large, Method::narumi,
                              Method::narumi_constant, Method::double_double,  Method::int64};

/// Particles of a few types around a cubic lattice, with charges, masses, exclusions and 1-4 pairs.
System charged_system(std::int64_t count, int types, std::uint64_t seed) {
  System system = random_system(count, types, 0.8, 0.15, seed);
  const double edge = std::max(6.5, std::ceil(std::cbrt(double(count)) - 1e-9) * std::cbrt(1 / 0.8));
  system.box = {edge, edge * 1.02, edge * 1.05};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> charge(-1, 1), mass(0.5, 2);
  system.charges.clear();
  system.masses.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    system.charges.push_back(charge(random));
    system.masses.push_back(mass(random));
  }
  for (std::int32_t i = 0; i + 3 < count; i += 4) {
    system.exclusions.insert(system.exclusions.end(), {{i, i + 1}, {i + 2, i}, {i, i + 3}});
    system.scaled_pairs.push_back({i + 3, i, 2.1, 1.3, 0.5 * system.charges[std::size_t(i)]});
  }
  return system;
}

/// Each particle moved by up to `most` along each axis.
std::vector<double> moved(const System& system, double most, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> shift(-most, most);
  std::vector<double> out = system.positions;
  for (double& x : out) x += shift(random);
  return out;
}

void expect_same(const ForceResult& found, const ForceResult& expected, const std::string& what) {
  EXPECT_EQ(found.forces, expected.forces) << what;
  EXPECT_EQ(found.quanta, expected.quanta) << what;
  EXPECT_EQ(found.exponent, expected.exponent) << what;
  EXPECT_EQ(found.passes, expected.passes) << what;
  EXPECT_EQ(found.energy, expected.energy) << what;
  EXPECT_EQ(found.virial, expected.virial) << what;
}

using testing::backend;

/// `make(system, ranks)` gives forces. Of so few particles that some ranks have none, and of many; where they move so
/// little that lists stay, and so far that forces need other scales.
template <class Make>
void expect_the_forces_of_one_process(Make make, const std::string& what) {
  const std::uint64_t seed = testing::shared_seed();
  const auto all = testing::all_ranks();
  for (const auto& [count, types] : {std::pair(5, 1), std::pair(130, 3), std::pair(777, 2)}) {
    const System system = charged_system(count, types, seed);
    auto alone = make(system, nullptr), shared = make(system, all.get());
    std::uint64_t call = 0;
    for (const double most : {0.0, 0.05, 0.3}) {
      for (const bool energy : {false, true}) {
        const std::vector<double> at = moved(system, most, seed + ++call);
        expect_same(shared.compute(at, system.box, energy), alone.compute(at, system.box, energy),
                    fmt::format("{}, {} particles, call {}", what, count, call));
      }
    }
  }
}

class RankForces : public ::testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, RankForces, ::testing::ValuesIn(methods),
                         [](const ::testing::TestParamInfo<Method>& info) {
                           return info.param == Method::narumi_constant ? "Fstar" : letter_of(info.param);
                         });

ForceOptions force_options(Method method, ExclusionWay way, double cutoff, const Communicator* ranks) {
  ForceOptions options;
  options.method = method;
  options.coulomb = cutoff > 0 ? Coulomb::reaction_field : Coulomb::plain;
  options.exclusions = way;
  options.cutoff = cutoff;
  options.backend = &backend();
  options.ranks = ranks;
  return options;
}

constexpr ExclusionWay ways[] = {ExclusionWay::on_the_fly, ExclusionWay::afterwards};

TEST_P(RankForces, OfAllPairsAreThoseOfOneProcess) {
  for (const ExclusionWay way : ways) {
    for (const double cutoff : {0.0, 2.5}) {
      expect_the_forces_of_one_process(
          [&](const System& system, const Communicator* ranks) {
            return PairForces(system, force_options(GetParam(), way, cutoff, ranks));
          },
          fmt::format("cutoff {}, way {}", cutoff, int(way)));
    }
  }
}

TEST_P(RankForces, FromListsAreThoseOfOneProcess) {
  for (const ExclusionWay way : ways) {
    expect_the_forces_of_one_process(
        [&](const System& system, const Communicator* ranks) {
          return ListForces(system, {force_options(GetParam(), way, 2.5, ranks), Truncation::shifted_force, 0.3});
        },
        fmt::format("way {}", int(way)));
  }
}

/// With bonded terms, of which each rank computes all; a state that ranks leave is one process's, and the other way
/// around.
TEST_P(RankForces, MoveParticlesAsOneProcessDoes) {
  const std::uint64_t seed = testing::shared_seed();
  const auto all = testing::all_ranks();
  System system = charged_system(600, 2, seed);
  for (std::int32_t i = 0; i + 3 < 600; i += 40) {
    system.bonds.push_back({i, i + 1, 3.0, 1.1});
    system.angles.push_back({i, i + 1, i + 2, 2.0, 1.9});
    system.torsions.push_back({i, i + 1, i + 2, i + 3, 0.7, 3, 0.4});
  }
  const std::vector<double> v = thermal_velocities(system, 1.1, 1, seed);
  for (const double friction : {0.0, 1.5}) {
    DynamicsOptions options;
    options.lists.forces = force_options(GetParam(), ExclusionWay::on_the_fly, 2.5, nullptr);
    options.time_step = 0.001;
    options.friction = friction;
    options.temperature = 1.1;
    options.energies_in_double = friction > 0;
    Dynamics alone(system, v, options);
    options.lists.forces.ranks = all.get();
    Dynamics shared(system, v, options);
    for (int part = 0; part < 3; ++part) {
      alone.run(20);
      shared.run(20);
      EXPECT_EQ(shared.positions(), alone.positions()) << "part " << part << ", friction " << friction;
      EXPECT_EQ(shared.velocities(), alone.velocities()) << "part " << part << ", friction " << friction;
      const Observables found = shared.observe(), expected = alone.observe();
      EXPECT_EQ(found.energy(), expected.energy());
      EXPECT_EQ(found.pressure, expected.pressure);
      EXPECT_EQ(shared.statistics().builds, alone.statistics().builds);
      EXPECT_EQ(shared.statistics().pairs_per_particle, alone.statistics().pairs_per_particle);
      const Dynamics::Memory of_ranks = shared.memory();
      shared.remember(alone.memory());
      alone.remember(of_ranks);
    }
  }
}

void expect_same_way(Dynamics& shared, Dynamics& alone, std::int64_t steps, const std::string& what) {
  alone.run(steps);
  shared.run(steps);
  EXPECT_EQ(shared.positions(), alone.positions()) << what;
  EXPECT_EQ(shared.velocities(), alone.velocities()) << what;
  EXPECT_EQ(shared.forces(), alone.forces()) << what;
  EXPECT_EQ(shared.statistics().builds, alone.statistics().builds) << what;
}

/// A gas without forces that rushes to its middle: lists of some ranks need more room than those of others, and at
/// other times.
TEST(RankForcesTogether, ListsGrow) {
  const auto all = testing::all_ranks();
  System system = random_system(1000, 1, 0.25, 0.3, testing::shared_seed());
  system.table.c12 = system.table.c6 = {0};
  std::vector<double> v(system.positions.size());
  for (std::size_t n = 0; n < v.size(); ++n) v[n] = system.box[0] / 2 - system.positions[n];
  DynamicsOptions options;
  options.lists.forces = force_options(Method::narumi, ExclusionWay::on_the_fly, 2.5, nullptr);
  options.lists.forces.coulomb = Coulomb::none;
  options.time_step = 0.01;
  Dynamics alone(system, v, options);
  options.lists.forces.ranks = all.get();
  Dynamics shared(system, v, options);
  expect_same_way(shared, alone, 70, "gas");
}

/// Two particles that are shot at each other: the scales of one rank do not fit any more.
TEST(RankForcesTogether, ScalesChange) {
  const auto all = testing::all_ranks();
  System system = random_system(300, 1, 0.05, 0.05, testing::shared_seed());
  std::copy_n(system.positions.begin(), 3, system.positions.begin() + 3);
  system.positions[3] += 2;
  system.positions[1] += 0.01;
  std::vector<double> v(system.positions.size());
  v[0] = 30;
  v[3] = -30;
  for (const Method method : {Method::narumi, Method::narumi_constant, Method::int64}) {
    DynamicsOptions options;
    options.lists.forces = force_options(method, ExclusionWay::on_the_fly, 2.5, nullptr);
    options.lists.forces.coulomb = Coulomb::none;
    options.time_step = 0.0005;
    Dynamics alone(system, v, options);
    options.lists.forces.ranks = all.get();
    Dynamics shared(system, v, options);
    const int before = shared.memory().lists.force_exponent;
    expect_same_way(shared, alone, 50, letter_of(method));
    EXPECT_LT(shared.memory().lists.force_exponent, before - 3);
    expect_same_way(shared, alone, 50, letter_of(method));
  }
}

/// Every rank says so: none waits for another.
TEST(RankForcesTogether, FailTogether) {
  const auto all = testing::all_ranks();
  System system = charged_system(300, 1, testing::shared_seed());
  std::copy_n(system.positions.begin(), 3, system.positions.begin() + 3);
  system.exclusions.clear();
  for (const Method method : {Method::single, Method::narumi, Method::double_double}) {
    const ForceOptions options = force_options(method, ExclusionWay::on_the_fly, 2.5, all.get());
    EXPECT_THROW(PairForces(system, options).compute(system.positions, system.box), Error);
    EXPECT_THROW(ListForces(system, {options, Truncation::cut, 0.3}).compute(system.positions, system.box), Error);
  }
}

TEST(RankForcesTogether, FailInTheMidstOfSteps) {
  const auto all = testing::all_ranks();
  System system = charged_system(300, 1, testing::shared_seed());
  std::vector<double> v(system.positions.size());
  DynamicsOptions options;
  options.lists.forces = force_options(Method::narumi, ExclusionWay::on_the_fly, 2.5, all.get());
  options.time_step = 0.001;
  v[3 * 200] = 1e4;  // leaves in the first step
  EXPECT_THROW(Dynamics(system, v, options).run(20), Error);
  // Two that fly through each other, bound without force.
  system = random_system(27, 1, 0.01, 0, 1);
  system.table.c12 = system.table.c6 = {0};
  std::copy_n(system.positions.begin(), 3, system.positions.begin() + 3);
  system.positions[3] += 1;
  system.bonds.push_back({0, 1, 0, 1});
  system.exclusions.push_back({0, 1});
  v.assign(system.positions.size(), 0);
  v[0] = 8;
  options.lists.forces.coulomb = Coulomb::none;
  options.time_step = 1.0 / 64;
  EXPECT_THROW(Dynamics(system, v, options).run(20), Error);
}

}  // namespace
}  // namespace quadrille::md
