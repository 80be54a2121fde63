// Pair forces on the GPU against exact sums of the CPU, and their bits from launch to launch.
#include "modules/md/force_study.h"
#include "tests/backend_under_test.h"
#include "tests/random_seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

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

// The terms are those of the device, which rounds its reciprocals in another way than the CPU: about a unit of the last
// place of a term. What sums add to that is far below, but in E, whose sums have errors of their own (Figure 11).
TEST(CudaPairForces, DifferFromTheExactSumsOfTheCpuByTheRoundingOfTerms) {
  const System system = random_system(3000, 7, 0.8, 0.08, next_seed());
  ForceOptions cpu;
  cpu.method = Method::magnitudes;
  const std::vector<double> magnitudes = PairForces(system, cpu).compute(system.positions, {}).forces;
  cpu.method = Method::exact;
  const std::vector<double> exact = PairForces(system, cpu).compute(system.positions, {}).forces;
  for (const Method method : methods) {
    if (method == Method::single || method == Method::double_double) continue;
    const std::vector<double> found = PairForces(system, on_gpu(method)).compute(system.positions, {}).forces;
    const double units = method == Method::nitadori_large ? 256 : 32;
    for (std::size_t n = 0; n < found.size(); ++n) {
      ASSERT_NEAR(found[n], exact[n], units * 0x1p-24 * magnitudes[n]) << letter_of(method);
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
