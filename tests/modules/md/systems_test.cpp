// Bonded forces against differences of their energies; mixing; generated systems.
#include "core/error.h"
#include "modules/md/bonded/bonded_terms.h"
#include "modules/md/system/system.h"
#include "tests/testing/random_seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
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

TEST(BondedForces, HaveAnArcTangentOfTheirOwn) {
  std::mt19937_64 random(next_seed());
  std::uniform_real_distribution<double> uniform(-1, 1), exponent(-9, 0);
  const double eps = std::numeric_limits<double>::epsilon(), pi = std::numbers::pi;
  for (int n = 0; n < 20000; ++n) {
    const double cosine = uniform(random), sine = std::abs(uniform(random)) * std::pow(10, exponent(random));
    const double expected = std::atan2(sine, cosine);
    EXPECT_NEAR(arc(cosine, sine), expected, 8 * eps * expected) << cosine << " " << sine;
  }
  for (const auto& [cosine, sine, angle] : {std::array{1.0, 0.0, 0.0}, {0.0, 1.0, pi / 2}, {-2.0, 2.0, 3 * pi / 4}}) {
    EXPECT_NEAR(arc(cosine, sine), angle, 8 * eps);
  }
}

/// The energy of four particles in a row from the angles of the mathematical library.
double energy_of_a_chain(const System& system) {
  const auto at = [&](std::int32_t i) {
    const double* const x = system.positions.data() + 3 * i;
    return Triple{x[0], x[1], x[2]};
  };
  const auto length = [](const Triple& d) { return std::sqrt(dot(d, d)); };
  const Bond& bond = system.bonds[0];
  const Angle& angle = system.angles[0];
  const Torsion& torsion = system.torsions[0];
  const Triple u = at(angle.a) - at(angle.b), v = at(angle.c) - at(angle.b);
  const Triple f = at(0) - at(1), g = at(1) - at(2), h = at(3) - at(2), a = cross(f, g), b = cross(h, g);
  const double stretch = length(at(bond.a) - at(bond.b)) - bond.length;
  const double bend = std::acos(dot(u, v) / (length(u) * length(v))) - angle.angle;
  const double phi = std::atan2(dot(cross(b, a), g) / length(g), dot(a, b));
  return bond.k * stretch * stretch + angle.k * bend * bend +
         torsion.k * (1 + std::cos(torsion.periodicity * phi - torsion.phase));
}

TEST(BondedForces, HaveTheEnergyOfTheirAngles) {
  std::mt19937_64 random(next_seed());
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 300; ++trial) {
    System system;
    for (int n = 0; n < 12; ++n) system.positions.push_back(normal(random));
    system.types.assign(4, 0);
    system.bonds = {{0, 1, 2.5, 1.1}};
    system.angles = {{1, 2, 3, 1.4, 1.9}};
    system.torsions = {{0, 1, 2, 3, 0.8, double(trial % 7), normal(random)}};
    const BondedForces found = bonded_forces(system);
    EXPECT_NEAR(found.bonds + found.angles + found.torsions, energy_of_a_chain(system), 1e-11);
  }
}

