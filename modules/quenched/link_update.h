// Updates of V independent SU(3) links in given surroundings: the weight of a link U is exp(scale Re tr(U A)), where A
// is the sum of its staples.
//
// Both updates multiply U from the left by matrices of the SU(2) subgroups of rows (0,1), (0,2) and (1,2), in this
// order (Cabibbo and Marinari, Phys. Lett. B 119 (1982) 387). With W = U A and R = k v, v in SU(2), the part of the
// subgroup's 2x2 block of W that has the form r0 + i sum_k r_k sigma_k, the weight of g U is exp(2 scale k a0), where
// a = g v. The heatbath draws a, and overrelaxation takes g = v^+ v^+, which leaves a0 as it was (Creutz, Phys. Rev. D
// 36 (1987) 515; Brown and Woch, Phys. Rev. Lett. 58 (1987) 2394).
//
// A matrix is 18 vectors of T, double or float: re and im of the elements row by row. Of a link in SU(3) the first two
// rows say the third, and links may be stored and multiplied by those alone. For files compiled once per instruction
// set, or for one lane (core/simd/lanes.h).
#pragma once

#include "modules/quenched/su2_draw.h"

namespace quadrille::quenched::inline QUADRILLE_ISA {

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
/// (core/gauge/link_codec.h).
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

/// 2 r0..2 r3 of the block of rows and columns i, j.
template <class T, int V>
QUADRILLE_INLINE Quaternion<T, V> subgroup_part(const Real<T, V>* w, int i, int j) {
  const Real<T, V>*ii = w + 8 * i, *ij = w + 6 * i + 2 * j, *ji = w + 6 * j + 2 * i, *jj = w + 8 * j;
  return {{ii[0] + jj[0], ij[1] + ji[1], ij[0] - ji[0], ii[1] - jj[1]}};
}

/// Multiplies rows i and j of m from the left by the SU(2) matrix g.
template <class T, int V>
QUADRILLE_INLINE void rotate_rows(Real<T, V>* m, const Quaternion<T, V>& q, int i, int j) {
  const Real<T, V>* g = q.a;
  for (int c = 0; c < 3; ++c) {
    Real<T, V>*x = m + 6 * i + 2 * c, *y = m + 6 * j + 2 * c;
    const Real<T, V> xr = x[0], xi = x[1], yr = y[0], yi = y[1];
    x[0] = g[0] * xr - g[3] * xi + g[2] * yr - g[1] * yi;
    x[1] = g[0] * xi + g[3] * xr + g[2] * yi + g[1] * yr;
    y[0] = g[0] * yr + g[3] * yi - g[2] * xr - g[1] * xi;
    y[1] = g[0] * yi - g[3] * yr - g[2] * xi + g[1] * xr;
  }
}

/// Below this |2R|^2 the block has no direction, and any g is as good as another.
template <class T>
inline constexpr T smallest_square = sizeof(T) == 8 ? T(1e-200) : T(1e-30);

template <class T, int V>
QUADRILLE_INLINE Real<T, V> square(const Quaternion<T, V>& q) {
  return q.a[0] * q.a[0] + q.a[1] * q.a[1] + q.a[2] * q.a[2] + q.a[3] * q.a[3];
}

/// g = a v^+ with a drawn.
template <class T, int V>
struct Heatbath {
  T scale;               ///< the weight of a link is exp(scale Re tr(U A))
  std::uint64_t seed;    ///< of the sweep
  std::uint32_t stream;  ///< random_stream() of the direction: subgroups take this and the next two
  DrawCounts<T, V>* counts;

  QUADRILLE_INLINE Quaternion<T, V> operator()(const Quaternion<T, V>& r, int subgroup,
                                               const std::int64_t* sites) const {
    const Real<T, V> size2 = square<T, V>(r);
    const Mask<T, V> none = size2 < smallest_square<T>, directed = size2 >= smallest_square<T>;
    // A lane that is not a number stays that; one without direction has alpha = 0.
    const Real<T, V> zero{}, one = zero + T(1);
    const Real<T, V> size = simd::sqrt<T, V>(none ? zero : size2);
    const simd::LaneRandom<T, V> random(seed, stream + (std::uint32_t(subgroup) << 8), sites);
    const Quaternion<T, V> drawn = draw_su2<T, V>(scale * size, random, *counts);
    const Real<T, V>* a = drawn.a;
    const Real<T, V> inverse = simd::reciprocal<T, V>(directed ? size : one);
    const Real<T, V> v0 = directed ? r.a[0] * inverse : one, v1 = directed ? r.a[1] * inverse : zero;
    const Real<T, V> v2 = directed ? r.a[2] * inverse : zero, v3 = directed ? r.a[3] * inverse : zero;
    return {{a[0] * v0 + a[1] * v1 + a[2] * v2 + a[3] * v3, v0 * a[1] - a[0] * v1 + a[2] * v3 - a[3] * v2,
             v0 * a[2] - a[0] * v2 + a[3] * v1 - a[1] * v3, v0 * a[3] - a[0] * v3 + a[1] * v2 - a[2] * v1}};
  }
};

/// g = v^+ v^+.
template <class T, int V>
struct Overrelaxation {
  QUADRILLE_INLINE Quaternion<T, V> operator()(const Quaternion<T, V>& r, int, const std::int64_t*) const {
    const Real<T, V> size2 = square<T, V>(r);
    const Mask<T, V> none = size2 < smallest_square<T>;
    const Real<T, V> one = Real<T, V>{} + T(1);
    const Real<T, V> inverse = simd::reciprocal<T, V>(none ? one : size2);
    const Real<T, V> twice = T(-2) * r.a[0] * inverse;
    const Real<T, V> g0 = -twice * r.a[0] - T(1);
    return {{none ? one : g0, twice * r.a[1], twice * r.a[2], twice * r.a[3]}};
  }
};

/// Replaces the links u; `staples` is A.
template <class T, int V, class Update>
QUADRILLE_INLINE void update_link(Real<T, V>* u, const Real<T, V>* staples, const Update& update,
                                  const std::int64_t* sites) {
  Real<T, V> w[18];
  multiply<T, V>(w, u, staples);
  QUADRILLE_UNROLL
  for (int subgroup = 0; subgroup < 3; ++subgroup) {
    const int i = subgroup == 2 ? 1 : 0, j = subgroup == 0 ? 1 : 2;
    const Quaternion<T, V> g = update(subgroup_part<T, V>(w, i, j), subgroup, sites);
    rotate_rows<T, V>(u, g, i, j);
    if (subgroup < 2) rotate_rows<T, V>(w, g, i, j);
  }
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

}  // namespace quadrille::quenched::inline QUADRILLE_ISA
