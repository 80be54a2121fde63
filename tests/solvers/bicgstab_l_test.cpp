#include "method_checks.h"
#include "solvers/methods/methods.h"

#include <iostream>
#include <numbers>

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
  // A sweep may gain more than a factor of 10.
  check_reliable(bicgstab<2>, right_half, 6);
  check_reliable(bicgstab<4>, right_half, 4);
}
TEST(BiCGstabL, AllocatesNothing) { check_allocates_nothing(bicgstab<2>, right_half); }
TEST(BiCGstabL, SameBitsForAnyThreads) { check_threads(bicgstab<2>, right_half); }
TEST(BiCGstabL, Ends) {
  check_ends(bicgstab<2>, right_half, 10);
  check_ends(bicgstab<4>, right_half, 10);
}
TEST(BiCGstabL, Stagnates) { check_stagnation(bicgstab<2>, right_half); }

/// Imaginary eigenvalues: a factor of degree 1 cannot reduce |r|, only lengthened steps lead on; polynomials of degree
/// 2 do better.
TEST(BiCGstabL, ConvergesOnTurnedSpectra) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 0.2, .angle = 0.5 * std::numbers::pi, .turned = true}, next_seed());
  const Field b = gaussian(a.field_desc(), next_seed());
  Field x(a.field_desc());
  const Stopping stopping{1e-10 * norm(b), 2000};
  const SolveReport two = make_bicgstab_l({a}, 2)->solve(x, b, stopping);
  EXPECT_TRUE(two.converged) << two.message;
  EXPECT_LE(relative_residual(a, x, b), 1.1e-10);
  const SolveReport one = make_bicgstab({a})->solve(x, b, stopping);
  EXPECT_TRUE(!one.converged || one.iterations > two.iterations) << one.iterations << " " << two.iterations;
  std::cout << "BiCGstab " << one.iterations << (one.converged ? "" : " (" + one.message + ")") << ", of degree 2 "
            << two.iterations << "\n";
}

}  // namespace
}  // namespace quadrille::test
