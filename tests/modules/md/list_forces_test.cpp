// Forces from neighbour lists against a loop in double precision and against all pairs with the same cutoff; lists that
// are built again; bits.
#include "modules/md/lists/list_forces.h"
#include "core/error.h"
#include "core/simd/isa.h"
#include "modules/md/tasks/force_study.h"
#include "tests/reference/pair_forces.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/random_seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>
#include <set>

namespace quadrille::md {
namespace {

using testing::backend;
using testing::next_seed;

constexpr Method methods[] = {Method::single,          Method::single_double,  Method::takahashi,
                              Method::nitadori,        Method::nitadori_large, Method::narumi,
                              Method::narumi_constant, Method::double_double,  Method::int64};
constexpr Method fixed_methods[] = {Method::narumi, Method::narumi_constant, Method::int64};

/// Particles of random types around a cubic lattice, with charges, exclusions and 1-4 pairs, some of them images away.
System test_system(std::int64_t count, int types) {
  const std::uint64_t seed = next_seed();
  System system = random_system(count, types, 0.8, 0.15, seed);
  const double edge = std::ceil(std::cbrt(double(count)) - 1e-9) * std::cbrt(1 / 0.8);
  system.box = {edge, edge * 1.02, edge * 1.05};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> charge(-1, 1);
  std::uniform_int_distribution<int> image(-2, 2);
  for (std::int64_t i = 0; i < count; ++i) system.charges.push_back(charge(random));
  for (std::size_t n = 0; n < system.positions.size(); ++n) system.positions[n] += image(random) * system.box[n % 3];
  for (std::int32_t i = 0; i + 3 < count; i += 4) {
    system.exclusions.insert(system.exclusions.end(), {{i, i + 1}, {i + 2, i}, {i, i + 3}});
    system.scaled_pairs.push_back({i + 3, i, 2.1, 1.3, 0.5 * system.charges[std::size_t(i)]});
  }
  system.coulomb_constant = 1.7;
  return system;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t n = 0; n < a.size(); ++n) largest = std::max(largest, std::abs(a[n] - b[n]));
  return largest;
}
double largest(const std::vector<double>& f) { return largest_difference(f, std::vector<double>(f.size(), 0.0)); }

ListOptions with(Method method, Coulomb coulomb = Coulomb::none, double cutoff = 2.5,
                 Truncation truncation = Truncation::cut, ExclusionWay way = ExclusionWay::on_the_fly) {
  ListOptions options;
  options.forces.backend = &backend();
  options.forces.method = method;
  options.forces.coulomb = coulomb;
  options.forces.cutoff = cutoff;
  options.forces.exclusions = way;
  options.truncation = truncation;
  return options;
}

/// A cutoff from which every pair is further away than rounding: it would decide whether one acts.
double clear_cutoff(const System& system, double cutoff) {
  for (std::int64_t i = 0; i < system.size(); ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      double squared = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const double d = system.positions[std::size_t(3 * i) + k] - system.positions[std::size_t(3 * j) + k];
        squared += std::pow(d - system.box[k] * std::round(d / system.box[k]), 2);
      }
      if (std::abs(std::sqrt(squared) - cutoff) < 1e-6) return clear_cutoff(system, cutoff + 1e-5);
    }
  }
  return cutoff;
}

