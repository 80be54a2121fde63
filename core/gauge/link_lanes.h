// SU(3) arithmetic on V lanes: a matrix is 18 vectors of T, double or float, re and im of the elements row by row.
//
// Of a link in SU(3) the first two rows say the third, and links may be stored and multiplied by those alone. For files
// compiled once per instruction set, or for one lane (core/simd/lanes.h).
#pragma once

#include "core/simd/lanes.h"

namespace quadrille::link_lanes::inline QUADRILLE_ISA {

template <class T, int V>
using Real = simd::Vec<T, V>;

/// A matrix that is only read, whose third row may lie elsewhere than after the others.
template <class T, int V>
struct MatrixRows {
  const Real<T, V>*upper, *third;

  QUADRILLE_INLINE MatrixRows(const Real<T, V>* matrix) : upper(matrix), third(matrix + 12) {}
  QUADRILLE_INLINE MatrixRows(const Real<T, V>* rows, const Real<T, V>* last) : upper(rows), third(last) {}
  QUADRILLE_INLINE const Real<T, V>* row(int i) const { return i == 2 ? third : upper + 6 * i; }
};

/// Rows 0 to `rows` of c = a b; c is neither a nor b.
template <class T, int V, int rows = 3>
QUADRILLE_INLINE void multiply(Real<T, V>* c, MatrixRows<T, V> a, MatrixRows<T, V> b) {
  QUADRILLE_UNROLL
  for (int i = 0; i < rows; ++i) {
    QUADRILLE_UNROLL
    for (int j = 0; j < 3; ++j) {
      Real<T, V> re{}, im{};
      QUADRILLE_UNROLL
      for (int k = 0; k < 3; ++k) {
        const Real<T, V> ar = a.row(i)[2 * k], ai = a.row(i)[2 * k + 1], br = b.row(k)[2 * j], bi = b.row(k)[2 * j + 1];
        re = simd::add_difference<T, V>(re, ar, br, ai, bi);
        im = simd::add_products<T, V>(im, ar, bi, ai, br);
      }
      c[6 * i + 2 * j] = re;
      c[6 * i + 2 * j + 1] = im;
    }
  }
}

/// Rows 0 to `rows` of c += a b^+.
template <class T, int V, int rows = 3>
QUADRILLE_INLINE void add_times_adjoint(Real<T, V>* c, MatrixRows<T, V> a, MatrixRows<T, V> b) {
  QUADRILLE_UNROLL
  for (int i = 0; i < rows; ++i) {
    QUADRILLE_UNROLL
    for (int j = 0; j < 3; ++j) {
      Real<T, V> re = c[6 * i + 2 * j], im = c[6 * i + 2 * j + 1];
      QUADRILLE_UNROLL
      for (int k = 0; k < 3; ++k) {
        const Real<T, V> ar = a.row(i)[2 * k], ai = a.row(i)[2 * k + 1], br = b.row(j)[2 * k], bi = b.row(j)[2 * k + 1];
        re = simd::add_products<T, V>(re, ar, br, ai, bi);
        im = simd::add_difference<T, V>(im, ai, br, ar, bi);
      }
      c[6 * i + 2 * j] = re;
      c[6 * i + 2 * j + 1] = im;
    }
  }
}

/// Rows 0 to `rows` of c += a^+ b.
template <class T, int V, int rows = 3>
QUADRILLE_INLINE void add_adjoint_times(Real<T, V>* c, MatrixRows<T, V> a, MatrixRows<T, V> b) {
  QUADRILLE_UNROLL
  for (int i = 0; i < rows; ++i) {
    QUADRILLE_UNROLL
    for (int j = 0; j < 3; ++j) {
      Real<T, V> re = c[6 * i + 2 * j], im = c[6 * i + 2 * j + 1];
      QUADRILLE_UNROLL
      for (int k = 0; k < 3; ++k) {
        const Real<T, V> ar = a.row(k)[2 * i], ai = a.row(k)[2 * i + 1], br = b.row(k)[2 * j], bi = b.row(k)[2 * j + 1];
        re = simd::add_products<T, V>(re, ar, br, ai, bi);
        im = simd::add_difference<T, V>(im, ar, bi, ai, br);
      }
      c[6 * i + 2 * j] = re;
      c[6 * i + 2 * j + 1] = im;
    }
  }
}

/// Re tr(a b^+).
template <class T, int V>
QUADRILLE_INLINE Real<T, V> real_trace_adjoint(const Real<T, V>* a, const Real<T, V>* b) {
  Real<T, V> sum{};
  QUADRILLE_UNROLL
  for (int n = 0; n < 18; ++n) sum += a[n] * b[n];
  return sum;
}

/// row = the third row of the SU(3) matrix whose first two are upper[0..12): the conjugate of their cross product
/// (core/su3/link_codec.h).
template <class T, int V>
QUADRILLE_INLINE void third_row(Real<T, V>* row, const Real<T, V>* upper) {
  QUADRILLE_UNROLL
  for (int j = 0; j < 3; ++j) {
    const Real<T, V>*a = upper + 2 * ((j + 1) % 3), *b = upper + 2 * ((j + 2) % 3), *c = a + 6, *d = b + 6;
    row[2 * j] = a[0] * d[0] - a[1] * d[1] - b[0] * c[0] + b[1] * c[1];
    row[2 * j + 1] = b[0] * c[1] + b[1] * c[0] - a[0] * d[1] - a[1] * d[0];
  }
}

/// m[12..18) = the third row of length 1 (to first order) of a matrix that is in SU(3) up to rounding: for links that
/// are updated. Were it as long as the product of the other two, then mixing rows would let errors of length grow
/// exponentially from update to update; of length 1 it lets them only add up, as 18 numbers do.
template <class T, int V>
QUADRILLE_INLINE void add_unit_third_row(Real<T, V>* m) {
  Real<T, V> length2{};
  third_row<T, V>(m + 12, m);
  QUADRILLE_UNROLL
  for (int n = 12; n < 18; ++n) length2 += m[n] * m[n];
  const Real<T, V> scale = T(1.5) - T(0.5) * length2;
  QUADRILLE_UNROLL
  for (int n = 12; n < 18; ++n) m[n] *= scale;
}

/// All rows of a link of which `numbers` numbers are stored, 18 or 12; the third row, when it is not stored, in
/// `third`.
template <class T, int V, int numbers>
QUADRILLE_INLINE MatrixRows<T, V> whole_link(const Real<T, V>* stored, Real<T, V>* third) {
  if constexpr (numbers == 18) return stored;
  third_row<T, V>(third, stored);
  return {stored, third};
}

/// Replaces the links by SU(3) matrices: rows 0 and 1 made orthonormal by Gram and Schmidt, row 2 the conjugate of
/// their cross product. Raises `largest` to the largest |change| of a number.
template <class T, int V>
QUADRILLE_INLINE void reunitarize_link(Real<T, V>* u, Real<T, V>& largest) {
  Real<T, V> n[18];
  for (int i = 0; i < 12; ++i) n[i] = u[i];
  const auto normalize = [](Real<T, V>* row) {
    Real<T, V> norm{};
    for (int i = 0; i < 6; ++i) norm += row[i] * row[i];
    const Real<T, V> scale = T(1) / simd::sqrt<T, V>(norm);
    for (int i = 0; i < 6; ++i) row[i] *= scale;
  };
  normalize(n);
  Real<T, V> re{}, im{};
  for (int j = 0; j < 6; j += 2) {
    re += n[j] * n[6 + j] + n[j + 1] * n[7 + j];
    im += n[j] * n[7 + j] - n[j + 1] * n[6 + j];
  }
  for (int j = 0; j < 6; j += 2) {
    n[6 + j] -= re * n[j] - im * n[j + 1];
    n[7 + j] -= re * n[j + 1] + im * n[j];
  }
  normalize(n + 6);
  // As third_row(), but summed in the order in which chains have been computed since the first.
  for (int j = 0; j < 3; ++j) {
    const Real<T, V>*a = n + 2 * ((j + 1) % 3), *b = n + 2 * ((j + 2) % 3), *c = a + 6, *d = b + 6;
    n[12 + 2 * j] = (a[0] * d[0] - a[1] * d[1]) - (b[0] * c[0] - b[1] * c[1]);
    n[13 + 2 * j] = (b[0] * c[1] + b[1] * c[0]) - (a[0] * d[1] + a[1] * d[0]);
  }
  for (int i = 0; i < 18; ++i) {
    const Real<T, V> change = n[i] > u[i] ? n[i] - u[i] : u[i] - n[i];
    largest = change > largest ? change : largest;
    u[i] = n[i];
  }
}

}  // namespace quadrille::link_lanes::inline QUADRILLE_ISA
