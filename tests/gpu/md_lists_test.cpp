// Neighbour lists and dynamics on the GPU against the same on the CPU: bit for bit, in all methods.
#include "core/error.h"
#include "core/simd/isa.h"
#include "modules/md/dynamics/dynamics.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/random_seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace quadrille::md {
namespace {

using testing::backend;
using testing::next_seed;

constexpr Method methods[] = {Method::single,          Method::single_double,  Method::takahashi,
                              Method::nitadori,        Method::nitadori_large, Method::narumi,
                              Method::narumi_constant, Method::double_double,  Method::int64};

/// On CPUs that round a b + c twice the bits are others.
bool cpu_has_the_same_bits() { return active_isa() != Isa::generic; }

/// Types, charges, masses, exclusions, 1-4 pairs; some particles images away.
System mixture(std::int64_t count) {
  const std::uint64_t seed = next_seed();
  System system = random_system(count, 3, 0.7, 0.12, seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> charge(-0.5, 0.5), mass(0.7, 3);
  std::uniform_int_distribution<int> image(-2, 2);
  const double edge = std::ceil(std::cbrt(double(count)) - 1e-9) * std::cbrt(1 / 0.7);
  system.box = {edge, edge * 1.1, edge * 1.03};
  system.masses.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    system.charges.push_back(charge(random));
    system.masses.push_back(mass(random));
  }
  for (std::size_t n = 0; n < system.positions.size(); ++n) system.positions[n] += image(random) * system.box[n % 3];
  for (std::int32_t i = 0; i + 3 < count; i += 4) {
    system.exclusions.insert(system.exclusions.end(), {{i, i + 1}, {i + 2, i}, {i, i + 3}});
    system.scaled_pairs.push_back({i + 3, i, 2.1, 1.3, 0.5 * system.charges[std::size_t(i)]});
  }
  return system;
}

ListOptions with(Method method, Backend* where, double cutoff = 2.5) {
  ListOptions options;
  options.forces.method = method;
  options.forces.cutoff = cutoff;
  options.forces.backend = where;
  options.truncation = Truncation::shifted_force;
  return options;
}

/// Results, with every number that is to be written poisoned before.
struct Found {
  ForceResult whole;
  std::vector<double> forces;
};
Found found(ListForces& lists, const System& system, bool energy) {
  Found out{lists.compute(system.positions, system.box, energy), {}};
  out.forces.assign(system.positions.size(), std::numeric_limits<double>::quiet_NaN());
  lists.compute_into(system.positions, system.box, out.forces, energy);
  return out;
}

void expect_same_bits(const System& system, const ListOptions& here, const ListOptions& there,
                      const std::string& name) {
  ListForces cpu(system, here), gpu(system, there);
  System moved = system;
  for (std::size_t n = 0; n < moved.positions.size(); ++n) moved.positions[n] += n % 7 == 0 ? 0.05 : -0.03;
  for (const bool energy : {false, true}) {
    for (const System* const now : {&system, static_cast<const System*>(&moved)}) {
      const Found a = found(cpu, *now, energy), b = found(gpu, *now, energy);
      ASSERT_EQ(a.whole.forces, b.whole.forces) << name;
      ASSERT_EQ(a.whole.quanta, b.whole.quanta) << name;
      ASSERT_EQ(a.whole.exponent, b.whole.exponent) << name;
      ASSERT_EQ(a.whole.energy, b.whole.energy) << name;
      ASSERT_EQ(a.whole.virial, b.whole.virial) << name;
      ASSERT_EQ(a.forces, b.forces) << name;
      ASSERT_EQ(b.forces, b.whole.forces) << name;
    }
  }
  EXPECT_EQ(cpu.statistics().builds, gpu.statistics().builds);
  const ListForces::Memory a = cpu.memory(), b = gpu.memory();
  EXPECT_EQ(a.force_exponent, b.force_exponent);
  EXPECT_EQ(a.energy_exponent, b.energy_exponent);
}

TEST(CudaListForces, AreThoseOfTheCpuBitForBit) {
  if (!cpu_has_the_same_bits()) GTEST_SKIP() << "this CPU has no fused multiply-add";
  for (const std::int64_t count : {std::int64_t(343), std::int64_t(4017)}) {
    const System system = mixture(count);
    for (const Method method : methods) {
      for (const Coulomb coulomb : {Coulomb::none, Coulomb::plain, Coulomb::reaction_field}) {
        for (const Truncation truncation :
             {Truncation::cut, Truncation::shifted_potential, Truncation::shifted_force}) {
          for (const ExclusionWay way : {ExclusionWay::on_the_fly, ExclusionWay::afterwards}) {
            ListOptions here = with(method, nullptr);
            here.forces.coulomb = coulomb;
            here.forces.exclusions = way;
            here.truncation = truncation;
            ListOptions there = here;
            there.forces.backend = &backend();
            expect_same_bits(system, here, there,
                             letter_of(method) + " " + std::to_string(int(coulomb)) + std::to_string(int(truncation)) +
                                 std::to_string(int(way)));
          }
        }
      }
    }
  }
}

// One type has kernels of its own.
TEST(CudaListForces, OfOneTypeAreThoseOfTheCpuBitForBit) {
  if (!cpu_has_the_same_bits()) GTEST_SKIP() << "this CPU has no fused multiply-add";
  const System system = random_system(6859, 1, 0.8, 0.14, next_seed());
  for (const Method method : methods) {
    expect_same_bits(system, with(method, nullptr), with(method, &backend()), letter_of(method));
  }
}

// A third of the box is full: lists are longer than those of an even density.
TEST(CudaListForces, MakeRoomForLongLists) {
  System system = random_system(2197, 1, 0.8, 0.1, next_seed());
  system.box[2] *= 3;
  const ListOptions options = with(Method::narumi, &backend());
  ListForces cpu(system, with(Method::narumi, nullptr)), gpu(system, options);
  const double radius = 2.8,
               even = 2197 / (system.box[0] * system.box[1] * system.box[2]) * 4.189 * radius * radius * radius;
  const ForceResult expected = cpu.compute(system.positions, system.box, true),
                    result = gpu.compute(system.positions, system.box, true);
  EXPECT_GT(gpu.statistics().pairs_per_particle, 1.5 * even + 20);
  if (!cpu_has_the_same_bits()) return;
  EXPECT_EQ(result.quanta, expected.quanta);
  EXPECT_EQ(result.energy, expected.energy);
}

TEST(CudaListForces, GiveTheirMemoryBack) {
  const System system = mixture(600);
  const std::size_t before = backend().allocated_bytes();
  for (const Method method : {Method::narumi, Method::double_double}) {
    ListForces(system, with(method, &backend())).compute(system.positions, system.box, true);
    DynamicsOptions options;
    options.lists = with(method, &backend());
    Dynamics(system, thermal_velocities(system, 1, 1, 1), options).run(30);
  }
  EXPECT_EQ(backend().allocated_bytes(), before);
}

struct Both {
  Dynamics cpu, gpu;
};
Both both(const System& system, const std::vector<double>& v, DynamicsOptions options) {
  options.lists.forces.backend = nullptr;
  Dynamics cpu(system, v, options);
  options.lists.forces.backend = &backend();
  return {std::move(cpu), Dynamics(system, v, options)};
}

void expect_same_state(const Both& pair, const std::string& name) {
  const Dynamics::Memory a = pair.cpu.memory(), b = pair.gpu.memory();
  ASSERT_EQ(a.positions, b.positions) << name;
  ASSERT_EQ(a.velocities, b.velocities) << name;
  ASSERT_EQ(pair.cpu.forces(), pair.gpu.forces()) << name;
  ASSERT_EQ(a.lists.listed_positions, b.lists.listed_positions) << name;
  ASSERT_EQ(a.lists.force_exponent, b.lists.force_exponent) << name;
  ASSERT_EQ(a.lists.energy_exponent, b.lists.energy_exponent) << name;
  ASSERT_EQ(pair.cpu.statistics().builds, pair.gpu.statistics().builds) << name;
}

TEST(CudaDynamics, GoesTheWayOfTheCpuBitForBit) {
  if (!cpu_has_the_same_bits()) GTEST_SKIP() << "this CPU has no fused multiply-add";
  const System system = mixture(1331);
  const std::vector<double> v = thermal_velocities(system, 1.2, 1, next_seed());
  for (const Method method : methods) {
    DynamicsOptions options;
    options.lists = with(method, nullptr);
    options.lists.forces.coulomb = Coulomb::reaction_field;
    options.time_step = 0.002;
    Both pair = both(system, v, options);
    for (const std::int64_t steps : {1, 2, 77, 120}) {
      pair.cpu.run(steps);
      pair.gpu.run(steps);
      expect_same_state(pair, letter_of(method) + " after " + std::to_string(pair.gpu.step()));
      const Observables a = pair.cpu.observe(), b = pair.gpu.observe();
      EXPECT_EQ(a.step, b.step);
      EXPECT_EQ(a.pairs, b.pairs) << letter_of(method);
      EXPECT_EQ(a.kinetic, b.kinetic) << letter_of(method);
      EXPECT_EQ(a.pressure, b.pressure) << letter_of(method);
      EXPECT_EQ(a.momentum, b.momentum) << letter_of(method);
    }
    EXPECT_GT(pair.gpu.statistics().builds, 4);
  }
}

/// Chains of four: bonds, angles and torsions.
System chains(std::int64_t count) {
  System system = mixture(count);
  for (std::size_t n = 0; n < system.positions.size(); ++n) {
    system.positions[n] -= system.box[n % 3] * std::floor(system.positions[n] / system.box[n % 3]);
  }
  for (std::int32_t i = 0; i + 3 < count; i += 8) {
    for (std::int32_t k = 0; k < 3; ++k) system.bonds.push_back({i + k, i + k + 1, 4.0, 1.1});
    system.angles.insert(system.angles.end(), {{i, i + 1, i + 2, 2.0, 1.9}, {i + 3, i + 2, i + 1, 1.0, 2.1}});
    system.torsions.insert(system.torsions.end(),
                           {{i, i + 1, i + 2, i + 3, 0.7, double(i % 5), 0.4}, {i + 3, i + 1, i, i + 2, 0.2, 2, 3.0}});
  }
  return system;
}

TEST(CudaDynamics, WithBondedTermsGoesTheWayOfTheCpuBitForBit) {
  if (!cpu_has_the_same_bits()) GTEST_SKIP() << "this CPU has no fused multiply-add";
  const System system = chains(1331);
  const std::vector<double> v = thermal_velocities(system, 1.2, 1, next_seed());
  for (const Method method : methods) {
    DynamicsOptions options;
    options.lists = with(method, nullptr);
    options.lists.forces.coulomb = Coulomb::plain;
    options.time_step = 0.001;
    Both pair = both(system, v, options);
    expect_same_state(pair, letter_of(method) + " at first");
    for (const std::int64_t steps : {1, 2, 77, 120}) {
      pair.cpu.run(steps);
      pair.gpu.run(steps);
      expect_same_state(pair, letter_of(method) + " after " + std::to_string(pair.gpu.step()));
      const Observables a = pair.cpu.observe(), b = pair.gpu.observe();
      EXPECT_GT(a.bonded, 0);
      EXPECT_EQ(a.bonded, b.bonded) << letter_of(method);
      EXPECT_EQ(a.energy(), b.energy()) << letter_of(method);
      EXPECT_EQ(a.pressure, b.pressure) << letter_of(method);
    }
  }
}

// One bond alone: of angles and torsions there are none; and two particles that fly through each other.
TEST(CudaDynamics, NamesABondWithoutLength) {
  System system = random_system(27, 1, 0.01, 0, 1);
  system.table.c12 = system.table.c6 = {0};
  std::copy_n(system.positions.begin(), 3, system.positions.begin() + 3);
  system.positions[3] += 1;
  system.bonds.push_back({1, 0, 0, 1});
  system.exclusions.push_back({0, 1});
  std::vector<double> v(system.positions.size());
  v[0] = 8;
  DynamicsOptions options;
  options.lists = with(Method::double_double, &backend());
  options.time_step = 1.0 / 64;
  Dynamics dynamics(system, v, options);
  dynamics.run(7);
  try {
    dynamics.run(20);
    FAIL() << "a bond of length 0";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("step 8: the bond of particles 2 and 1 has length 0"));
  }
}