/// What truncation changes, pair by pair in double: see list_forces.h.
reference::PairTotals expected_of(const System& system, const ListOptions& options) {
  reference::PairTotals totals = reference::pair_forces(system, options.forces);
  if (options.truncation == Truncation::cut) return totals;
  const double rc = options.forces.cutoff;
  std::set<std::pair<std::int64_t, std::int64_t>> excluded;
  for (const auto& [a, b] : system.exclusions) excluded.insert({std::min(a, b), std::max(a, b)});
  for (std::int64_t i = 0; i < system.size(); ++i) {
    for (std::int64_t j = i + 1; j < system.size(); ++j) {
      if (excluded.count({i, j}) != 0) continue;
      std::array<double, 3> d{};
      for (std::size_t k = 0; k < 3; ++k) {
        d[k] = system.positions[std::size_t(3 * i) + k] - system.positions[std::size_t(3 * j) + k];
        d[k] -= system.box[k] * std::round(d[k] / system.box[k]);
      }
      const double r = std::hypot(d[0], d[1], d[2]);
      if (r >= rc) continue;
      // A system of these two at the cutoff says what is taken away.
      System two;
      two.types = {system.types[std::size_t(i)], system.types[std::size_t(j)]};
      two.table = system.table;
      two.coulomb_constant = system.coulomb_constant;
      two.charges = {system.charges[std::size_t(i)], system.charges[std::size_t(j)]};
      two.box = system.box;
      two.positions = {rc * (1 - 1e-12), 0, 0, 0, 0, 0};
      const reference::PairTotals edge = reference::pair_forces(two, options.forces);
      const bool force = options.truncation == Truncation::shifted_force;
      const double f = force ? edge.forces[0] : 0;
      totals.energy -= edge.energy - f * (r - rc);
      for (std::size_t k = 0; k < 3; ++k) {
        totals.forces[std::size_t(3 * i) + k] -= f * d[k] / r;
        totals.forces[std::size_t(3 * j) + k] += f * d[k] / r;
        for (std::size_t l = 0; l < 3; ++l) totals.virial[3 * k + l] -= f * d[k] * d[l] / r;
      }
    }
  }
  return totals;
}

void expect_same(const ForceResult& result, const reference::PairTotals& expected, double tolerance,
                 const std::string& name) {
  double scale = std::abs(expected.energy);
  for (const double w : expected.virial) scale = std::max(scale, std::abs(w));
  ASSERT_LT(largest_difference(result.forces, expected.forces), tolerance * largest(expected.forces)) << name;
  EXPECT_NEAR(result.energy, expected.energy, tolerance * scale) << name;
  for (std::size_t k = 0; k < 9; ++k) EXPECT_NEAR(result.virial[k], expected.virial[k], tolerance * scale) << name;
}

struct Case {
  Coulomb coulomb;
  Truncation truncation;
  ExclusionWay way;
};
constexpr Case cases[] = {{Coulomb::none, Truncation::cut, ExclusionWay::on_the_fly},
                          {Coulomb::none, Truncation::shifted_force, ExclusionWay::afterwards},
                          {Coulomb::none, Truncation::shifted_potential, ExclusionWay::on_the_fly},
                          {Coulomb::plain, Truncation::cut, ExclusionWay::afterwards},
                          {Coulomb::plain, Truncation::shifted_potential, ExclusionWay::on_the_fly},
                          {Coulomb::plain, Truncation::shifted_force, ExclusionWay::on_the_fly},
                          {Coulomb::reaction_field, Truncation::cut, ExclusionWay::on_the_fly},
                          {Coulomb::reaction_field, Truncation::shifted_force, ExclusionWay::afterwards}};

TEST(ListForces, AreThoseOfTheLoopInDouble) {
  for (const std::int64_t count : {std::int64_t(215), std::int64_t(700)}) {
    for (const int types : {1, 4}) {
      const System system = test_system(count, types);
      const double cutoff = clear_cutoff(system, 2.5);
      for (const Case& one : cases) {
        const reference::PairTotals expected =
            expected_of(system, with(Method::single, one.coulomb, cutoff, one.truncation, one.way));
        for (const Method method : methods) {
          ListForces forces(system, with(method, one.coulomb, cutoff, one.truncation, one.way));
          const ForceResult all = forces.compute(system.positions, system.box, true);
          const double tolerance = method == Method::double_double ? 1e-10 : 2e-5;
          const std::string name = letter_of(method) + " case " + std::to_string(&one - cases);
          expect_same(all, expected, tolerance, name);
          // Without energy it is another kernel with the same forces.
          EXPECT_EQ(forces.compute(system.positions, system.box).forces, all.forces) << name;
        }
      }
    }
  }
}

