// Solves with multigrid: true residuals, iterations against GCR, batches, what happens where it does not work.
#include "core/error.h"
#include "dirac/systems/even_odd.h"
#include "solvers/driver.h"
#include "solvers/multigrid/multigrid.h"
#include "tests/solvers/multigrid_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace quadrille {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::HasSubstr;

Parameters own_parameters(Value::Map given) {
  std::vector<Error> errors;
  Value block;
  block.data = std::move(given);
  Parameters own = resolve({.name = "multigrid", .parameters = multigrid_parameters()}, block, errors);
  EXPECT_TRUE(errors.empty()) << errors.front().what();
  return own;
}

Value::Entry entry(std::string name, std::string text) {
  return {std::move(name), {}, Value{Value::Scalar{std::move(text)}, {}}};
}

SolverSpec multigrid_spec(Value::Map given) {
  SolverSpec spec;
  spec.type = "multigrid";
  spec.tolerance = 1e-11;
  spec.max_iterations = 400;
  spec.preconditioning.kind = EvenOddForm::Kind::asymmetric;
  spec.own = own_parameters(std::move(given));
  return spec;
}

/// A light quark on a smooth field.
EvenOddSystem light_quark(const Scene& scene, double mass, Parity kept = Parity::Even) {
  WilsonParameters parameters = scene.parameters;
  parameters.mass = mass;
  parameters.xi0 = parameters.nu = 1;
  return EvenOddSystem(std::make_shared<const WilsonOperator>(scene.gauge, parameters, OperatorForm{}),
                       {kept, EvenOddForm::Kind::asymmetric});
}

std::vector<Field> random_sources(const FieldDesc& full, int count) {
  std::vector<Field> b;
  for (int i = 0; i < count; ++i) {
    b.emplace_back(full);
    fill_random(b.back());
  }
  return b;
}

TEST(MultigridSolve, ConvergesInEverySchemeForEveryOperator) {
  for (const Scene::Terms& terms : {Scene::Terms{}, Scene::Terms{.mu = 0.1, .csw_r = 1, .csw_t = 1}}) {
    const Dims dims{8, 4, 6, 8};
    const Scene scene(dims, weak_start(Lattice(dims), next_seed(), 0.3), terms);
    for (const Parity kept : {Parity::Even, Parity::Odd}) {
      const EvenOddSystem system = light_quark(scene, 0.02, kept);
      const std::vector<Field> b = random_sources(system.full_desc(), 1);
      Field x(system.full_desc()), r(system.full_desc());
      for (const Scheme scheme : {Scheme::reliable, Scheme::defect, Scheme::uniform}) {
        for (const Precision sloppy : {Precision::Single, Precision::Half}) {
          SolverSpec spec = multigrid_spec({entry("vectors", "8"), entry("setup_cycles", "1")});
          spec.scheme = scheme;
          spec.sloppy.precision = sloppy;
          spec.sloppy.temporal_gauge = sloppy == Precision::Half;
          SystemSolver solver(system, spec);
          ASSERT_NE(solver.multigrid(), nullptr);
          const SolveReport report = solver.solve(x, b[0]);
          EXPECT_TRUE(report.converged) << report.message;
          EXPECT_LT(report.iterations, 60);
          EXPECT_LE(system.full_residual(r, x, b[0]), 1.0001e-11 * std::sqrt(blas::norm2(b[0])));
        }
      }
    }
  }
}

/// Links of a file in 32 bits are unitary to 1e-7 only, which is no matter to an inner operator.
TEST(MultigridSolve, LinksOfSinglePrecisionGoWithEveryReconstruction) {
  const Dims dims{8, 4, 4, 8};
  HostLinks links = weak_start(Lattice(dims), next_seed(), 0.3);
  for (Complex& number : links.data) number = Complex(float(number.real()), float(number.imag()));
  const Scene scene(dims, links);
  ASSERT_GT(scene.gauge->unitarity().unitarity, 1e-9);
  const EvenOddSystem system = light_quark(scene, 0.02);
  const std::vector<Field> b = random_sources(system.full_desc(), 1);
  Field x(system.full_desc()), r(system.full_desc());
  for (const Precision sloppy : {Precision::Single, Precision::Half}) {
    for (const Reconstruct reconstruct : {Reconstruct::R12, Reconstruct::R8}) {
      SolverSpec spec = multigrid_spec({entry("vectors", "8"), entry("fallback", "none")});
      spec.sloppy = {sloppy, reconstruct, false};
      SystemSolver solver(system, spec);
      const SolveReport report = solver.solve(x, b[0]);
      EXPECT_TRUE(report.converged) << report.message;
      EXPECT_LT(report.iterations, 60);
      EXPECT_LE(system.full_residual(r, x, b[0]), 1.0001e-11 * std::sqrt(blas::norm2(b[0])));
    }
  }
}