// With the thermostat logarithms and sines of the device count, whose last bits are others.
TEST(CudaDynamics, HasTheRandomNumbersOfTheCpu) {
  const System system = mixture(343);
  DynamicsOptions options;
  options.lists = with(Method::double_double, nullptr);
  options.friction = 3;
  options.temperature = 1.5;
  options.seed = next_seed();
  Both pair = both(system, thermal_velocities(system, 1, 1, next_seed()), options);
  pair.cpu.run(10);
  pair.gpu.run(10);
  for (std::size_t n = 0; n < system.positions.size(); ++n) {
    ASSERT_NEAR(pair.cpu.velocities()[n], pair.gpu.velocities()[n], 1e-9);
  }
}

// A gas without forces that rushes to its middle: lists need more room in the midst of steps.
TEST(CudaDynamics, MakesRoomForLongLists) {
  System system = random_system(2744, 1, 0.25, 0.3, next_seed());
  system.table.c12 = system.table.c6 = {0};
  const double middle = system.box[0] / 2;
  std::vector<double> v(system.positions.size());
  for (std::size_t n = 0; n < v.size(); ++n) v[n] = middle - system.positions[n];
  DynamicsOptions options;
  options.lists = with(Method::narumi, nullptr);
  options.time_step = 0.01;
  Both pair = both(system, v, options);
  const double first = pair.gpu.statistics().pairs_per_particle;
  pair.cpu.run(65);
  pair.gpu.run(65);
  EXPECT_GT(pair.gpu.statistics().pairs_per_particle, 4 * first);
  expect_same_state(pair, "gas");
}

// Two particles that are shot at each other: forces that grow by orders need other scales in the midst of steps.
TEST(CudaDynamics, FindsAnotherScaleWhenForcesGrow) {
  if (!cpu_has_the_same_bits()) GTEST_SKIP() << "this CPU has no fused multiply-add";
  System system = random_system(2, 1, 0.5, 0, 1);
  system.box = {12, 12, 12};
  system.positions = {4, 6, 6, 6, 6.01, 6};
  for (const Method method : {Method::narumi, Method::narumi_constant, Method::int64}) {
    DynamicsOptions options;
    options.lists = with(method, nullptr);
    options.time_step = 0.0005;
    Both pair = both(system, {30, 0, 0, -30, 0, 0}, options);
    const int before = pair.gpu.memory().lists.force_exponent;
    pair.cpu.run(50);
    pair.gpu.run(50);
    EXPECT_LT(pair.gpu.memory().lists.force_exponent, before - 3) << letter_of(method);
    expect_same_state(pair, letter_of(method));
    pair.cpu.run(50);
    pair.gpu.run(50);
    EXPECT_LT(pair.gpu.velocities()[0], 0);  // they have turned back
    expect_same_state(pair, letter_of(method));
  }
}

}  // namespace
}  // namespace quadrille::md