// On every instruction set, and the two engines meet the same pairs.
TEST(ListForces, AreThoseOfAllPairsWithTheSameCutoff) {
  System system = test_system(1500, 3);
  const double cutoff = clear_cutoff(system, 2.2);
  for (const Isa isa : available_isas()) {
    setenv("QUADRILLE_ISA", to_string(isa).c_str(), 1);
    for (const Method method : methods) {
      const ListOptions options = with(method, Coulomb::reaction_field, cutoff);
      const ForceResult lists = ListForces(system, options).compute(system.positions, system.box, true);
      const ForceResult pairs = PairForces(system, options.forces).compute(system.positions, system.box, true);
      // Close pairs feel the rounding of coordinates in the box.
      const double tolerance = method == Method::double_double ? 1e-12 : 1e-4;
      EXPECT_LT(largest_difference(lists.forces, pairs.forces), tolerance * largest(pairs.forces))
          << letter_of(method) << ' ' << to_string(isa);
      // Attraction and repulsion may cancel in the energy, and not in all of the virial.
      double scale = std::abs(pairs.energy);
      for (const double w : pairs.virial) scale = std::max(scale, std::abs(w));
      EXPECT_NEAR(lists.energy, pairs.energy, tolerance * scale) << letter_of(method) << ' ' << to_string(isa);
    }
  }
  unsetenv("QUADRILLE_ISA");
}

// The smallest box, and boxes of few and of many cells along an edge: every pair is met once.
TEST(ListForces, MeetEveryPairInBoxesOfAnyShape) {
  for (const std::array<double, 3>& box :
       {std::array<double, 3>{5, 5, 5}, {5.1, 40, 6}, {30, 5, 9}, {7, 8.5, 11.3}, {200, 300, 5}}) {
    System system;
    system.box = box;
    const double one[] = {1};
    system.table = mixed_table(one, one, Mixing::geometric);
    std::mt19937_64 random(next_seed());
    // On a lattice that is moved as a whole: no two close to each other, some across the faces.
    const double shift[] = {random() * 0x1p-64 * 9, random() * 0x1p-64 * 9, random() * 0x1p-64 * 9};
    for (double x = 0; x < std::min(box[0], 12.0) - 0.9; x += 1.1) {
      for (double y = 0; y < std::min(box[1], 12.0) - 0.9; y += 1.07) {
        for (double z = 0; z < box[2] - 0.9; z += 1.13) {
          system.positions.insert(system.positions.end(), {x + shift[0], y + shift[1], z + shift[2]});
          system.types.push_back(0);
        }
      }
    }
    system.charges.assign(system.types.size(), 0);
    const ListOptions options = with(Method::double_double, Coulomb::none, clear_cutoff(system, 2.45));
    const reference::PairTotals expected = reference::pair_forces(system, options.forces);
    const ForceResult result = ListForces(system, options).compute(system.positions, system.box, true);
    EXPECT_NEAR(result.energy / expected.energy, 1, 1e-12) << box[0] << ' ' << box[1] << ' ' << box[2];
    EXPECT_LT(largest_difference(result.forces, expected.forces), 1e-11 * largest(expected.forces));
  }
}

/// The particles in another order.
System permuted(const System& system, const std::vector<std::int32_t>& to) {
  System out = system;
  const auto place = [&](std::int32_t i) { return to[std::size_t(i)]; };
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto j = std::size_t(to[i]);
    out.types[j] = system.types[i];
    out.charges[j] = system.charges[i];
    std::copy_n(system.positions.begin() + std::ptrdiff_t(3 * i), 3, out.positions.begin() + std::ptrdiff_t(3 * j));
  }
  for (auto& [a, b] : out.exclusions) std::tie(a, b) = std::pair(place(b), place(a));
  for (ScaledPair& pair : out.scaled_pairs)
    std::tie(pair.first, pair.second) = std::pair(place(pair.second), place(pair.first));
  return out;
}

TEST(ListForces, InFixedPointHaveTheSameBitsInAnyOrderAndSumToZero) {
  const System system = test_system(917, 5);
  std::vector<std::int32_t> to(917);
  std::iota(to.begin(), to.end(), 0);
  std::shuffle(to.begin(), to.end(), std::mt19937_64(next_seed()));
  const System other = permuted(system, to);
  for (const Method method : fixed_methods) {
    for (const ExclusionWay way : {ExclusionWay::on_the_fly, ExclusionWay::afterwards}) {
      const ListOptions options = with(method, Coulomb::plain, 2.5, Truncation::shifted_force, way);
      const ForceResult a = ListForces(system, options).compute(system.positions, system.box, true);
      // Lists of another radius are other lists.
      ListOptions wider = options;
      wider.skin = 0.7;
      const ForceResult b = ListForces(other, wider).compute(other.positions, other.box, true);
      ASSERT_EQ(a.exponent, b.exponent);
      ASSERT_GT(a.exponent, 0);
      for (std::size_t i = 0; i < to.size(); ++i) {
        for (std::size_t k = 0; k < 3; ++k) {
          ASSERT_EQ(a.quanta[3 * i + k], b.quanta[3 * std::size_t(to[i]) + k]) << letter_of(method) << ' ' << i;
        }
      }
      EXPECT_EQ(a.energy, b.energy);
      EXPECT_EQ(a.virial, b.virial);
      EXPECT_THAT(total_force(a), ::testing::Each(0.0));
    }
  }
}

