// 3x3 complex matrices on the host, in double: just what links need.
#pragma once

#include "core/host_field.h"

#include <array>
#include <cmath>

namespace quadrille {

/// a b without the recovery of infinities that std::complex's operator* does: not-a-number stays that.
inline Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Row-major; value semantics.
struct Matrix3 {
  std::array<Complex, 9> e{};

  Complex& operator[](std::size_t i) { return e[i]; }
  const Complex& operator[](std::size_t i) const { return e[i]; }
  Complex& operator()(int row, int column) { return e[std::size_t(row * 3 + column)]; }
  const Complex& operator()(int row, int column) const { return e[std::size_t(row * 3 + column)]; }

  static Matrix3 identity() {
    Matrix3 m;
    m(0, 0) = m(1, 1) = m(2, 2) = 1;
    return m;
  }
  static Matrix3 read(const Complex* from) {
    Matrix3 m;
    for (int i = 0; i < 9; ++i) m.e[std::size_t(i)] = from[i];
    return m;
  }
  void write(Complex* to) const {
    for (int i = 0; i < 9; ++i) to[i] = e[std::size_t(i)];
  }
};

inline Matrix3 operator*(const Matrix3& a, const Matrix3& b) {
  Matrix3 c;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j)
      c(i, j) = product(a(i, 0), b(0, j)) + product(a(i, 1), b(1, j)) + product(a(i, 2), b(2, j));
  }
  return c;
}

inline Matrix3 adjoint(const Matrix3& a) {
  Matrix3 c;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) c(i, j) = std::conj(a(j, i));
  }
  return c;
}

inline Matrix3 operator+(Matrix3 a, const Matrix3& b) {
  for (std::size_t i = 0; i < 9; ++i) a.e[i] += b.e[i];
  return a;
}

inline Matrix3 operator*(Complex s, Matrix3 a) {
  for (Complex& x : a.e) x = product(s, x);
  return a;
}

/// Row 2 of a matrix of determinant 1 whose rows 0 and 1 are given: conj(row 0 x row 1).
inline void complete_third_row(Matrix3& u) {
  for (int j = 0; j < 3; ++j) {
    const int k = (j + 1) % 3, l = (j + 2) % 3;
    u(2, j) = std::conj(product(u(0, k), u(1, l)) - product(u(0, l), u(1, k)));
  }
}

/// The matrix of conj(cofactors): (u^+)^-1 = conjugate_cofactors(u) / conj(det u).
inline Matrix3 conjugate_cofactors(const Matrix3& u) {
  Matrix3 c;
  for (int i = 0; i < 3; ++i) {
    const int m = (i + 1) % 3, n = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int k = (j + 1) % 3, l = (j + 2) % 3;
      c(i, j) = std::conj(product(u(m, k), u(n, l)) - product(u(m, l), u(n, k)));
    }
  }
  return c;
}

inline Complex determinant(const Matrix3& u) {
  const Matrix3 c = conjugate_cofactors(u);
  return product(u(0, 0), std::conj(c(0, 0))) + product(u(0, 1), std::conj(c(0, 1))) +
         product(u(0, 2), std::conj(c(0, 2)));
}

/// Re tr(a b^+).
inline double real_trace_adjoint(const Matrix3& a, const Matrix3& b) {
  double sum = 0;
  for (std::size_t i = 0; i < 9; ++i) sum += a[i].real() * b[i].real() + a[i].imag() * b[i].imag();
  return sum;
}

/// The largest |element| of u u^+ - 1; NaN when u has one.
inline double unitarity_defect(const Matrix3& u) {
  const Matrix3 square = u * adjoint(u);
  double largest = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    const double defect = std::abs(square[i] - (i % 4 == 0 ? 1.0 : 0.0));
    if (!(defect <= largest)) largest = defect;  // also when defect is NaN
    if (std::isnan(defect)) return defect;
  }
  return largest;
}

/// exp(i h) for a Hermitian h, by scaling (h / 2^s below 1/2) and Taylor's series; unitary to rounding.
Matrix3 exp_i(const Matrix3& h);

}  // namespace quadrille