TEST(MultigridSolve, ThreeLevelsContractAndSayWhatTheyAre) {
  const Scene scene = Scene::weak({8, 8, 8, 16}, 0.3);
  const EvenOddSystem system = light_quark(scene, 0.01);
  SystemSolver solver(system,
                      multigrid_spec({entry("vectors", "8"), entry("levels", "3"), entry("setup_cycles", "1")}));
  ASSERT_NE(solver.multigrid(), nullptr);
  const MultigridReport& report = solver.multigrid()->report();
  ASSERT_EQ(report.levels.size(), 2u);
  EXPECT_EQ(report.levels[1].dims, (Dims{2, 2, 2, 4}));
  EXPECT_LT(report.contraction, 0.8);
  for (const MultigridLevel& level : report.levels) {
    EXPECT_GT(level.bytes, 0);
    EXPECT_LT(level.after, 0.8 * level.before);
  }
  EXPECT_THAT(solver.multigrid()->table(), Contains(HasSubstr("level 2: 2 x 2 x 2 x 4 in blocks of 1 x 1 x 1 x 2")));
  const std::vector<Field> b = random_sources(system.full_desc(), 1);
  Field x(system.full_desc());
  EXPECT_TRUE(solver.solve(x, b[0]).converged);
}

/// The setup must not begin where it cannot end. P and the matrices, which are no fields on a CPU, leave a margin.
TEST(MultigridSolve, TheSetupTakesNoMoreThanItHasLookedFor) {
  const Scene scene = Scene::weak({16, 8, 16, 16}, 0.3);
  const EvenOddSystem system = light_quark(scene, 0.05);
  MultigridSettings settings;
  settings.vectors = 8;
  settings.setup_iterations = 2;
  const std::size_t before = backend().allocated_bytes(), peak = backend().peak_bytes();
  const Multigrid multigrid(system, {Precision::Single, Reconstruct::R12, false}, settings);
  ASSERT_GT(backend().peak_bytes(), peak) << "this test needs more memory than all before it: a larger lattice";
  const double taken = double(backend().peak_bytes() - before), looked_for = multigrid.report().bytes_at_most;
  EXPECT_LT(taken, looked_for);
  EXPECT_GT(taken, 0.5 * looked_for);
}

TEST(MultigridSolve, BitsDoNotDependOnTheBatchNorOnTheSetup) {
  const Scene scene = Scene::weak({8, 4, 4, 8}, 0.3);
  const EvenOddSystem system = light_quark(scene, 0.02);
  const SolverSpec spec = multigrid_spec({entry("vectors", "8")});
  constexpr int count = 5;
  const std::vector<Field> b = random_sources(system.full_desc(), count);
  std::vector<Field> x;
  std::vector<Field*> solutions;
  std::vector<const Field*> sources;
  for (int i = 0; i < count; ++i) x.emplace_back(system.full_desc());
  for (std::size_t i = 0; i < count; ++i) {
    solutions.push_back(&x[i]);
    sources.push_back(&b[i]);
  }
  SystemSolver(system, spec).solve(solutions, sources);
  SystemSolver again(system, spec);
  for (std::size_t i = 0; i < count; ++i) {
    Field alone(system.full_desc());
    again.solve(alone, b[i]);
    EXPECT_EQ(field_distance(x[i], alone), 0);
  }
}

