// Random SU(3) matrices from the numbers of one site (core/random/random.h).
#pragma once

#include "core/random/random.h"
#include "core/su3/su3.h"
#include "core/su3/su3_project.h"

namespace quadrille {

/// Uniform in SU(3) (Haar measure): Gram and Schmidt on the rows of a Gaussian matrix give rows uniform on the sphere
/// and orthogonal; the determinant fixes the third.
QUADRILLE_HOST_DEVICE Matrix3 random_su3(SiteRandom& random) {
  Matrix3 u;
  for (int row = 0; row < 2; ++row) {
    for (int j = 0; j < 3; ++j) {
      const double re = random.normal(), im = random.normal();
      u(row, j) = {re, im};
    }
    for (int pass = 0; pass < 2 * row; ++pass) {  // twice is enough for orthogonality to rounding
      Complex overlap = 0;
      for (int j = 0; j < 3; ++j) overlap = sum(overlap, product(std::conj(u(0, j)), u(1, j)));
      for (int j = 0; j < 3; ++j) u(1, j) = difference(u(1, j), product(overlap, u(0, j)));
    }
    double norm2 = 0;
    for (int j = 0; j < 3; ++j) norm2 += u(row, j).real() * u(row, j).real() + u(row, j).imag() * u(row, j).imag();
    const double length = ::sqrt(norm2);
    for (int j = 0; j < 3; ++j) u(row, j) = {u(row, j).real() / length, u(row, j).imag() / length};
  }
  complete_third_row(u);
  return u;
}

/// exp(i epsilon H) with H = sum_a h_a lambda_a / 2, h_a Gaussian random numbers, lambda_a Gell-Mann matrices.
QUADRILLE_HOST_DEVICE Matrix3 random_weak_su3(SiteRandom& random, double epsilon) {
  Matrix3 h;
  for (int i = 0; i < 3; ++i) {
    for (int j = i + 1; j < 3; ++j) {
      const double re = 0.5 * random.normal(), im = 0.5 * random.normal();
      h(i, j) = {re, -im};
      h(j, i) = {re, im};
    }
  }
  const double h3 = 0.5 * random.normal(), h8 = 0.5 * random.normal() / ::sqrt(3.0);
  h(0, 0) = Complex(h3 + h8, 0);
  h(1, 1) = Complex(-h3 + h8, 0);
  h(2, 2) = Complex(-2 * h8, 0);
  Matrix3 u = exp_i(Complex(epsilon) * h);
  (void)project_su3(u);  // frees it of the series' rounding; an exponential is never singular
  return u;
}

}  // namespace quadrille
