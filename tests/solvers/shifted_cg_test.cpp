// CG for many shifts at once: against solves of each shift, in every inner form.
#include "solvers/shifted/shifted_cg.h"

#include "core/error.h"
#include "core/operator/normal_operator.h"
#include "dirac/systems/even_odd.h"
#include "dirac/wilson.h"
#include "method_checks.h"
#include "solvers/shifted/shifted_solver.h"
#include "tests/testing/host_starts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quadrille {
namespace {

using namespace test;
using ::testing::HasSubstr;

constexpr ToySpectrum spectrum{.smallest = 1e-3};
constexpr double tolerance = 1e-10;

std::vector<ShiftedCg::Shift> ten_shifts(double target) {
  std::vector<ShiftedCg::Shift> shifts;
  for (int k = 0; k < 10; ++k) shifts.push_back({2e-3 * (std::pow(2.5, k) - 1), target});
  return shifts;
}

double shifted_residual(const LinearOperator& a, double shift, const Field& x, const Field& b) {
  Field r(a.field_desc());
  a.apply(r, x, Dagger::No);
  blas::axpy(shift, x, r);
  return std::sqrt(blas::subtract_norm2(b, r)) / norm(b);
}

std::vector<Field> fields_like(const Field& b, std::size_t count) {
  std::vector<Field> all;
  for (std::size_t k = 0; k < count; ++k) all.push_back(gaussian(b.desc(), next_seed()));  // to be overwritten
  return all;
}

TEST(ShiftedCg, AllShiftsTakeTheIterationsOfTheSmallest) {
  const Lattice lattice({4, 4, 6, 4});
  const ToyOperator a(lattice, spectrum, next_seed());
  const Field b = gaussian(a.field_desc(), next_seed());
  const auto shifts = ten_shifts(tolerance * norm(b));
  std::vector<Field> x = fields_like(b, shifts.size()), alone = fields_like(b, 1);
  ShiftedCg solver(a, nullptr, 0, shifts.size());
  const auto report = solver.solve(x, b, shifts, 5000);
  EXPECT_TRUE(report.converged);
  int last = report.shifts[0].iterations;
  for (std::size_t k = 0; k < shifts.size(); ++k) {
    const double residual = shifted_residual(a, shifts[k].value, x[k], b);
    EXPECT_LE(residual, tolerance) << k;
    EXPECT_NEAR(report.shifts[k].residual / norm(b), residual, 1e-3 * tolerance);
    const auto one = solver.solve(alone, b, {shifts[k]}, 5000);
    EXPECT_LE(report.shifts[k].iterations, one.iterations + 3);
    EXPECT_LE(report.shifts[k].iterations, last);
    last = report.shifts[k].iterations;
    blas::axpy(-1, x[k], alone[0]);
    EXPECT_LT(norm(alone[0]), 2 * tolerance * norm(b) / (spectrum.smallest + shifts[k].value));
    if (k == 0) {
      EXPECT_EQ(report.shifts[0].iterations, one.iterations);
    }
  }
  EXPECT_LT(last, report.shifts[0].iterations / 4);
}

/// A search that ends early leaves each x where as many iterations for that shift alone end.
TEST(ShiftedCg, AnEarlyEndLosesNoStep) {
  const Lattice lattice({4, 4, 6, 4});
  const ToyOperator a(lattice, spectrum, next_seed());
  const Field b = gaussian(a.field_desc(), next_seed());
  const auto shifts = ten_shifts(tolerance * norm(b));
  std::vector<Field> x = fields_like(b, shifts.size()), alone = fields_like(b, 1);
  ShiftedCg solver(a, nullptr, 0, shifts.size());
  for (const int iterations : {1, 2, 7}) {
    const auto report = solver.solve(x, b, shifts, iterations);
    EXPECT_FALSE(report.converged);
    EXPECT_EQ(report.iterations, iterations);
    for (std::size_t k = 0; k < shifts.size(); ++k) {
      (void)solver.solve(alone, b, {shifts[k]}, iterations);
      blas::axpy(-1, x[k], alone[0]);
      EXPECT_LT(norm(alone[0]), 1e-10 * norm(x[k])) << "shift " << k << ", " << iterations << " iterations";
    }
  }
}

/// Each shift meets its target, at hardly more iterations than the smallest takes alone in double.
void check_inner_form(const GaugeOperator& a, const OperatorForm& form) {
  const Field b = gaussian(a.field_desc(), next_seed());
  const auto shifts = ten_shifts(tolerance * norm(b));
  std::vector<Field> x = fields_like(b, shifts.size()), alone = fields_like(b, 1);
  const int least = ShiftedCg(a, nullptr, 0, 1).solve(alone, b, {shifts[0]}, 20000).iterations;
  const auto inner = a.converted(form);
  const auto report = ShiftedCg(a, inner.get(), 0.1, shifts.size()).solve(x, b, shifts, 20000);
  EXPECT_TRUE(report.converged) << to_string(form);
  EXPECT_LE(report.iterations, 1.15 * least + 5) << to_string(form);
  EXPECT_LT(report.outer_iterations, report.iterations);
  for (std::size_t k = 0; k < shifts.size(); ++k) {
    EXPECT_LE(shifted_residual(a, shifts[k].value, x[k], b), 1.0001 * tolerance) << to_string(form) << " " << k;
  }
  std::cout << to_string(form) << ": " << report.iterations << " iterations, " << report.outer_iterations
            << " in double; the smallest alone " << least << "\n";
}

TEST(ShiftedCg, EveryInnerFormMeetsEachTarget) {
  const Lattice lattice({4, 4, 6, 4});
  const ToyOperator a(lattice, spectrum, next_seed());
  for (const OperatorForm& form : sloppy_forms) check_inner_form(a, form);
}

TEST(ShiftedCg, ShiftsThatCannotBeAreNamed) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, spectrum, next_seed());
  const Field b = gaussian(a.field_desc(), next_seed());
  std::vector<Field> x = fields_like(b, 2);
  ShiftedCg solver(a, nullptr, 0, 2);
  const auto message = [&](double first, double second) -> std::string {
    try {
      solver.solve(x, b, {{first, 1e-8}, {second, 1e-8}}, 100);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      return error.message();
    }
    return "";
  };
  EXPECT_THAT(message(-0.1, 1), HasSubstr("shift 0 is -0.1: shifts are not negative"));
  EXPECT_THAT(message(0.2, 0.1), HasSubstr("shift 1 is 0.1 after 0.2: give shifts in ascending order"));
  EXPECT_THAT(message(0.2, 0.2), HasSubstr("ascending"));
  EXPECT_THAT(message(0.2, std::nan("")), HasSubstr("shift 1 is nan"));
}

