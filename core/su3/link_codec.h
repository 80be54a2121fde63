// SU(3) links as 18, 12 or 8 real numbers: the scalar codec, in any real type.
//
// 18: the matrix, row by row. 12: rows 0 and 1; row 2 is conj(row 0 x row 1).
// 8 (Bunk and Sommer, Comput. Phys. Commun. 40 (1986) 229): of the matrix V with rows {b, a, -c}, where {a, b, c} are
// the rows of U, the numbers are arg(v00)/pi, arg(v20)/pi, then re and im of v01, v02, v10. The other elements follow
// from unit norms, orthogonality and determinant 1, with a division by N = |v01|^2 + |v02|^2. That order of rows keeps
// the unit matrix regular (there v01 = 1). Where N vanishes the form is singular: see decode_8.
#pragma once

#include "core/host_device.h"
#include "core/su3/su3.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace quadrille::link_codec {

/// What the division by N is kept above, in units where |v0| = 1: the square of the format's rounding, so that a
/// singular link decodes to finite numbers.
template <class Real>
constexpr Real smallest_n = sizeof(Real) == 8 ? Real(1e-30) : Real(1e-14);

template <class Real>
QUADRILLE_HOST_DEVICE void encode_12(const Matrix3& u, Real* numbers) {
  for (int i = 0; i < 6; ++i) {
    numbers[2 * i] = Real(u.e[std::size_t(i)].real());
    numbers[2 * i + 1] = Real(u.e[std::size_t(i)].imag());
  }
}

template <class Real>
QUADRILLE_HOST_DEVICE void encode_8(const Matrix3& u, Real* numbers) {
  numbers[0] = Real(::atan2(u(1, 0).imag(), u(1, 0).real()) / std::numbers::pi);
  numbers[1] = Real(::atan2(-u(2, 0).imag(), -u(2, 0).real()) / std::numbers::pi);
  const Complex stored[] = {u(1, 1), u(1, 2), u(0, 0)};
  for (int i = 0; i < 3; ++i) {
    numbers[2 + 2 * i] = Real(stored[i].real());
    numbers[3 + 2 * i] = Real(stored[i].imag());
  }
}

/// Decodes in the arithmetic of `Real`, as the kernels do: this is what a stored link means.
template <class Real>
QUADRILLE_HOST_DEVICE Matrix3 decode_12(const Real* numbers) {
  Matrix3 u;
  for (int i = 0; i < 6; ++i) u.e[std::size_t(i)] = Complex(numbers[2 * i], numbers[2 * i + 1]);
  for (int j = 0; j < 3; ++j) {  // conj(row 0 x row 1)
    const Real *a = numbers + 2 * ((j + 1) % 3), *b = numbers + 2 * ((j + 2) % 3), *c = a + 6, *d = b + 6;
    const Real re = (a[0] * d[0] - a[1] * d[1]) - (b[0] * c[0] - b[1] * c[1]);
    const Real im = (a[0] * d[1] + a[1] * d[0]) - (b[0] * c[1] + b[1] * c[0]);
    u.e[std::size_t(6 + j)] = Complex(re, -im);
  }
  return u;
}

template <class Real>
Matrix3 decode_8(const Real* numbers) {
  using C = std::complex<Real>;
  const Real pi = std::numbers::pi_v<Real>;
  const C v01(numbers[2], numbers[3]), v02(numbers[4], numbers[5]), v10(numbers[6], numbers[7]);
  const Real n = std::norm(v01) + std::norm(v02);
  const C v00 = std::polar(std::sqrt(std::max(Real(0), 1 - n)), numbers[0] * pi);
  const C v20 = std::polar(std::sqrt(std::max(Real(0), n - std::norm(v10))), numbers[1] * pi);
  const Real inverse = 1 / std::max(n, smallest_n<Real>);
  // Row 1 is orthogonal to row 0 and conj(row 0 x row 1) has the first element v20; row 2 likewise.
  const C a = std::conj(v00) * v10, b = std::conj(v20), c = std::conj(v00) * v20, d = std::conj(v10);
  const C v11 = -inverse * (a * v01 + b * std::conj(v02)), v12 = -inverse * (a * v02 - b * std::conj(v01));
  const C v21 = -inverse * (c * v01 - d * std::conj(v02)), v22 = -inverse * (c * v02 + d * std::conj(v01));
  Matrix3 u;
  u.e = {Complex(v10), Complex(v11),  Complex(v12),  Complex(v00), Complex(v01),
         Complex(v02), Complex(-v20), Complex(-v21), Complex(-v22)};
  return u;
}

}  // namespace quadrille::link_codec
