#include "solvers/driver.h"

#include "core/blas/blas.h"

#include "method_checks.h"
#include "toy_operator.h"

#include <gtest/gtest.h>

namespace quadrille::test {
namespace {

struct Problem {
  explicit Problem(const ToySpectrum& spectrum = {.smallest = 0.05, .angle = 0.5}, std::uint64_t seed = next_seed())
      : system(lattice, spectrum, seed), b(gaussian(system.full_desc(), seed)), x(system.full_desc()) {}

  /// |b - M x| / |b| by hand on the host, from the operator's own apply.
  double residual() const {
    Field r(system.full_desc());
    return system.full_residual(r, x, b) / norm(b);
  }

  Lattice lattice{{4, 4, 6, 4}};
  ToySystem system;
  Field b, x;
};

SolverSpec spec_of(const std::string& type, Scheme scheme, double tolerance) {
  SolverSpec spec;
  spec.type = type;
  spec.scheme = scheme;
  spec.tolerance = tolerance;
  return spec;
}

TEST(SystemSolver, EverySchemeReachesTheTolerance) {
  Problem problem;
  for (const std::string type : {"cg", "bicgstab"}) {
    for (const Scheme scheme : {Scheme::reliable, Scheme::defect, Scheme::uniform}) {
      for (const OperatorForm& form : sloppy_forms) {
        for (const Reconstruct outer : {Reconstruct::R18, Reconstruct::R12}) {
          SCOPED_TRACE(type + " " + to_string(scheme) + " " + to_string(form) + ", outer " + to_string(outer));
          SolverSpec spec = spec_of(type, scheme, 1e-12);
          spec.sloppy = form;
          spec.reconstruct = outer;
          SystemSolver solver(problem.system, spec);
          const SolveReport report = solver.solve(problem.x, problem.b);
          EXPECT_TRUE(report.converged) << report.message;
          EXPECT_LE(report.residual, 1e-12);
          EXPECT_NEAR(report.residual, problem.residual(), 1e-15);
          EXPECT_EQ(report.outer_form, "double " + to_string(outer));
          EXPECT_EQ(report.inner_form, scheme == Scheme::uniform ? "" : to_string(form));
          EXPECT_DOUBLE_EQ(report.history.front().iterated * norm(problem.b),
                           norm(Field(problem.b.parity(Parity::Even))));
          EXPECT_EQ(report.history.back().iteration, report.iterations);
          EXPECT_EQ(report.history.back().true_residual, report.residual);
          EXPECT_GT(report.flops, report.iterations * problem.system.reduced().flops());
          EXPECT_GT(report.seconds, 0);
        }
      }
    }
  }
}

// Rounding at 1e-15 of a large |b| is met by restarts: a first solve alone ends near the target, not always below.
TEST(SystemSolver, RestartsFromWhatRemains) {
  int restarts = 0;
  for (int repeat = 0; repeat < 100 && restarts < 2; ++repeat) {
    Problem problem({.smallest = 0.01, .angle = 0.3});
    const SolveReport report =
        SystemSolver(problem.system, spec_of("bicgstab", Scheme::uniform, 2e-14)).solve(problem.x, problem.b);
    EXPECT_TRUE(report.converged) << report.message;
    EXPECT_LE(problem.residual(), 2e-14);
    restarts += report.restarts;
  }
  EXPECT_GE(restarts, 2);
}

TEST(SystemSolver, AGuessIsImprovedToTheTargetOfTheWholeSystem) {
  Problem problem;
  for (const Scheme scheme : {Scheme::reliable, Scheme::defect, Scheme::uniform}) {
    SCOPED_TRACE(to_string(scheme));
    SystemSolver solver(problem.system, spec_of("bicgstab", scheme, 1e-11));
    const SolveReport whole = solver.solve(problem.x, problem.b);
    ASSERT_TRUE(whole.converged) << whole.message;
    const Field noise = gaussian(problem.system.full_desc(), next_seed());
    blas::axpy(1e-6 * norm(problem.x) / norm(noise), noise, problem.x);
    const double before = problem.residual();
    EXPECT_GT(before, 1e-8);
    const SolveReport rest = solver.solve(problem.x, problem.b, SystemSolver::Start::given);
    EXPECT_TRUE(rest.converged) << rest.message;
    EXPECT_LT(rest.iterations, whole.iterations);
    EXPECT_LE(problem.residual(), 1.01e-11);
    EXPECT_NEAR(rest.residual, problem.residual(), 1e-15);
    EXPECT_LT(rest.history.front().iterated, 10 * before);  // of the reduced system
    // What is good enough is left as it is.
    const SolveReport none = solver.solve(problem.x, problem.b, SystemSolver::Start::given);
    EXPECT_TRUE(none.converged);
    EXPECT_EQ(none.iterations, 0);
    EXPECT_EQ(none.residual, rest.residual);
  }
}

// The scheme keeps x in single precision throughout, the guess too.
TEST(SystemSolver, AGuessOfAUniformSolveInLowPrecision) {
  Problem problem;
  SolverSpec spec = spec_of("cg", Scheme::uniform, 1e-3);
  ASSERT_TRUE(SystemSolver(problem.system, spec).solve(problem.x, problem.b).converged);
  spec.precision = Precision::Single;
  spec.tolerance = 1e-5;
  SystemSolver solver(problem.system, spec);
  const SolveReport report = solver.solve(problem.x, problem.b, SystemSolver::Start::given);
  EXPECT_TRUE(report.converged) << report.message;
  EXPECT_LE(problem.residual(), 1.01e-5);
}

TEST(SystemSolver, UniformInLowPrecisionStagnatesWhereItsFormatEnds) {
  Problem problem;
  for (const auto& [precision, best, worst] :
       {std::tuple{Precision::Single, 1e-9, 1e-5}, std::tuple{Precision::Half, 1e-6, 1e-2}}) {
    SolverSpec spec = spec_of("cg", Scheme::uniform, 1e-12);
    spec.precision = precision;
    SystemSolver solver(problem.system, spec);
    SolveReport report = solver.solve(problem.x, problem.b);
    EXPECT_EQ(report.stop_reason, StopReason::stagnated) << report.message;
    EXPECT_FALSE(report.converged);
    EXPECT_NE(report.message.find("stagnated at "), std::string::npos) << report.message;
    EXPECT_GE(report.restarts, 2);
    EXPECT_GT(report.residual, best) << "x is held in " << to_string(precision);
    EXPECT_LT(report.residual, worst);
    EXPECT_NEAR(report.residual, problem.residual(), 1e-15);
    EXPECT_NE(report.message.find(stagnated_text(report.residual, report.iterations, "")), std::string::npos)
        << report.message << ": the true residual is said";
    EXPECT_NE(report.message.find("; this is the limit of " + to_string(precision) + " precision"), std::string::npos)
        << report.message;

    spec.tolerance = 2 * worst;
    SystemSolver modest(problem.system, spec);
    report = modest.solve(problem.x, problem.b);
    EXPECT_TRUE(report.converged) << report.message;
    EXPECT_LE(problem.residual(), 2 * worst);
  }
}

TEST(SystemSolver, StagnatesBelowTheRoundingOfDouble) {
  Problem problem;
  for (const Scheme scheme : {Scheme::reliable, Scheme::defect, Scheme::uniform}) {
    const SolveReport report =
        SystemSolver(problem.system, spec_of("bicgstab", scheme, 1e-18)).solve(problem.x, problem.b);
    EXPECT_EQ(report.stop_reason, StopReason::stagnated) << to_string(scheme) << ": " << report.message;
    EXPECT_LT(report.residual, 1e-14);
    EXPECT_EQ(report.message, stagnated_text(report.residual, report.iterations, report.cause) +
                                  "; this is the limit of double precision");
  }
}

TEST(SystemSolver, MaxIterationsIsForAllRestarts) {
  Problem problem;
  for (const Scheme scheme : {Scheme::reliable, Scheme::defect, Scheme::uniform}) {
    SolverSpec spec = spec_of("cg", scheme, 1e-12);
    spec.max_iterations = 50;
    const SolveReport report = SystemSolver(problem.system, spec).solve(problem.x, problem.b);
    EXPECT_EQ(report.stop_reason, StopReason::max_iterations);
    EXPECT_EQ(report.iterations, 50);
    EXPECT_NE(report.message.find("after 50 iterations"), std::string::npos) << report.message;
    EXPECT_NEAR(report.residual, problem.residual(), 1e-14);
    EXPECT_LT(report.residual, 1);
  }
}

TEST(SystemSolver, BreakdownAndDivergenceAreSaid) {
  Problem singular({.zero_modes = 12});
  SolveReport report =
      SystemSolver(singular.system, spec_of("bicgstab", Scheme::reliable, 1e-10)).solve(singular.x, singular.b);
  EXPECT_EQ(report.stop_reason, StopReason::breakdown);
  EXPECT_NE(report.message.find("BiCGstab broke down at iteration 1: <r0, A p> = "), std::string::npos)
      << report.message;
  EXPECT_NEAR(report.residual, singular.residual(), 1e-15);

  Problem wrong({.smallest = 0.05, .dagger_factor = -1e5});
  report = SystemSolver(wrong.system, spec_of("cg", Scheme::reliable, 1e-10)).solve(wrong.x, wrong.b);
  EXPECT_EQ(report.stop_reason, StopReason::diverged);
  EXPECT_NEAR(report.residual, wrong.residual(), 1e-15) << "what is said belongs to the x handed back";
  EXPECT_LE(report.residual, 1);
}

TEST(SystemSolver, ZeroRightHandSide) {
  Problem problem;
  blas::zero(problem.b);
  const SolveReport report =
      SystemSolver(problem.system, spec_of("cg", Scheme::reliable, 1e-10)).solve(problem.x, problem.b);
  EXPECT_TRUE(report.converged);
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(report.residual, 0);
  EXPECT_EQ(norm(problem.x), 0);
}

TEST(SystemSolver, NotFiniteRightHandSideIsAnError) {
  Problem problem;
  Field fresh(problem.system.full_desc());
  fill_gaussian(fresh, 1);
  blas::scale(std::nan(""), fresh);
  SystemSolver solver(problem.system, spec_of("cg", Scheme::reliable, 1e-10));
  try {
    solver.solve(problem.x, fresh);
    FAIL() << "not-a-number was solved for";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::numerical);
  }
  EXPECT_TRUE(solver.solve(problem.x, problem.b).converged) << "the solver is whole after it";
}

// b of any size: powers of two change no digit, so that those far from 1 all take the same iterations to the same bits.
TEST(SystemSolver, TheSizeOfTheRightHandSideDoesNotMatter) {
  Problem problem;
  Field b(problem.system.full_desc()), first(problem.system.full_desc());
  for (const std::string type : {"cg", "bicgstab"}) {
    for (const Scheme scheme : {Scheme::reliable, Scheme::defect, Scheme::uniform}) {
      for (const OperatorForm& form : sloppy_forms) {
        SCOPED_TRACE(type + " " + to_string(scheme) + " " + to_string(form));
        SolverSpec spec = spec_of(type, scheme, 1e-10);
        spec.sloppy = form;
        SystemSolver solver(problem.system, spec);
        const int plain = solver.solve(problem.x, problem.b).iterations;
        int iterations = 0;
        for (const int exponent : {-400, -60, 100}) {
          blas::copy(b, problem.b);
          blas::scale(std::ldexp(1.0, exponent), b);
          const SolveReport report = solver.solve(problem.x, b);
          EXPECT_TRUE(report.converged) << "2^" << exponent << ": " << report.message;
          blas::scale(std::ldexp(1.0, -exponent), problem.x);
          EXPECT_LE(problem.residual(), 1e-10);
          EXPECT_LE(std::abs(report.iterations - plain), plain / 5 + 2);
          if (exponent == -400) {
            iterations = report.iterations;
            blas::copy(first, problem.x);
          }
          EXPECT_EQ(report.iterations, iterations) << "2^" << exponent;
          EXPECT_TRUE(same_bits(first, problem.x)) << "2^" << exponent;
        }
      }
    }
  }
}

TEST(SystemSolver, ARightHandSideWhoseSquareIsNoDoubleIsRefused) {
  Problem problem;
  SystemSolver solver(problem.system, spec_of("cg", Scheme::reliable, 1e-10));
  Field b(problem.system.full_desc());
  for (const auto& [exponent, what] :
       {std::pair{-520, "too small: |b| is about 2^-51"}, std::pair{520, "too large: |b| is about 2^52"}}) {
    blas::copy(b, problem.b);
    blas::scale(std::ldexp(1.0, exponent), b);
    try {
      (void)solver.solve(problem.x, b);
      FAIL() << exponent;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::numerical);
      EXPECT_NE(error.message().find(what), std::string::npos) << error.message();
    }
  }
  blas::zero(b);
  EXPECT_TRUE(solver.solve(problem.x, b).converged);
  EXPECT_EQ(norm(problem.x), 0);
}

