// SU(2) subgroups of SU(3) on V lanes, those of two rows and columns: what updates and projections of links turn them
// by. For files compiled once per instruction set, or for one lane (core/simd/lanes.h).
#pragma once

#include "core/gauge/link_lanes.h"

namespace quadrille::link_lanes::inline QUADRILLE_ISA {

/// Components a0..a3 of a0 + i sum_k a_k sigma_k.
template <class T, int V>
struct Quaternion {
  Real<T, V> a[4];
};

/// 2 r0..2 r3 of the block of rows and columns i, j: of its part of the form r0 + i sum_k r_k sigma_k.
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

}  // namespace quadrille::link_lanes::inline QUADRILLE_ISA