std::string message_of(const System& system) {
  try {
    bonded_forces(system);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(BondedForces, RefuseWhatHasNoDirection) {
  using ::testing::HasSubstr;
  System system;
  system.positions = {0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0};
  system.types.assign(4, 0);
  system.torsions = {{0, 1, 2, 3, 1, 2, 0}};
  EXPECT_THAT(message_of(system), HasSubstr("the torsion of particles 1, 2, 3 and 4 has no plane"));
  system.torsions.clear();
  system.angles = {{1, 2, 3, 1, 2}};
  EXPECT_THAT(message_of(system), HasSubstr("the angle of particles 2, 3 and 4 has no plane"));
  system.angles.clear();
  system.bonds = {{2, 3, 1, 1}, {0, 1, 1, 1}};
  EXPECT_EQ(message_of(system), "");
  system.positions[3] = 0;
  EXPECT_THAT(message_of(system), HasSubstr("the bond of particles 1 and 2 has length 0"));
}

TEST(BondedForces, RefuseOtherParticlesAndPeriodicities) {
  using ::testing::HasSubstr;
  System system;
  system.positions = {0, 0, 0, 1, 0, 0, 2, 1, 0, 3, 1, 1};
  system.types.assign(4, 0);
  system.bonds = {{0, 1, 1, 1}, {1, 4, 1, 1}};
  EXPECT_THAT(message_of(system), HasSubstr("bond 2 is of particle 5: there are 4"));
  system.bonds.clear();
  system.torsions = {{0, 1, 2, 3, 1, 2.5, 0}};
  EXPECT_THAT(message_of(system), HasSubstr("torsion 1 has the periodicity 2.5: it must be a whole number"));
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
  EXPECT_EQ(fcc_edge(256, 0.8442), fcc.box[2]);
  EXPECT_THROW(fcc_edge(257, 1), Error);
  EXPECT_THROW(fcc_system(257, 1), Error);
  EXPECT_THROW(fcc_system(0, 1), Error);
  EXPECT_THROW(fcc_system(4, -1), Error);
  const std::uint64_t seed = next_seed();
  const System random = random_system(5000, 16, 0.5, 0.1, seed);
  EXPECT_EQ(random.positions, random_system(5000, 16, 0.5, 0.1, seed).positions);
  EXPECT_NE(random.positions, random_system(5000, 16, 0.5, 0.1, seed + 1).positions);
  EXPECT_EQ(std::set<std::int32_t>(random.types.begin(), random.types.end()).size(), 16u);
  EXPECT_EQ(random.positions.size(), 15000u);
  EXPECT_EQ(random_edge(5000, 0.5), random.box[0]);
  EXPECT_NEAR(random.box[1], 18 * std::cbrt(2), 1e-12);  // 5,000 on 18^3 places
}

TEST(GeneratedSystems, ChainsAreBondedAndFarFromEachOther) {
  const std::uint64_t seed = next_seed();
  for (const Chains chains :
       {Chains{840, 20, 0.8442}, {7, 7, 0.5}, {300, 3, 1}, {50, 1, 0.8}, {64, 2, 0.9}, {120, 4, 1e-6}}) {
    const System system = chain_system(chains, 5, 0.08, seed);
    EXPECT_EQ(system.positions, chain_system(chains, 5, 0.08, seed).positions);
    EXPECT_EQ(system.box, chain_box(chains));
    const std::int64_t number = chains.count / chains.length;
    EXPECT_EQ(std::int64_t(system.bonds.size()), number * (chains.length - 1));
    EXPECT_EQ(std::int64_t(system.angles.size()), number * std::max<std::int64_t>(0, chains.length - 2));
    const std::set<Exclusion> excluded(system.exclusions.begin(), system.exclusions.end());
    EXPECT_EQ(excluded.size(), system.exclusions.size());
    for (std::int32_t a = 0; a < chains.count; ++a) {
      for (std::int32_t b = a + 1; b < chains.count; ++b) {
        double square = 0;
        for (int k = 0; k < 3; ++k) {
          const double edge = system.box[std::size_t(k)];
          const double d = system.positions[std::size_t(3 * b + k)] - system.positions[std::size_t(3 * a + k)];
          square += std::pow(d - edge * std::round(d / edge), 2);
        }
        const bool one_chain = a / chains.length == b / chains.length, near = one_chain && b - a <= 2;
        EXPECT_EQ(excluded.count({a, b}), near ? 1u : 0u);
        const double moved = 2 * std::sqrt(3) * 0.08 * 0.5;  // both at most
        if (one_chain && b == a + 1) {
          EXPECT_NEAR(std::sqrt(square), 0.5, moved);
        } else if (one_chain && b == a + 2) {
          EXPECT_NEAR(std::sqrt(square), 0.8290, moved + 1e-3);
        } else {
          EXPECT_GT(std::sqrt(square), 0.75);
        }
      }
    }
    const double volume = system.box[0] * system.box[1] * system.box[2];
    EXPECT_LE(double(chains.count) / volume, chains.density * (1 + 1e-12));
    EXPECT_GE(double(chains.count) / volume, chains.density / 2);  // not all places may be taken
    EXPECT_LT(system.box[1], 3 * std::max(system.box[0], double(chains.length)));
  }
  EXPECT_THROW(chain_system({21, 20, 0.8}, 1, 0, 1), Error);
  EXPECT_THROW(chain_box({20, 0, 0.8}), Error);
  EXPECT_THROW(chain_box({0, 1, 0.8}), Error);
  EXPECT_THROW(chain_box({20, 20, 0}), Error);
}

}  // namespace
}  // namespace quadrille::md