TEST(MultigridSolve, SaysWhatAFurtherRightHandSideTakes) {
  const Scene scene = Scene::weak({8, 8, 8, 16}, 0.3);
  const EvenOddSystem system = light_quark(scene, 0.1);
  const std::vector<Field> b = random_sources(system.full_desc(), 3);
  std::vector<Field> x;
  std::vector<Field*> solutions;
  std::vector<const Field*> sources;
  for (const Field& source : b) {
    x.emplace_back(system.full_desc());
    sources.push_back(&source);
  }
  for (Field& solution : x) solutions.push_back(&solution);
  for (const Scheme scheme : {Scheme::reliable, Scheme::uniform}) {
    SolverSpec spec = multigrid_spec({entry("vectors", "8"), entry("levels", "3")});
    spec.scheme = scheme;
    SystemSolver solver(system, spec);
    solver.solve(x[0], b[0]);
    const std::size_t before = backend().allocated_bytes();
    solver.solve(solutions, sources);
    const double growth = double(backend().allocated_bytes() - before) / 2;
    // What operators keep between two hops of a right-hand side is not counted: a few fields of half the lattice.
    EXPECT_NEAR(double(solver.bytes_of_one()), growth, 1.5 * double(system.full_desc().bytes()));
  }
}

TEST(MultigridSolve, GivesWayOrEndsWithAMessage) {
  const Scene scene = Scene::hot({4, 4, 4, 4});
  const EvenOddSystem system = light_quark(scene, -1.5);  // far beyond the critical mass of a random field
  SystemSolver solver(system, multigrid_spec({entry("vectors", "8"), entry("setup_iterations", "1")}));
  if (solver.multigrid() == nullptr) {
    EXPECT_EQ(solver.spec().type, "bicgstab");
  }
  // More vectors than a block of 2 sites has components of a chirality: dependent.
  const Scene narrow = Scene::weak({2, 2, 2, 4}, 0.3);
  const EvenOddSystem dependent = light_quark(narrow, 0.1);
  const SystemSolver given_way(dependent, multigrid_spec({entry("vectors", "16")}));
  EXPECT_EQ(given_way.multigrid(), nullptr);
  EXPECT_EQ(given_way.spec().type, "bicgstab");
  try {
    SystemSolver none(dependent, multigrid_spec({entry("vectors", "16"), entry("fallback", "none")}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::numerical);
    EXPECT_THAT(error.message(),
                HasSubstr("test vectors of level 1 depend on each other within a block of 1 x 1 x 1 x 2"));
  }
}

/// What gives no numbers is no preconditioner, least of all a perfect one.
TEST(MultigridSolve, GivesWayWhereALinkIsNotANumber) {
  const Dims dims{8, 4, 4, 8};
  HostLinks links = weak_start(Lattice(dims), next_seed(), 0.3);
  links.data[4] = std::nan("");  // in every reconstruction
  const Scene scene(dims, links);
  const EvenOddSystem system = light_quark(scene, 0.02);
  const SystemSolver given_way(system, multigrid_spec({entry("vectors", "8")}));
  EXPECT_EQ(given_way.multigrid(), nullptr);
  EXPECT_EQ(given_way.spec().type, "bicgstab");
}

/// Before the work: a GPU inverts the matrix of a coarse site in shared memory.
TEST(MultigridSolve, MoreVectorsThanADeviceHoldsAreRefusedAtOnce) {
  const Scene scene = Scene::weak({8, 8, 8, 8}, 0.3);
  const EvenOddSystem system = light_quark(scene, 0.1);
  MultigridSettings settings;
  settings.vectors = 64;
  settings.setup_iterations = 2;
  settings.setup_cycles = 0;
  const auto make = [&] { Multigrid(system, {Precision::Single, Reconstruct::R18, false}, settings); };
  if (backend().host_memory()) {
    EXPECT_NO_THROW(make());
    return;
  }
  const std::size_t allocations = backend().allocations();
  try {
    make();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.message(), HasSubstr("`vectors`, not 64"));
  }
  EXPECT_EQ(backend().allocations(), allocations);
}

TEST(MultigridSolve, TheSymmetricFormIsRefused) {
  const Scene scene = Scene::weak({4, 4, 4, 4}, 0.3);
  const EvenOddSystem system(scene.shared_wilson(), {Parity::Even, EvenOddForm::Kind::symmetric});
  SolverSpec spec = multigrid_spec({entry("fallback", "none"), entry("vectors", "8")});
  EXPECT_THROW(SystemSolver(system, spec), Error);
}

}  // namespace
}  // namespace quadrille
