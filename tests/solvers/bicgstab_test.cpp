#include "method_checks.h"
#include "solvers/methods/methods.h"

#include <gtest/gtest.h>

namespace quadrille::test {
namespace {

// Eigenvalues in the right half plane, as the Wilson operator has them.
constexpr ToySpectrum right_half{.smallest = 0.05, .angle = 0.5};

TEST(BiCGstab, UniformDouble) { check_uniform_double(make_bicgstab, right_half); }
TEST(BiCGstab, Reliable) { check_reliable(make_bicgstab, right_half); }
TEST(BiCGstab, DriftInSingle) {
  check_drift(make_bicgstab, {.smallest = 0.003, .angle = 1}, {Precision::Single, Reconstruct::R12, false});
}
TEST(BiCGstab, DriftInHalf) {
  check_drift(make_bicgstab, {.smallest = 0.005, .angle = 0.3}, {Precision::Half, Reconstruct::R12, false}, 100);
}
TEST(BiCGstab, AllocatesNothing) { check_allocates_nothing(make_bicgstab, right_half); }
TEST(BiCGstab, SameBitsForAnyThreads) { check_threads(make_bicgstab, right_half); }
TEST(BiCGstab, Ends) { check_ends(make_bicgstab, right_half); }
TEST(BiCGstab, Stagnates) { check_stagnation(make_bicgstab, right_half); }

// A maps color 0 to 0 + 1, 1 to `second`, 2 to 2, and is the unit matrix for spins 1 to 3; b is color 0 of spin 0.
SolveReport solve_small(const std::array<double, 3>& second, double& residual) {
  const Lattice lattice({4, 4, 4, 4});
  std::array<Complex, 144> matrix{};
  for (std::size_t i = 0; i < 12; ++i) matrix[13 * i] = 1;
  matrix[12] = 1;
  for (std::size_t row = 0; row < 3; ++row) matrix[12 * row + 1] = second[row];
  const ToyOperator a(lattice, matrix);
  HostSpinor host(lattice.dims());
  for (std::size_t site = 0; site < std::size_t(lattice.volume()); ++site) host.data[12 * site] = 1;
  Field b(a.field_desc()), x(a.field_desc());
  import_spinor(b, host);
  const SolveReport report = make_bicgstab({a})->solve(x, b, {1e-10 * norm(b), 100});
  residual = relative_residual(a, x, b);
  return report;
}

// s = -(color 1), A s = -(1 + 2), omega = 1/2, r = (2 - 1)/2: orthogonal to r0 = color 0.
TEST(BiCGstab, RestartsWhenRhoVanishes) {
  double residual = 0;
  const SolveReport report = solve_small({0, 1, 1}, residual);
  EXPECT_TRUE(report.converged) << report.message;
  EXPECT_EQ(report.restarts, 1);
  EXPECT_LE(residual, 1e-10);
}

// A s = -(color 2) is orthogonal to s, so omega = 0; from r0 = s, <r0, A s> = 0 too.
TEST(BiCGstab, BreaksDownWhenARestartDoesNotHelp) {
  double residual = 0;
  const SolveReport report = solve_small({0, 0, 1}, residual);
  EXPECT_EQ(report.stop_reason, StopReason::breakdown);
  EXPECT_FALSE(report.converged);
  EXPECT_EQ(report.restarts, 1) << "it tried";
  EXPECT_NE(report.message.find("BiCGstab broke down at iteration 2: <r0, A p> = "), std::string::npos)
      << report.message;
  EXPECT_NE(report.message.find(" is below rounding, "), std::string::npos) << report.message;
  EXPECT_NEAR(report.residual / report.history.front().iterated, residual, 1e-12);
}

// The residual of BiCGstab on a spectrum around the origin rises and does not come back.
TEST(BiCGstab, SpectrumAroundTheOriginStagnates) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 1e-4, .angle = 3.14}, seed);
  const auto inner = a.converted({Precision::Half, Reconstruct::R12, false});
  const Field b = gaussian(a.field_desc(), seed);
  Field x(b.desc());
  const SolveReport report = make_bicgstab({a, inner.get(), 0})->solve(x, b, {1e-10 * norm(b), 100000});
  EXPECT_EQ(report.stop_reason, StopReason::stagnated);
  EXPECT_LT(report.iterations, 5000);
  EXPECT_NE(report.message.find("|r| has not fallen by 30 %"), std::string::npos) << report.message;
  EXPECT_EQ(report.message, stagnated_text(report.residual, report.iterations, report.cause)) << "the true residual";
  EXPECT_NEAR(report.residual / norm(b), relative_residual(a, x, b), 1e-12 * report.residual / norm(b) + 1e-12)
      << "the report is about the x handed back";
}

// As much patience as other solves have needed, and no more: a hopeless search ends.
TEST(BiCGstab, PatienceThatOthersNeededDelaysStagnation) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 1e-4, .angle = 3.14}, seed);
  const Field b = gaussian(a.field_desc(), seed);
  Field x(b.desc());
  const auto solver = make_bicgstab({a});
  const SolveReport usual = solver->solve(x, b, {1e-10 * norm(b), 100000});
  EXPECT_EQ(usual.patience, 224);
  const SolveReport patient = solver->solve(x, b, {1e-10 * norm(b), 100000, 1000});
  EXPECT_EQ(patient.patience, 1000);
  EXPECT_LT(patient.iterations, 10000);
  EXPECT_GE(patient.iterations, usual.iterations);
  EXPECT_FALSE(patient.converged);
}

TEST(BiCGstab, SingularOperatorBreaksDown) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.zero_modes = 12}, seed);
  const Field b = gaussian(a.field_desc(), seed);
  Field x(b.desc());
  const SolveReport report = make_bicgstab({a})->solve(x, b, {1e-10 * norm(b), 2000});
  EXPECT_EQ(report.stop_reason, StopReason::breakdown);
  EXPECT_NE(report.message.find("BiCGstab broke down at iteration 1: <r0, A p> = "), std::string::npos)
      << report.message;
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(report.residual, norm(b));
}

TEST(BiCGstab, UnitMatrixEndsHalfWay) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 1, .largest = 1}, seed);
  const auto inner = a.converted({Precision::Half, Reconstruct::R12, true});
  const Field b = gaussian(a.field_desc(), seed);
  Field x(b.desc());
  const SolveReport uniform = make_bicgstab({a})->solve(x, b, {1e-10 * norm(b), 2000});
  EXPECT_TRUE(uniform.converged) << uniform.message;
  EXPECT_EQ(uniform.iterations, 1) << "s = 0 after half an iteration";
  const SolveReport reliable = make_bicgstab({a, inner.get(), 0.1})->solve(x, b, {1e-10 * norm(b), 2000});
  EXPECT_TRUE(reliable.converged) << reliable.message;
  EXPECT_LE(relative_residual(a, x, b), 1.0001e-10);
  EXPECT_GE(reliable.reliable_updates, 2);
  EXPECT_EQ(reliable.restarts, reliable.reliable_updates - 1) << "each end half way but the last begins a new space";
}

}  // namespace
}  // namespace quadrille::test
