#include "method_checks.h"
#include "solvers/methods.h"

#include <gtest/gtest.h>

namespace quadrille::test {
namespace {

// Eigenvalues in the right half plane, as the Wilson operator has them.
constexpr ToySpectrum right_half{.smallest = 0.05, .angle = 0.5};

TEST(BiCGstab, UniformDouble) { check_uniform_double(make_bicgstab, right_half); }
TEST(BiCGstab, Reliable) { check_reliable(make_bicgstab, right_half); }
TEST(BiCGstab, DriftInSingle) {
  check_drift(make_bicgstab, {.smallest = 2e-5}, {Precision::Single, Reconstruct::R12, false});
}
TEST(BiCGstab, AllocatesNothing) { check_allocates_nothing(make_bicgstab, right_half); }
TEST(BiCGstab, SameBitsForAnyThreads) { check_threads(make_bicgstab, right_half); }
TEST(BiCGstab, Ends) { check_ends(make_bicgstab, right_half); }
TEST(BiCGstab, Stagnates) { check_stagnation(make_bicgstab, right_half); }

TEST(BiCGstab, AntiHermitianOperatorBreaksDown) {
  const std::uint64_t seed = fresh_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 0.2, .angle = std::numbers::pi / 2, .turned = true}, seed);
  const Field b = gaussian(a.field_desc(), seed);
  Field x(b.desc());
  const SolveReport report = make_bicgstab(a, nullptr, 0)->solve(x, b, {1e-10 * norm(b), 2000});
  std::cout << report.message << " " << report.restarts << " " << report.iterations << "\n";
  EXPECT_EQ(report.stop_reason, StopReason::breakdown);
  EXPECT_NE(report.message.find("omega = <A s, s> / |A s|^2 vanishes"), std::string::npos) << report.message;
}

TEST(BiCGstab, SingularOperatorBreaksDown) {
  const std::uint64_t seed = fresh_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.zero_modes = 12}, seed);
  const Field b = gaussian(a.field_desc(), seed);
  Field x(b.desc());
  const SolveReport report = make_bicgstab(a, nullptr, 0)->solve(x, b, {1e-10 * norm(b), 2000});
  EXPECT_EQ(report.stop_reason, StopReason::breakdown);
  EXPECT_NE(report.message.find("<r0, A p> vanishes"), std::string::npos) << report.message;
  EXPECT_EQ(report.iterations, 0);
  EXPECT_EQ(report.residual, norm(b));
}

TEST(BiCGstab, UnitMatrixEndsHalfWay) {
  const std::uint64_t seed = fresh_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 1, .largest = 1}, seed);
  const auto inner = a.converted({Precision::Half, Reconstruct::R12, true});
  const Field b = gaussian(a.field_desc(), seed);
  Field x(b.desc());
  const SolveReport uniform = make_bicgstab(a, nullptr, 0)->solve(x, b, {1e-10 * norm(b), 2000});
  EXPECT_TRUE(uniform.converged) << uniform.message;
  EXPECT_EQ(uniform.iterations, 1) << "s = 0 after half an iteration";
  const SolveReport reliable = make_bicgstab(a, inner.get(), 0.1)->solve(x, b, {1e-10 * norm(b), 2000});
  EXPECT_TRUE(reliable.converged) << reliable.message;
  EXPECT_LE(relative_residual(a, x, b), 1.0001e-10);
}

}  // namespace
}  // namespace quadrille::test