TEST(SystemSolver, ManyRightHandSidesAllocateFieldsOnce) {
  Problem problem;
  SolverSpec spec = spec_of("bicgstab", Scheme::reliable, 1e-10);
  spec.sloppy = {Precision::Half, Reconstruct::R12, true};
  SystemSolver solver(problem.system, spec);
  const std::size_t before = cpu_backend().allocations();
  std::size_t total = 0;
  int last = 0;
  solver.set_progress([&](const Progress& p) {
    EXPECT_EQ(p.target, spec.tolerance);
    EXPECT_EQ(p.max_iterations, spec.max_iterations);
    last = p.iteration;
  });
  Field first(problem.system.full_desc());
  for (int i = 0; i < 3; ++i) {
    const SolveReport report = solver.solve(problem.x, problem.b);
    EXPECT_TRUE(report.converged);
    EXPECT_EQ(last, report.iterations);
    total += std::size_t(report.iterations);
    if (i == 0) blas::copy(first, problem.x);
    EXPECT_TRUE(same_bits(first, problem.x)) << "a solve leaves nothing behind for the next";
  }
  EXPECT_GT(total, 30u);
  EXPECT_EQ(cpu_backend().allocations(), before + 1) << "only `first`";
}

TEST(SystemSolver, SameBitsForAnyThreads) {
  Problem problem;
  const int saved = omp_get_max_threads();
  for (const Scheme scheme : {Scheme::reliable, Scheme::defect, Scheme::uniform}) {
    SystemSolver solver(problem.system, spec_of("bicgstab", scheme, 1e-10));
    Field first(problem.system.full_desc());
    for (const int threads : {1, 2, 3}) {
      omp_set_num_threads(threads);
      EXPECT_TRUE(solver.solve(threads == 1 ? first : problem.x, problem.b).converged);
      EXPECT_TRUE(threads == 1 || same_bits(first, problem.x)) << threads << " threads, " << to_string(scheme);
    }
    omp_set_num_threads(saved);
  }
}

}  // namespace
}  // namespace quadrille::test
