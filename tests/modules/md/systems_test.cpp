// Bonded forces against differences of their energies; mixing; generated systems.
#include "core/error.h"
#include "modules/md/system.h"
#include "tests/random_seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace quadrille::md {
namespace {

using testing::next_seed;

TEST(BondedForces, AreTheSlopesOfTheirEnergy) {
  std::mt19937_64 random(next_seed());
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0.5, 2);
  for (int trial = 0; trial < 30; ++trial) {
    System system;
    for (int n = 0; n < 18; ++n) system.positions.push_back(normal(random));
    system.types.assign(6, 0);
    system.bonds = {{0, 1, uniform(random), 1.1}, {4, 2, 300, 0.3}};
    system.angles = {{0, 1, 2, uniform(random), 1.9}, {5, 3, 1, 40, 0.7}};
    system.torsions = {{0, 1, 2, 3, uniform(random), 3, 0.4}, {5, 2, 4, 1, 2.5, 2, 3.14}, {1, 5, 0, 3, 1, 1, 0}};
    const BondedForces found = bonded_forces(system);
    const auto energy = [&](std::size_t at, double shift) {
      System moved = system;
      moved.positions[at] += shift;
      const BondedForces there = bonded_forces(moved);
      return there.bonds + there.angles + there.torsions;
    };
    double total[3] = {};
    for (std::size_t n = 0; n < 18; ++n) {
      const double h = 1e-5;
      const double slope = (8 * (energy(n, h) - energy(n, -h)) - (energy(n, 2 * h) - energy(n, -2 * h))) / (12 * h);
      EXPECT_NEAR(found.forces[n], -slope, 1e-6 * (1 + std::abs(slope))) << "coordinate " << n;
      total[n % 3] += found.forces[n];
    }
    for (const double f : total) EXPECT_NEAR(f, 0, 1e-9);
  }
}

TEST(BondedForces, RefuseWhatHasNoDirection) {
  System system;
  system.positions = {0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0};
  system.types.assign(4, 0);
  system.torsions = {{0, 1, 2, 3, 1, 2, 0}};
  EXPECT_THROW(bonded_forces(system), Error);
  system.torsions.clear();
  system.bonds = {{0, 1, 1, 1}};
  EXPECT_NO_THROW(bonded_forces(system));
  system.positions[3] = 0;
  EXPECT_THROW(bonded_forces(system), Error);
}

TEST(LennardJonesTables, MixAsTheirNamesSay) {
  const double sigma[] = {1, 2}, epsilon[] = {1, 4};
  const LennardJonesTable mean = mixed_table(sigma, epsilon, Mixing::lorentz_berthelot);
  EXPECT_NEAR(mean.c6[1], 4 * 2 * std::pow(1.5, 6), 1e-12);
  EXPECT_NEAR(mean.c12[2], 4 * 2 * std::pow(1.5, 12), 1e-10);
  const LennardJonesTable geometric = mixed_table(sigma, epsilon, Mixing::geometric);
  EXPECT_NEAR(geometric.c6[1], 4 * 2 * 8.0, 1e-12);
  EXPECT_NEAR(geometric.c12[3], 4 * 4 * 4096.0, 1e-9);
}

TEST(GeneratedSystems, AreWhatTheyAreAskedFor) {
  const System fcc = fcc_system(256, 0.8442);
  EXPECT_NEAR(256 / (fcc.box[0] * fcc.box[1] * fcc.box[2]), 0.8442, 1e-12);
  EXPECT_THROW(fcc_system(257, 1), Error);
  EXPECT_THROW(fcc_system(0, 1), Error);
  EXPECT_THROW(fcc_system(4, -1), Error);
  const std::uint64_t seed = next_seed();
  const System random = random_system(5000, 16, 0.5, 0.1, seed);
  EXPECT_EQ(random.positions, random_system(5000, 16, 0.5, 0.1, seed).positions);
  EXPECT_NE(random.positions, random_system(5000, 16, 0.5, 0.1, seed + 1).positions);
  EXPECT_EQ(std::set<std::int32_t>(random.types.begin(), random.types.end()).size(), 16u);
  EXPECT_EQ(random.positions.size(), 15000u);
  EXPECT_NEAR(random.box[1], 18 * std::cbrt(2), 1e-12);  // 5,000 on 18^3 places
}

}  // namespace
}  // namespace quadrille::md