TEST(ShiftedCg, NotPositiveAndSingularOperatorsAreSaid) {
  const Lattice lattice({4, 4, 4, 4});
  const Field b = gaussian(FieldDesc::spinor(lattice, Subset::Even, Precision::Double), next_seed());
  std::vector<Field> x = fields_like(b, 1);
  const ToyOperator singular(lattice, {.smallest = 0.1, .zero_modes = 2}, next_seed());
  const auto report = ShiftedCg(singular, nullptr, 0, 1).solve(x, b, {{0, tolerance * norm(b)}}, 300);
  EXPECT_FALSE(report.converged);
  EXPECT_NE(report.shifts[0].message, "");
  const auto shifted = ShiftedCg(singular, nullptr, 0, 1).solve(x, b, {{0.05, tolerance * norm(b)}}, 300);
  EXPECT_TRUE(shifted.converged) << "the shift lifts the zero modes";
}

TEST(ShiftedCg, AnIterationAllocatesNothing) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, spectrum, next_seed());
  const auto inner = a.converted({Precision::Half, Reconstruct::R12, true});
  const Field b = gaussian(a.field_desc(), next_seed());
  const auto shifts = ten_shifts(tolerance * norm(b));
  std::vector<Field> x = fields_like(b, shifts.size());
  ShiftedCg solver(a, inner.get(), 0.1, shifts.size());
  const std::size_t before = cpu_backend().allocations();
  (void)solver.solve(x, b, shifts, 5000);
  EXPECT_EQ(cpu_backend().allocations(), before);
}