// Two particles across a face of the box: what one feels is what the other feels with the other sign, bit for bit.
TEST(ListForces, ActAndReact) {
  for (int trial = 0; trial < 20; ++trial) {
    System pair = random_system(2, 2, 0.5, 0.3, next_seed());
    pair.charges = {0.3, -0.7};
    pair.box = {7, 7.7, 8.1};
    pair.positions[0] += 3 * pair.box[0];
    for (const Method method : methods) {
      for (const Truncation truncation : {Truncation::cut, Truncation::shifted_force}) {
        const ForceResult result =
            ListForces(pair, with(method, Coulomb::plain, 3.4, truncation)).compute(pair.positions, pair.box);
        for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(result.forces[k], -result.forces[3 + k]) << letter_of(method);
        EXPECT_NE(result.forces[0], 0);
      }
    }
  }
}

TEST(ListForces, AreTheSameBitsOnAnyNumberOfThreads) {
  const System system = test_system(4000, 3);
  const int threads = omp_get_max_threads();
  for (const Method method : methods) {
    std::vector<ForceResult> results;
    for (const int count : {1, 3}) {
      omp_set_num_threads(count);
      results.push_back(ListForces(system, with(method, Coulomb::plain)).compute(system.positions, system.box, true));
    }
    EXPECT_EQ(results[0].forces, results[1].forces) << letter_of(method);
    EXPECT_EQ(results[0].energy, results[1].energy) << letter_of(method);
    EXPECT_EQ(results[0].virial, results[1].virial) << letter_of(method);
  }
  omp_set_num_threads(threads);
}

// Particles that wander: lists are kept while no particle has moved by half the skin, built again after that, and the
// forces are those of the loop all along. A step of 0.1 along the diagonal of three axes at most.
TEST(ListForces, BuildListsAgainBeforeAPairIsMissed) {
  System system = test_system(600, 2);
  const double start = clear_cutoff(system, 2.3);
  ListOptions options = with(Method::double_double, Coulomb::none, start);
  options.skin = 0.25;
  ListForces forces(system, options);
  std::mt19937_64 random(next_seed());
  std::uniform_real_distribution<double> step(-0.02, 0.02);
  for (int n = 0; n < 30; ++n) {
    const reference::PairTotals expected = reference::pair_forces(system, options.forces);
    const ForceResult result = forces.compute(system.positions, system.box);
    EXPECT_LT(largest_difference(result.forces, expected.forces), 1e-9 * largest(expected.forces)) << n;
    for (double& x : system.positions) x += step(random);
  }
  EXPECT_GT(forces.statistics().builds, 1);
  EXPECT_LT(forces.statistics().builds, 15);
  // Of a crystal at rest they are built once, and again when one particle has moved by more than half the skin.
  System rest = fcc_system(500, 0.8);
  ListForces still(rest, with(Method::narumi));
  still.compute(rest.positions, rest.box);
  rest.positions[17] += 0.149;
  still.compute(rest.positions, rest.box);
  EXPECT_EQ(still.statistics().builds, 1);
  rest.positions[17] += 0.002;
  still.compute(rest.positions, rest.box);
  EXPECT_EQ(still.statistics().builds, 2);
}

