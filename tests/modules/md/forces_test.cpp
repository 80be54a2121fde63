// Pair forces against a loop in double precision, and what each way to sum them promises.
#include "modules/md/pairs/forces.h"
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

namespace quadrille::md {
namespace {

using testing::next_seed;

constexpr Method methods[] = {Method::single,          Method::single_double,  Method::takahashi,
                              Method::nitadori,        Method::nitadori_large, Method::narumi,
                              Method::narumi_constant, Method::double_double,  Method::int64};

/// Charges, exclusions and scaled pairs at random: chains of three and a 1-4 pair now and then.
System test_system(std::int64_t count, int types) {
  const std::uint64_t seed = next_seed();
  System system = random_system(count, types, 0.8, 0.08, seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> charge(-1, 1);
  for (std::int64_t i = 0; i < count; ++i) system.charges.push_back(charge(random));
  for (std::int32_t i = 0; i + 3 < count; i += 4) {
    system.exclusions.insert(system.exclusions.end(), {{i, i + 1}, {i + 2, i}, {i, i + 3}});
    system.scaled_pairs.push_back({i + 3, i, 2.1, 1.3, 0.5 * system.charges[std::size_t(i)]});
  }
  system.exclusions.emplace_back(0, std::int32_t(count - 1));
  system.coulomb_constant = 1.7;
  const double edge = std::ceil(std::cbrt(double(count)) - 1e-9) * std::cbrt(1 / 0.8);
  system.box = {edge, edge * 1.02, edge * 1.05};
  return system;
}

double rms(const std::vector<double>& f) {
  return std::sqrt(std::inner_product(f.begin(), f.end(), f.begin(), 0.0) / double(f.size() / 3));
}
double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t n = 0; n < a.size(); ++n) largest = std::max(largest, std::abs(a[n] - b[n]));
  return largest;
}
double largest(const std::vector<double>& f) { return largest_difference(f, std::vector<double>(f.size(), 0.0)); }

ForceOptions with(Method method, Coulomb coulomb = Coulomb::none, double cutoff = 0,
                  ExclusionWay way = ExclusionWay::on_the_fly) {
  ForceOptions options;
  options.method = method;
  options.coulomb = coulomb;
  options.cutoff = cutoff;
  options.exclusions = way;
  options.backend = &testing::backend();
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
      if (std::abs(std::sqrt(squared) - cutoff) < 1e-5) return clear_cutoff(system, cutoff + 1e-4);
    }
  }
  return cutoff;
}

struct Case {
  Coulomb coulomb;
  double cutoff;
  ExclusionWay way;
};

