#include "solvers/defect_correction.h"

#include "method_checks.h"
#include "solvers/methods/methods.h"

#include <gtest/gtest.h>

namespace quadrille::test {
namespace {

constexpr ToySpectrum right_half{.smallest = 0.05, .angle = 0.5};

struct Problem {
  explicit Problem(const OperatorForm& form, const ToySpectrum& spectrum = right_half, std::uint64_t seed = next_seed())
      : a(lattice, spectrum, seed), inner(a.converted(form)), b(gaussian(a.field_desc(), seed)), x(a.field_desc()) {}
  SolveReport solve(MakeSolver make, double tolerance, int max_iterations = 5000, double delta = 0.1) {
    const auto solver = make_defect_correction(a, *inner, make({*inner}), delta);
    return solver->solve(x, b, {tolerance * norm(b), max_iterations});
  }

  Lattice lattice{{4, 4, 4, 6}};
  ToyOperator a;
  std::unique_ptr<GaugeOperator> inner;
  Field b, x;
};

TEST(DefectCorrection, ReachesDoubleFromEveryForm) {
  for (const MakeSolver make : {make_cg, make_bicgstab}) {
    for (const OperatorForm& form : sloppy_forms) {
      SCOPED_TRACE(to_string(form));
      Problem problem(form);
      const SolveReport report = problem.solve(make, 1e-12);
      EXPECT_TRUE(report.converged) << report.message;
      EXPECT_LE(report.residual, 1e-12 * norm(problem.b));
      EXPECT_NEAR(report.residual / norm(problem.b), relative_residual(problem.a, problem.x, problem.b), 1e-15);
      EXPECT_GE(report.restarts, 10) << "a factor of 10 each";
      EXPECT_EQ(report.reliable_updates, 0);
      EXPECT_EQ(report.outer_form, "double 18");
      EXPECT_EQ(report.inner_form, to_string(form));
      EXPECT_EQ(report.history.back().iteration, report.iterations);
      EXPECT_EQ(report.history.size(), std::size_t(report.iterations) + 1);
      EXPECT_EQ(report.history.back().true_residual, report.residual);
    }
  }
}

TEST(DefectCorrection, FewerCyclesWithSmallerDelta) {
  const std::uint64_t seed = next_seed();
  Problem problem({Precision::Single, Reconstruct::R12, false}, right_half, seed);
  const SolveReport often = problem.solve(make_cg, 1e-12, 5000, 0.1);
  const SolveReport rarely = problem.solve(make_cg, 1e-12, 5000, 1e-4);
  EXPECT_TRUE(rarely.converged);
  EXPECT_LT(rarely.restarts, often.restarts);
  EXPECT_GE(rarely.restarts, 3);
}

// Cycles with a weak target must gain little: two of a tenth in a row are no stagnation.
TEST(DefectCorrection, DeltaNearOne) {
  for (const MakeSolver make : {make_cg, make_bicgstab}) {
    Problem problem({Precision::Single, Reconstruct::R12, false});
    const SolveReport report = problem.solve(make, 1e-8, 20000, 0.9);
    EXPECT_TRUE(report.converged) << report.message;
    EXPECT_LE(relative_residual(problem.a, problem.x, problem.b), 1.0001e-8);
  }
}

TEST(DefectCorrection, MaxIterationsCountsAllCycles) {
  Problem problem({Precision::Single, Reconstruct::R12, false});
  const SolveReport report = problem.solve(make_cg, 1e-12, 60);
  EXPECT_EQ(report.stop_reason, StopReason::max_iterations);
  EXPECT_EQ(report.iterations, 60);
  EXPECT_GE(report.restarts, 2);
}

TEST(DefectCorrection, StagnatesAtTheLimitOfDouble) {
  Problem problem({Precision::Single, Reconstruct::R12, false});
  const SolveReport report = problem.solve(make_cg, 1e-18, 20000);
  EXPECT_EQ(report.stop_reason, StopReason::stagnated);
  EXPECT_NE(report.message.find("stagnated at "), std::string::npos) << report.message;
  EXPECT_LT(report.residual, 1e-13 * norm(problem.b));
}

TEST(DefectCorrection, InnerFailureIsSaid) {
  Problem broken({Precision::Single, Reconstruct::R12, false}, {.zero_modes = 12});
  SolveReport report = broken.solve(make_bicgstab, 1e-10);
  EXPECT_EQ(report.stop_reason, StopReason::breakdown);
  EXPECT_NE(report.message.find("BiCGstab broke down at iteration 1: <r0, A p> = "), std::string::npos)
      << report.message;

  Problem wrong({Precision::Single, Reconstruct::R12, false}, {.dagger_factor = -1e5});
  report = wrong.solve(make_cg, 1e-10);
  EXPECT_EQ(report.stop_reason, StopReason::diverged);
  EXPECT_EQ(norm(wrong.x), 0) << "what diverged is not added";

  Problem problem({Precision::Single, Reconstruct::R12, false});
  dynamic_cast<ToyOperator&>(*problem.inner).broken_at = 9;
  report = problem.solve(make_cg, 1e-10);
  EXPECT_EQ(report.stop_reason, StopReason::not_finite);
  EXPECT_TRUE(std::isfinite(report.residual));
}

TEST(DefectCorrection, ZeroAndNotFiniteRightHandSides) {
  Problem problem({Precision::Single, Reconstruct::R12, false});
  blas::zero(problem.b);
  SolveReport report = problem.solve(make_cg, 1e-10);
  EXPECT_TRUE(report.converged);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(norm(problem.x), 0);
  blas::scale(std::nan(""), problem.b);
  report = problem.solve(make_cg, 1e-10);
  EXPECT_EQ(report.stop_reason, StopReason::not_finite);
}

TEST(DefectCorrection, ProgressCountsOn) {
  Problem problem({Precision::Half, Reconstruct::R12, false});
  const auto solver = make_defect_correction(problem.a, *problem.inner, make_cg({*problem.inner}), 0.1);
  int last = 0;
  solver->set_progress([&](const Progress& p) {
    EXPECT_EQ(p.iteration, last + 1);
    EXPECT_EQ(p.max_iterations, 4000);
    EXPECT_EQ(p.target, 1e-10);
    last = p.iteration;
  });
  const std::size_t fields = cpu_backend().allocations();
  const SolveReport report = solver->solve(problem.x, problem.b, {1e-10, 4000});
  EXPECT_EQ(last, report.iterations);
  EXPECT_EQ(cpu_backend().allocations(), fields);
}

}  // namespace
}  // namespace quadrille::test
