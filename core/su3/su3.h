// 3x3 complex matrices in double, on the host and on devices: just what links need.
#pragma once

#include "core/dims.h"
#include "core/host_device.h"

#include <array>
#include <cmath>

namespace quadrille {

// Device code uses these and not the operators of std::complex, which keeps a _Complex inside: nvcc takes += and its
// kin for nothing, in silence, and makes a trap of an assignment of a real number. Construction, assignment of a
// complex number, real(), imag(), std::conj and the sign are what they should be.

/// a b without the recovery of infinities that std::complex's operator* does: not-a-number stays that.
QUADRILLE_HOST_DEVICE Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
QUADRILLE_HOST_DEVICE Complex product(double a, Complex b) { return {a * b.real(), a * b.imag()}; }
QUADRILLE_HOST_DEVICE Complex sum(Complex a, Complex b) { return {a.real() + b.real(), a.imag() + b.imag()}; }
QUADRILLE_HOST_DEVICE Complex difference(Complex a, Complex b) { return {a.real() - b.real(), a.imag() - b.imag()}; }

/// |a|
QUADRILLE_HOST_DEVICE double magnitude(Complex a) { return ::hypot(a.real(), a.imag()); }

/// Row-major; value semantics.
struct Matrix3 {
  std::array<Complex, 9> e{};

  QUADRILLE_HOST_DEVICE Complex& operator[](std::size_t i) { return e[i]; }
  QUADRILLE_HOST_DEVICE const Complex& operator[](std::size_t i) const { return e[i]; }
  QUADRILLE_HOST_DEVICE Complex& operator()(int row, int column) { return e[std::size_t(row * 3 + column)]; }
  QUADRILLE_HOST_DEVICE const Complex& operator()(int row, int column) const {
    return e[std::size_t(row * 3 + column)];
  }

  QUADRILLE_HOST_DEVICE static Matrix3 identity() {
    Matrix3 m;
    for (int i = 0; i < 3; ++i) m(i, i) = Complex(1, 0);
    return m;
  }
  QUADRILLE_HOST_DEVICE static Matrix3 read(const Complex* from) {
    Matrix3 m;
    for (int i = 0; i < 9; ++i) m.e[std::size_t(i)] = from[i];
    return m;
  }
  QUADRILLE_HOST_DEVICE void write(Complex* to) const {
    for (int i = 0; i < 9; ++i) to[i] = e[std::size_t(i)];
  }
};

QUADRILLE_HOST_DEVICE Matrix3 operator*(const Matrix3& a, const Matrix3& b) {
  Matrix3 c;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j)
      c(i, j) = sum(sum(product(a(i, 0), b(0, j)), product(a(i, 1), b(1, j))), product(a(i, 2), b(2, j)));
  }
  return c;
}

QUADRILLE_HOST_DEVICE Matrix3 adjoint(const Matrix3& a) {
  Matrix3 c;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) c(i, j) = std::conj(a(j, i));
  }
  return c;
}

QUADRILLE_HOST_DEVICE Matrix3 operator+(Matrix3 a, const Matrix3& b) {
  for (std::size_t i = 0; i < 9; ++i) a.e[i] = sum(a.e[i], b.e[i]);
  return a;
}

QUADRILLE_HOST_DEVICE Matrix3 operator*(Complex s, Matrix3 a) {
  for (Complex& x : a.e) x = product(s, x);
  return a;
}

/// Row 2 of a matrix of determinant 1 whose rows 0 and 1 are given: conj(row 0 x row 1).
QUADRILLE_HOST_DEVICE void complete_third_row(Matrix3& u) {
  for (int j = 0; j < 3; ++j) {
    const int k = (j + 1) % 3, l = (j + 2) % 3;
    u(2, j) = std::conj(difference(product(u(0, k), u(1, l)), product(u(0, l), u(1, k))));
  }
}

/// The matrix of conj(cofactors): (u^+)^-1 = conjugate_cofactors(u) / conj(det u).
QUADRILLE_HOST_DEVICE Matrix3 conjugate_cofactors(const Matrix3& u) {
  Matrix3 c;
  for (int i = 0; i < 3; ++i) {
    const int m = (i + 1) % 3, n = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int k = (j + 1) % 3, l = (j + 2) % 3;
      c(i, j) = std::conj(difference(product(u(m, k), u(n, l)), product(u(m, l), u(n, k))));
    }
  }
  return c;
}

QUADRILLE_HOST_DEVICE Complex determinant(const Matrix3& u) {
  const Matrix3 c = conjugate_cofactors(u);
  return sum(sum(product(u(0, 0), std::conj(c(0, 0))), product(u(0, 1), std::conj(c(0, 1)))),
             product(u(0, 2), std::conj(c(0, 2))));
}

/// Re tr(a b^+).
QUADRILLE_HOST_DEVICE double real_trace_adjoint(const Matrix3& a, const Matrix3& b) {
  double sum = 0;
  for (std::size_t i = 0; i < 9; ++i) sum += a[i].real() * b[i].real() + a[i].imag() * b[i].imag();
  return sum;
}

/// The largest |element| of u u^+ - 1; NaN when u has one.
QUADRILLE_HOST_DEVICE double unitarity_defect(const Matrix3& u) {
  const Matrix3 square = u * adjoint(u);
  double largest = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    const double defect = magnitude(difference(square[i], i % 4 == 0 ? 1.0 : 0.0));
    if (!(defect <= largest)) largest = defect;  // also when defect is NaN
    if (std::isnan(defect)) return defect;
  }
  return largest;
}

/// exp(i h) for a Hermitian h, by scaling (h / 2^s below 1/2) and Taylor's series; unitary to rounding.
QUADRILLE_HOST_DEVICE Matrix3 exp_i(const Matrix3& h) {
  double largest = 0;
  for (const Complex& x : h.e) largest = ::fmax(largest, magnitude(x));
  int squarings = 0;
  while (largest * 3 > 0.5) {
    largest /= 2;
    ++squarings;
  }
  const Matrix3 step = Complex(0, ::ldexp(1.0, -squarings)) * h;
  Matrix3 sum = Matrix3::identity(), term = Matrix3::identity();
  for (int n = 1; n <= 16; ++n) {  // 0.5^17 / 17! is far below 2^-53
    term = Complex(1.0 / n) * (term * step);
    sum = sum + term;
  }
  for (int s = 0; s < squarings; ++s) sum = sum * sum;
  return sum;
}

}  // namespace quadrille