TEST(PairForces, AreThoseOfTheLoopInDouble) {
  const Case cases[] = {{Coulomb::none, 0, ExclusionWay::on_the_fly},
                        {Coulomb::plain, 0, ExclusionWay::on_the_fly},
                        {Coulomb::plain, 0, ExclusionWay::afterwards},
                        {Coulomb::none, 2.5, ExclusionWay::afterwards},
                        {Coulomb::plain, 2.5, ExclusionWay::on_the_fly},
                        {Coulomb::reaction_field, 2.5, ExclusionWay::on_the_fly},
                        {Coulomb::reaction_field, 2.5, ExclusionWay::afterwards}};
  for (const std::int64_t count : {std::int64_t(301), std::int64_t(130)}) {
    const System system = test_system(count, 5);
    for (Case one : cases) {
      if (one.cutoff > 0) one.cutoff = clear_cutoff(system, one.cutoff);
      const reference::PairTotals expected =
          reference::pair_forces(system, with(Method::single, one.coulomb, one.cutoff));
      double scale = 0;
      for (const double w : expected.virial) scale = std::max(scale, std::abs(w));
      for (const Method method : methods) {
        const ForceOptions options = with(method, one.coulomb, one.cutoff, one.way);
        const double tolerance = method == Method::double_double ? 1e-10 : 3e-5;
        PairForces forces(system, options);
        const ForceResult all = forces.compute(system.positions, system.box, true);
        const std::string name = letter_of(method) + (one.cutoff > 0 ? " with a cutoff" : "");
        // A close pair has the largest force and, as its distance is a difference of coordinates, the largest error.
        ASSERT_LT(largest_difference(all.forces, expected.forces), tolerance * largest(expected.forces)) << name;
        EXPECT_NEAR(all.energy, expected.energy, tolerance * (scale + std::abs(expected.energy))) << name;
        for (std::size_t k = 0; k < 9; ++k) EXPECT_NEAR(all.virial[k], expected.virial[k], tolerance * scale) << name;
        // Without energy it is another kernel with the same forces.
        const ForceResult alone = forces.compute(system.positions, system.box);
        EXPECT_EQ(alone.forces, all.forces) << name;
        EXPECT_EQ(alone.energy, 0);
      }
    }
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
  for (ScaledPair& pair : out.scaled_pairs) {
    const std::int32_t first = place(pair.second);
    pair.second = place(pair.first);
    pair.first = first;
  }
  return out;
}

TEST(PairForces, InFixedPointHaveTheSameBitsInAnyOrderAndSumToZero) {
  const System system = test_system(517, 7);
  std::vector<std::int32_t> to(517);
  std::iota(to.begin(), to.end(), 0);
  std::shuffle(to.begin(), to.end(), std::mt19937_64(next_seed()));
  const System other = permuted(system, to);
  for (const Method method : {Method::narumi, Method::narumi_constant, Method::int64}) {
    for (const ExclusionWay way : {ExclusionWay::on_the_fly, ExclusionWay::afterwards}) {
      for (const double cutoff : {0.0, 3.0}) {
        const ForceOptions options = with(method, Coulomb::plain, cutoff, way);
        const ForceResult a = PairForces(system, options).compute(system.positions, system.box, true);
        const ForceResult b = PairForces(other, options).compute(other.positions, other.box, true);
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
}

// Two particles: what one feels is what the other feels with the other sign, in every method and bit for bit.
TEST(PairForces, ActAndReact) {
  for (int trial = 0; trial < 20; ++trial) {
    System pair = random_system(2, 2, 0.5, 0.3, next_seed());
    pair.charges = {0.3, -0.7};
    pair.box = {7, 7.7, 8.1};
    for (const Method method : methods) {
      for (const double cutoff : {0.0, 3.4}) {
        const ForceResult result =
            PairForces(pair, with(method, Coulomb::plain, cutoff)).compute(pair.positions, pair.box);
        for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(result.forces[k], -result.forces[3 + k]) << letter_of(method);
        EXPECT_NE(result.forces[0], 0);
      }
    }
  }
}

#ifndef QUADRILLE_TEST_GPU
TEST(PairForces, AreTheSameBitsOnAnyNumberOfThreads) {
  const System system = test_system(700, 3);
  const int threads = omp_get_max_threads();
  for (const Method method : methods) {
    omp_set_num_threads(1);
    const ForceResult one =
        PairForces(system, with(method, Coulomb::plain)).compute(system.positions, system.box, true);
    omp_set_num_threads(3);
    const ForceResult three =
        PairForces(system, with(method, Coulomb::plain)).compute(system.positions, system.box, true);
    EXPECT_EQ(one.forces, three.forces) << letter_of(method);
    EXPECT_EQ(one.energy, three.energy) << letter_of(method);
  }
  omp_set_num_threads(threads);
}

// Against exact sums of the same terms, on each instruction set.
TEST(PairForces, KeepTheBoundsOfTheirSums) {
  const System system = test_system(900, 4);
  for (const Isa isa : available_isas()) {
    setenv("QUADRILLE_ISA", to_string(isa).c_str(), 1);
    for (const ExclusionWay way : {ExclusionWay::on_the_fly, ExclusionWay::afterwards}) {
      ForceStudyOptions options;
      options.forces = with(Method::narumi, Coulomb::none, 0, way);
      options.methods = {Method::single, Method::single_double, Method::takahashi, Method::narumi, Method::int64};
      options.repeats = 0;
      const auto rows = measure_forces(system, options);
      for (const ForceMeasurement& row : rows) {
        if (row.method != Method::takahashi && row.method != Method::narumi) continue;
        ASSERT_TRUE(row.accumulation.has_value());
        EXPECT_LE(*row.accumulation, 1) << letter_of(row.method) << ' ' << to_string(isa);
        EXPECT_GT(*row.accumulation, 0) << letter_of(row.method) << ' ' << to_string(isa);
      }
      EXPECT_EQ(rows[3].offset, 0);
      EXPECT_EQ(rows[4].offset, 0);
      EXPECT_GT(rows[0].offset, 1e3 * rows[1].offset);
      EXPECT_NEAR(rows[3].error, rows[1].error, 0.1 * rows[1].error);
    }
  }
  unsetenv("QUADRILLE_ISA");
}
#endif

// Forces that grow by many orders from one call to the next need other scales; the last are as good as those of a
// start.
TEST(PairForces, FindAnotherScaleWhenSumsLeaveTheirRange) {
  System system = test_system(200, 2);
  for (const Method method : {Method::narumi, Method::narumi_constant, Method::int64}) {
    PairForces forces(system, with(method));
    const ForceResult first = forces.compute(system.positions, system.box, true);
    EXPECT_GT(first.passes, 1);
    EXPECT_EQ(forces.compute(system.positions, system.box, true).passes, 1);
    System near = system;
    for (double& x : near.positions) x *= 0.4;
    const ForceResult closer = forces.compute(near.positions, near.box, true);
    EXPECT_GT(closer.passes, 1);
    EXPECT_LT(closer.exponent, first.exponent - 10);
    const reference::PairTotals expected = reference::pair_forces(near, with(method));
    EXPECT_LT(largest_difference(closer.forces, expected.forces), 1e-4 * rms(expected.forces)) << letter_of(method);
    EXPECT_THAT(total_force(closer), ::testing::Each(0.0));
  }
}

// 3,000 particles on a sphere around one, all of whose forces on it point the same way, by charges: sums far above
// terms.
TEST(PairForces, SumsMayBeFarAboveTheirTerms) {
  System system;
  system.types.assign(3001, 0);
  system.table = mixed_table(std::vector<double>{0.01}, std::vector<double>{1e-6}, Mixing::geometric);
  system.positions = {0, 0, 0};
  system.charges = {1000};
  std::mt19937_64 random(next_seed());
  std::uniform_real_distribution<double> shift(-0.4, 0.4);
  for (int n = 0; n < 3000; ++n) {
    system.positions.insert(system.positions.end(),
                            {100.0, double(n / 55) + shift(random), double(n % 55) + shift(random)});
    system.charges.push_back(1);
  }
  const reference::PairTotals expected = reference::pair_forces(system, with(Method::narumi, Coulomb::plain));
  for (const Method method : methods) {
    const ForceResult result = PairForces(system, with(method, Coulomb::plain)).compute(system.positions, {});
    EXPECT_NEAR(result.forces[0] / expected.forces[0], 1, 1e-5) << letter_of(method);
    if (is_fixed(method)) {
      EXPECT_THAT(total_force(result), ::testing::Each(0.0)) << letter_of(method);
    }
  }
}

std::string message_of(const System& system, const ForceOptions& options) {
  try {
    PairForces(system, options).compute(system.positions, system.box);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(PairForces, RefuseWhatIsWrongByName) {
  using ::testing::HasSubstr;
  const System good = test_system(100, 3);
  for (const Method method : methods) {
    System bad = good;
    std::copy_n(bad.positions.begin() + 3 * 17, 3, bad.positions.begin() + 3 * 61);
    EXPECT_THAT(message_of(bad, with(method)), ::testing::AnyOf(HasSubstr("particle 18 is not finite: particle 62"),
                                                                HasSubstr("particle 62 is not finite: particle 18")))
        << letter_of(method);
  }
  System bad = good;
  bad.positions[3 * 6 + 1] = NAN;
  EXPECT_THAT(message_of(bad, with(Method::narumi)), HasSubstr("coordinate y of particle 7 is nan"));
  bad = good;
  bad.types[11] = 3;
  EXPECT_THAT(message_of(bad, with(Method::narumi)), HasSubstr("particle 12 has type 4: the table has types 1 to 3"));
  bad = good;
  bad.box[1] = 4.9;
  EXPECT_THAT(message_of(bad, with(Method::narumi, Coulomb::none, 2.5)), HasSubstr("edge y of the box is 4.9"));
  bad = good;
  bad.charges.pop_back();
  EXPECT_THAT(message_of(bad, with(Method::narumi, Coulomb::plain)), HasSubstr("99 charges for 100 particles"));
  bad = good;
  bad.positions.pop_back();
  EXPECT_THAT(message_of(bad, with(Method::narumi)), HasSubstr("299 coordinates for 100 particles"));
  bad = good;
  bad.exclusions.emplace_back(3, 100);
  EXPECT_THAT(message_of(bad, with(Method::narumi)), HasSubstr("is of particles 4 and 101"));
  EXPECT_THAT(message_of(good, with(Method::narumi, Coulomb::reaction_field)), HasSubstr("needs a cutoff"));
  EXPECT_EQ(message_of(good, with(Method::narumi)), "");
}

}  // namespace
}  // namespace quadrille::md
