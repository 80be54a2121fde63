#include "method_checks.h"
#include "solvers/methods.h"

namespace quadrille::test {
namespace {

constexpr ToySpectrum right_half{.smallest = 0.05, .angle = 1};

template <int l>
std::unique_ptr<Solver> bicgstab(const SolverParts& parts) {
  return make_bicgstab_l(parts, l);
}

TEST(BiCGstabL, UniformDouble) {
  check_uniform_double(bicgstab<1>, right_half);
  check_uniform_double(bicgstab<2>, right_half, 2);
  check_uniform_double(bicgstab<4>, right_half, 4);
}
TEST(BiCGstabL, Reliable) {
  check_reliable(bicgstab<1>, right_half);
  check_reliable(bicgstab<2>, right_half);
  check_reliable(bicgstab<4>, right_half);
}
TEST(BiCGstabL, AllocatesNothing) { check_allocates_nothing(bicgstab<2>, right_half); }
TEST(BiCGstabL, SameBitsForAnyThreads) { check_threads(bicgstab<2>, right_half); }
TEST(BiCGstabL, Ends) {
  check_ends(bicgstab<2>, right_half);
  check_ends(bicgstab<4>, right_half);
}
TEST(BiCGstabL, Stagnates) { check_stagnation(bicgstab<2>, right_half); }

/// Eigenvalues near the imaginary axis: factors of degree 1 hardly reduce |r|, polynomials of degree 2 do.
TEST(BiCGstabL, ConvergesOnTurnedSpectra) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 0.2, .angle = 1.55, .turned = true}, next_seed());
  const Field b = gaussian(a.field_desc(), next_seed());
  Field x(a.field_desc());
  const Stopping stopping{1e-10 * norm(b), 2000};
  const SolveReport two = make_bicgstab_l({a}, 2)->solve(x, b, stopping);
  EXPECT_TRUE(two.converged) << two.message;
  EXPECT_LE(relative_residual(a, x, b), 1.1e-10);
  const SolveReport one = make_bicgstab({a})->solve(x, b, stopping);
  EXPECT_TRUE(!one.converged || one.iterations > 1.5 * two.iterations) << one.iterations << " " << two.iterations;
}

}  // namespace
}  // namespace quadrille::test