// Another object that remembers what the first knew goes on with the same bits.
TEST(ListForces, GoOnFromTheirMemory) {
  const System system = test_system(800, 3);
  System moved = system;
  std::mt19937_64 random(next_seed());
  std::uniform_real_distribution<double> step(-0.05, 0.05);
  for (double& x : moved.positions) x += step(random);
  for (const Method method : methods) {
    const ListOptions options = with(method, Coulomb::plain);
    ListForces first(system, options);
    first.compute(system.positions, system.box, true);
    const ListForces::Memory memory = first.memory();
    const ForceResult expected = first.compute(moved.positions, moved.box, true);
    EXPECT_EQ(first.statistics().builds, 1);
    ListForces second(system, options);
    second.remember(memory);
    const ForceResult result = second.compute(moved.positions, moved.box, true);
    EXPECT_EQ(result.forces, expected.forces) << letter_of(method);
    EXPECT_EQ(result.energy, expected.energy) << letter_of(method);
  }
}

// Forces that grow by many orders need other scales.
TEST(ListForces, FindAnotherScaleWhenSumsLeaveTheirRange) {
  System system = test_system(300, 2);
  for (const Method method : fixed_methods) {
    ListForces forces(system, with(method));
    const ForceResult first = forces.compute(system.positions, system.box, true);
    EXPECT_GT(first.passes, 1);
    EXPECT_EQ(forces.compute(system.positions, system.box, true).passes, 1);
    System near = system;  // a pair at a third of its distance
    for (std::size_t k = 0; k < 3; ++k) near.positions[3 * 5 + k] = near.positions[3 * 6 + k] + (k == 0 ? 0.3 : 0);
    const ForceResult closer = forces.compute(near.positions, near.box, true);
    EXPECT_GT(closer.passes, 1);
    EXPECT_LT(closer.exponent, first.exponent - 8);
    const reference::PairTotals expected = reference::pair_forces(near, with(method).forces);
    EXPECT_LT(largest_difference(closer.forces, expected.forces), 1e-4 * largest(expected.forces)) << letter_of(method);
    EXPECT_THAT(total_force(closer), ::testing::Each(0.0));
  }
}

std::string message_of(const System& system, const ListOptions& options) {
  try {
    ListForces(system, options).compute(system.positions, system.box, true);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ListForces, RefuseWhatIsWrongByName) {
  using ::testing::HasSubstr;
  const System good = test_system(200, 3);
  for (const Method method : methods) {
    System bad = good;
    std::copy_n(bad.positions.begin() + 3 * 18, 3, bad.positions.begin() + 3 * 61);
    EXPECT_THAT(message_of(bad, with(method)), ::testing::AnyOf(HasSubstr("particle 19 is not finite: particle 62"),
                                                                HasSubstr("particle 62 is not finite: particle 19")))
        << letter_of(method);
  }
  System bad = good;
  bad.positions[3 * 6 + 1] = NAN;
  EXPECT_THAT(message_of(bad, with(Method::narumi)), HasSubstr("coordinate y of particle 7 is nan"));
  bad = good;
  bad.positions[3 * 6 + 2] = 1e9;
  EXPECT_THAT(message_of(bad, with(Method::narumi)), HasSubstr("particle 7 is lost: its coordinate z is 1e+09"));
  bad = good;
  bad.types[11] = 3;
  EXPECT_THAT(message_of(bad, with(Method::narumi)), HasSubstr("particle 12 has type 4: the table has types 1 to 3"));
  bad = good;
  bad.box[1] = 4.9;
  EXPECT_THAT(message_of(bad, with(Method::narumi)), HasSubstr("edge y of the box is 4.9: it must be at least twice"));
  bad.box = {};
  EXPECT_THAT(message_of(bad, with(Method::narumi)), HasSubstr("the system has no box: with a cutoff of"));
  bad = good;
  bad.positions.pop_back();
  EXPECT_THAT(message_of(bad, with(Method::narumi)), HasSubstr("599 coordinates for 200 particles"));
  EXPECT_THAT(message_of(good, with(Method::narumi, Coulomb::none, 0)), HasSubstr("need a cutoff"));
  EXPECT_THAT(message_of(good, with(Method::exact)), HasSubstr("cannot use the method exact"));
  ListOptions thin = with(Method::narumi);
  thin.skin = 0;
  EXPECT_THAT(message_of(good, thin), HasSubstr("skin = 0: it must be above 0"));
  EXPECT_EQ(message_of(good, with(Method::narumi)), "");
}

}  // namespace
}  // namespace quadrille::md