/// b of any size: the same iterations, residuals relative to |b| in reports and messages.
TEST(ShiftedSolver, TheSizeOfTheRightHandSideDoesNotMatter) {
  const Lattice lattice({4, 4, 4, 4});
  const ToySystem system(lattice, {.smallest = 0.05, .angle = 1}, next_seed());
  SolverSpec spec;
  spec.type = "cg";
  spec.max_iterations = 5000;
  for (const Precision precision : {Precision::Single, Precision::Half}) {
    spec.sloppy = {precision, Reconstruct::R12, false};
    ShiftedSolver solver(system, spec, {0, 0.01, 0.1, 1});
    Field b = gaussian(solver.field_desc(), next_seed());
    std::vector<Field> x = fields_like(b, 4);
    const NormalOperator a(std::shared_ptr<const GaugeOperator>(std::shared_ptr<void>(), &system.reduced()));
    int iterations = 0;
    for (const int exponent : {0, -300, 300}) {
      if (exponent != 0) blas::scale(std::ldexp(1.0, exponent - (exponent > 0 ? -300 : 0)), b);
      const auto report = solver.solve(x, b);
      EXPECT_TRUE(report.converged);
      if (exponent == 0) iterations = report.iterations;
      EXPECT_NEAR(report.iterations, iterations, 1 + iterations / 20);
      for (std::size_t k = 0; k < x.size(); ++k) {
        EXPECT_LE(report.shifts[k].residual, spec.tolerance);
        EXPECT_NEAR(shifted_residual(a, solver.shifts()[k], x[k], b), report.shifts[k].residual, 1e-14);
      }
    }
    blas::zero(b);
    EXPECT_TRUE(solver.solve(x, b).converged);
    for (const Field& solution : x) EXPECT_EQ(norm(solution), 0);
    blas::scale(std::nan(""), b);
    EXPECT_THROW(solver.solve(x, b), Error);
  }
}

/// A shift that misses its target when iterations are spent says so, relative to |b|.
TEST(ShiftedSolver, AShiftThatMissesItsTargetSaysSo) {
  const Lattice lattice({4, 4, 4, 4});
  const ToySystem system(lattice, {.smallest = 0.05, .angle = 1}, next_seed());
  SolverSpec spec;
  spec.type = "cg";
  spec.scheme = Scheme::uniform;
  spec.max_iterations = 6;
  ShiftedSolver solver(system, spec, {0, 0.01});
  Field b = gaussian(solver.field_desc(), next_seed());
  blas::scale(1e6, b);
  std::vector<Field> x = fields_like(b, 2);
  const auto report = solver.solve(x, b);
  EXPECT_FALSE(report.converged);
  for (const SolveReport& of_shift : report.shifts) {
    EXPECT_EQ(of_shift.stop_reason, StopReason::max_iterations);
    EXPECT_THAT(of_shift.message, HasSubstr("after 6 iterations, the maximum; the target is 1e-10"));
    EXPECT_LT(of_shift.residual, 10);
  }
}

/// The normal equations of quarks, where the smallest eigenvalues are what shifts are for.
TEST(ShiftedCg, NormalEquationsOfWilsonQuarks) {
  const Lattice lattice({4, 4, 4, 8});
  const auto gauge =
      std::make_shared<const GaugeStore>(lattice, testing::weak_start(lattice, next_seed(), 0.4), cpu_backend());
  const auto dirac = std::make_shared<const WilsonOperator>(
      gauge, WilsonParameters{.mass = -0.3, .boundary = {0, 0, 0, 1}}, OperatorForm{});
  const NormalOperator a(std::make_shared<const EvenOddOperator>(dirac));
  for (const OperatorForm& form : {OperatorForm{Precision::Single, Reconstruct::R12, true},
                                   OperatorForm{Precision::Half, Reconstruct::R12, true}}) {
    check_inner_form(a, form);
  }
}

}  // namespace
}  // namespace quadrille
