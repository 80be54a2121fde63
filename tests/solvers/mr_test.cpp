// MR as a method of its own.
#include "method_checks.h"
#include "solvers/methods/methods.h"

#include <gtest/gtest.h>

#include <array>

namespace quadrille::test {
namespace {

// Eigenvalues on the right of the imaginary axis, as MR needs them.
constexpr ToySpectrum right_half{.smallest = 0.2, .angle = 0.7};

std::unique_ptr<Solver> mr(const SolverParts& parts) { return make_mr(parts, 1.1); }

TEST(Mr, UniformDouble) { check_uniform_double(mr, right_half); }
TEST(Mr, Reliable) { check_reliable(mr, right_half); }
TEST(Mr, AllocatesNothing) { check_allocates_nothing(mr, right_half); }
TEST(Mr, SameBitsForAnyThreads) { check_threads(mr, right_half); }
TEST(Mr, Ends) { check_ends(mr, right_half); }
TEST(Mr, Stagnates) { check_stagnation(mr, right_half); }

/// Each step shortens r by the part of it along A r: |r'|^2 = |r|^2 - omega (2 - omega) |<A r, r>|^2 / |A r|^2.
TEST(Mr, ResidualNeverGrows) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, right_half, seed);
  const Field b = gaussian(a.field_desc(), seed);
  for (const double omega : {0.5, 1.0, 1.7}) {
    Field x(a.field_desc());
    const SolveReport report = make_mr({a}, omega)->solve(x, b, {1e-8 * norm(b), 4000});
    EXPECT_TRUE(report.converged) << omega << ": " << report.message;
    for (std::size_t i = 1; i < report.history.size(); ++i) {
      EXPECT_LE(report.history[i].iterated, report.history[i - 1].iterated * (1 + 1e-12)) << omega;
    }
  }
}

/// |r|^2 so small that 1 / |A r|^2 overflows.
TEST(Mr, SmallRightHandSides) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, right_half, next_seed());
  Field b = gaussian(a.field_desc(), next_seed()), x(a.field_desc());
  blas::scale(1e-156, b);
  const SolveReport report = mr({a})->solve(x, b, {1e-2 * norm(b), 1000});
  EXPECT_TRUE(report.converged) << report.message;
}

/// A = 0, and an A whose |A r|^2 overflows: x stays what it was.
TEST(Mr, BreaksDownWithoutASpoiledSolution) {
  const Lattice lattice({4, 4, 4, 4});
  for (const double entry : {0.0, 1e200}) {
    std::array<Complex, 144> matrix{};
    for (std::size_t i = 0; i < 12; ++i) matrix[13 * i] = entry;
    const ToyOperator a(lattice, matrix);
    const Field b = gaussian(a.field_desc(), next_seed());
    Field x(a.field_desc());
    const SolveReport report = mr({a})->solve(x, b, {1e-8 * norm(b), 100});
    EXPECT_FALSE(report.converged);
    EXPECT_EQ(report.stop_reason, entry == 0 ? StopReason::breakdown : StopReason::not_finite) << report.message;
    EXPECT_EQ(norm(x), 0);
    EXPECT_NEAR(report.residual / norm(b), 1, 1e-12);
  }
}

}  // namespace
}  // namespace quadrille::test
