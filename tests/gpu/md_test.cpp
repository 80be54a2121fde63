// Pair forces on the GPU against exact sums of the CPU, and their bits from launch to launch.
#include "modules/md/tasks/force_study.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/random_seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace quadrille::md {
namespace {

using testing::backend;
using testing::next_seed;

constexpr Method methods[] = {Method::single,          Method::single_double,  Method::takahashi,
                              Method::nitadori,        Method::nitadori_large, Method::narumi,
                              Method::narumi_constant, Method::double_double,  Method::int64};

ForceOptions on_gpu(Method method) {
  ForceOptions options;
  options.method = method;
  options.backend = &backend();
  return options;
}

// The kernel with energies has a particle a thread; the one without what the tuner has chosen. Both shapes are seen
// with QUADRILLE_TUNING=force:0 and force:1.
TEST(CudaPairForces, DoNotDependOnTheShapeOfTheLaunch) {
  const System system = random_system(5000, 16, 0.8, 0.08, next_seed());
  for (const Method method : methods) {
    PairForces forces(system, on_gpu(method));
    const ForceResult with_energy = forces.compute(system.positions, {}, true);
    const ForceResult alone = forces.compute(system.positions, {});
    EXPECT_EQ(alone.forces, with_energy.forces) << letter_of(method);
    EXPECT_EQ(forces.compute(system.positions, {}).forces, alone.forces) << letter_of(method);
  }
}

/// Sums of the magnitudes of the terms of each coordinate of a force, of repulsions and of attractions alone.
struct Magnitudes {
  std::vector<double> repulsion, attraction;

  explicit Magnitudes(const System& system) {
    for (auto [table, sums] : {std::pair{&LennardJonesTable::c6, &repulsion}, {&LennardJonesTable::c12, &attraction}}) {
      System part = system;
      (part.table.*table).assign((part.table.*table).size(), 0);
      ForceOptions cpu;
      cpu.method = Method::magnitudes;
      *sums = PairForces(part, cpu).compute(part.positions, {}).forces;
    }
  }
};

/// What a method may add to the error of a sum of n terms, in units of the sum of their magnitudes, and for itself.
struct SumError {
  double relative, absolute;
};
SumError sum_error(Method method, std::int64_t n, int exponent) {
  const double terms = double(n), quantum = std::ldexp(1.0, -exponent);
  switch (method) {
    case Method::single_double: return {terms * 0x1p-53, 0};
    case Method::takahashi: return {terms * 0x1p-47, 0};
    // Where a term is above the sum, up to 2 units of the term are lost; the low part is up to n 2^-24 of the sum, and
    // is rounded with every term.
    case Method::nitadori: return {2 * 0x1p-24 + terms * terms * 0x1p-48, 0};
    // The high part is below 2^49 quanta and leaves up to 2^24 of a term to the low part, which is rounded with every
    // term: 2^-24 of up to k 2^24 for the k-th of them.
    case Method::nitadori_large: return {0, terms * terms / 2 * quantum};
    default: return {0, terms * quantum};  // a rounding to a quantum for each term
  }
}

// A device rounds its reciprocals in another way than the CPU: 1 / r^2 to 2 units of 2^-24 against 1, of the same r^2.
// From there on both round alike, an error of 1 for each operation, and a power of a rounded number has the multiple
// of its error. The repulsion, C12 (1 / r^2)^7 d, has at most 22 units on the device and 15 on the CPU; the attraction,
// C6 (1 / r^2)^4 d, 14 and 10. The two may cancel, their errors not: so the bound is that of each by itself. Errors of
// second order are below a thousandth of it.
TEST(CudaPairForces, DifferFromTheExactSumsOfTheCpuByTheRoundingOfTerms) {
  const System system = random_system(3000, 7, 0.8, 0.08, next_seed());
  const Magnitudes magnitudes(system);
  ForceOptions cpu;
  cpu.method = Method::exact;
  const std::vector<double> exact = PairForces(system, cpu).compute(system.positions, {}).forces;
  for (const Method method : methods) {
    if (method == Method::single || method == Method::double_double) continue;
    const ForceResult found = PairForces(system, on_gpu(method)).compute(system.positions, {});
    const SumError more = sum_error(method, system.size(), found.exponent);
    for (std::size_t n = 0; n < found.forces.size(); ++n) {
      const double repulsion = magnitudes.repulsion[n], attraction = magnitudes.attraction[n];
      const double of_terms = 1.001 * 0x1p-24 * ((22 + 15) * repulsion + (14 + 10) * attraction);
      const double of_sum = more.relative * (repulsion + attraction) + more.absolute;
      ASSERT_NEAR(found.forces[n], exact[n], of_terms + of_sum) << letter_of(method) << " coordinate " << n;
    }
  }
}

TEST(CudaPairForces, InFixedPointHaveNoOffset) {
  const System system = random_system(4100, 16, 0.8, 0.08, next_seed());
  for (const Method method : {Method::narumi, Method::narumi_constant, Method::int64}) {
    EXPECT_THAT(total_force(PairForces(system, on_gpu(method)).compute(system.positions, {})), ::testing::Each(0.0));
  }
}

TEST(CudaPairForces, GiveTheirMemoryBack) {
  const System system = random_system(1000, 3, 0.8, 0.08, next_seed());
  const std::size_t before = backend().allocated_bytes();
  PairForces(system, on_gpu(Method::narumi)).compute(system.positions, {}, true);
  EXPECT_EQ(backend().allocated_bytes(), before);
}

}  // namespace
}  // namespace quadrille::md
