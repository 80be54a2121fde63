// Updates of V independent SU(3) links in given surroundings: the weight of a link U is exp(scale Re tr(U A)), where A
// is the sum of its staples.
//
// Both updates multiply U from the left by matrices of the SU(2) subgroups of rows (0,1), (0,2) and (1,2), in this
// order (Cabibbo and Marinari, Phys. Lett. B 119 (1982) 387). With W = U A and R = k v, v in SU(2), the part of the
// subgroup's 2x2 block of W that has the form r0 + i sum_k r_k sigma_k, the weight of g U is exp(2 scale k a0), where
// a = g v. The heatbath draws a, and overrelaxation takes g = v^+ v^+, which leaves a0 as it was (Creutz, Phys. Rev. D
// 36 (1987) 515; Brown and Woch, Phys. Rev. Lett. 58 (1987) 2394).
//
// A matrix is 18 vectors: re and im of the elements row by row. For files compiled once per instruction set, or for one
// lane (core/lanes.h).
#pragma once

#include "modules/quenched/su2_draw.h"

namespace quadrille::quenched::inline QUADRILLE_ISA {

/// c = a b; c is neither a nor b.
template <int V>
QUADRILLE_INLINE void multiply(Real<V>* c, const Real<V>* a, const Real<V>* b) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      Real<V> re{}, im{};
      for (int k = 0; k < 3; ++k) {
        const Real<V> ar = a[6 * i + 2 * k], ai = a[6 * i + 2 * k + 1], br = b[6 * k + 2 * j],
                      bi = b[6 * k + 2 * j + 1];
        re += ar * br - ai * bi;
        im += ar * bi + ai * br;
      }
      c[6 * i + 2 * j] = re;
      c[6 * i + 2 * j + 1] = im;
    }
  }
}

/// c += a b^+.
template <int V>
QUADRILLE_INLINE void add_times_adjoint(Real<V>* c, const Real<V>* a, const Real<V>* b) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      Real<V> re = c[6 * i + 2 * j], im = c[6 * i + 2 * j + 1];
      for (int k = 0; k < 3; ++k) {
        const Real<V> ar = a[6 * i + 2 * k], ai = a[6 * i + 2 * k + 1], br = b[6 * j + 2 * k],
                      bi = b[6 * j + 2 * k + 1];
        re += ar * br + ai * bi;
        im += ai * br - ar * bi;
      }
      c[6 * i + 2 * j] = re;
      c[6 * i + 2 * j + 1] = im;
    }
  }
}

/// c += a^+ b.
template <int V>
QUADRILLE_INLINE void add_adjoint_times(Real<V>* c, const Real<V>* a, const Real<V>* b) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      Real<V> re = c[6 * i + 2 * j], im = c[6 * i + 2 * j + 1];
      for (int k = 0; k < 3; ++k) {
        const Real<V> ar = a[6 * k + 2 * i], ai = a[6 * k + 2 * i + 1], br = b[6 * k + 2 * j],
                      bi = b[6 * k + 2 * j + 1];
        re += ar * br + ai * bi;
        im += ar * bi - ai * br;
      }
      c[6 * i + 2 * j] = re;
      c[6 * i + 2 * j + 1] = im;
    }
  }
}

/// Re tr(a b^+).
template <int V>
QUADRILLE_INLINE Real<V> real_trace_adjoint(const Real<V>* a, const Real<V>* b) {
  Real<V> sum{};
  for (int n = 0; n < 18; ++n) sum += a[n] * b[n];
  return sum;
}

/// 2 r0..2 r3 of the block of rows and columns i, j.
template <int V>
QUADRILLE_INLINE Quaternion<V> subgroup_part(const Real<V>* w, int i, int j) {
  const Real<V>*ii = w + 8 * i, *ij = w + 6 * i + 2 * j, *ji = w + 6 * j + 2 * i, *jj = w + 8 * j;
  return {{ii[0] + jj[0], ij[1] + ji[1], ij[0] - ji[0], ii[1] - jj[1]}};
}

/// Multiplies rows i and j of m from the left by the SU(2) matrix g.
template <int V>
QUADRILLE_INLINE void rotate_rows(Real<V>* m, const Quaternion<V>& q, int i, int j) {
  const Real<V>* g = q.a;
  for (int c = 0; c < 3; ++c) {
    Real<V>*x = m + 6 * i + 2 * c, *y = m + 6 * j + 2 * c;
    const Real<V> xr = x[0], xi = x[1], yr = y[0], yi = y[1];
    x[0] = g[0] * xr - g[3] * xi + g[2] * yr - g[1] * yi;
    x[1] = g[0] * xi + g[3] * xr + g[2] * yi + g[1] * yr;
    y[0] = g[0] * yr + g[3] * yi - g[2] * xr - g[1] * xi;
    y[1] = g[0] * yi - g[3] * yr - g[2] * xi + g[1] * xr;
  }
}

/// Below this |2R|^2 the block has no direction, and any g is as good as another.
inline constexpr double smallest_square = 1e-200;

template <int V>
QUADRILLE_INLINE Real<V> square(const Quaternion<V>& q) {
  return q.a[0] * q.a[0] + q.a[1] * q.a[1] + q.a[2] * q.a[2] + q.a[3] * q.a[3];
}

/// g = a v^+ with a drawn.
template <int V>
struct Heatbath {
  double scale;          ///< the weight of a link is exp(scale Re tr(U A))
  std::uint64_t seed;    ///< of the sweep
  std::uint32_t stream;  ///< random_stream() of the direction: subgroups take this and the next two
  DrawCounts<V>* counts;

  QUADRILLE_INLINE Quaternion<V> operator()(const Quaternion<V>& r, int subgroup, const std::int64_t* sites) const {
    const Real<V> size2 = square<V>(r);
    const Mask<V> directed = size2 >= smallest_square;
    const Real<V> size = simd::sqrt<double, V>(directed ? size2 : Real<V>{} + 1.0);
    const simd::LaneRandom<V> random(seed, stream + (std::uint32_t(subgroup) << 8), sites);
    // A lane that is not a number stays that; one without direction has alpha = 0.
    const Real<V> alpha = (size2 < smallest_square) ? Real<V>{} : scale * simd::sqrt<double, V>(size2);
    const Quaternion<V> drawn = draw_su2<V>(alpha, random, *counts);
    const Real<V>* a = drawn.a;
    const Real<V> inverse = 1.0 / size;
    const Real<V> v0 = directed ? r.a[0] * inverse : Real<V>{} + 1.0, v1 = directed ? r.a[1] * inverse : Real<V>{};
    const Real<V> v2 = directed ? r.a[2] * inverse : Real<V>{}, v3 = directed ? r.a[3] * inverse : Real<V>{};
    return {{a[0] * v0 + a[1] * v1 + a[2] * v2 + a[3] * v3, v0 * a[1] - a[0] * v1 + a[2] * v3 - a[3] * v2,
             v0 * a[2] - a[0] * v2 + a[3] * v1 - a[1] * v3, v0 * a[3] - a[0] * v3 + a[1] * v2 - a[2] * v1}};
  }
};

/// g = v^+ v^+.
template <int V>
struct Overrelaxation {
  QUADRILLE_INLINE Quaternion<V> operator()(const Quaternion<V>& r, int, const std::int64_t*) const {
    const Real<V> size2 = square<V>(r);
    const Mask<V> none = size2 < smallest_square;
    const Real<V> inverse = 1.0 / (none ? Real<V>{} + 1.0 : size2);
    const Real<V> twice = -2.0 * r.a[0] * inverse;
    const Real<V> g0 = -twice * r.a[0] - 1.0;
    return {{none ? Real<V>{} + 1.0 : g0, twice * r.a[1], twice * r.a[2], twice * r.a[3]}};
  }
};

/// Replaces the links u; `staples` is A.
template <int V, class Update>
QUADRILLE_INLINE void update_link(Real<V>* u, const Real<V>* staples, const Update& update, const std::int64_t* sites) {
  Real<V> w[18];
  multiply<V>(w, u, staples);
  QUADRILLE_UNROLL
  for (int subgroup = 0; subgroup < 3; ++subgroup) {
    const int i = subgroup == 2 ? 1 : 0, j = subgroup == 0 ? 1 : 2;
    const Quaternion<V> g = update(subgroup_part<V>(w, i, j), subgroup, sites);
    rotate_rows<V>(u, g, i, j);
    if (subgroup < 2) rotate_rows<V>(w, g, i, j);
  }
}

/// Replaces the links by SU(3) matrices: rows 0 and 1 made orthonormal by Gram and Schmidt, row 2 the conjugate of
/// their cross product. Raises `largest` to the largest |change| of a number.
template <int V>
QUADRILLE_INLINE void reunitarize_link(Real<V>* u, Real<V>& largest) {
  Real<V> n[18];
  for (int i = 0; i < 12; ++i) n[i] = u[i];
  const auto normalize = [](Real<V>* row) {
    Real<V> norm{};
    for (int i = 0; i < 6; ++i) norm += row[i] * row[i];
    const Real<V> scale = 1.0 / simd::sqrt<double, V>(norm);
    for (int i = 0; i < 6; ++i) row[i] *= scale;
  };
  normalize(n);
  Real<V> re{}, im{};
  for (int j = 0; j < 6; j += 2) {
    re += n[j] * n[6 + j] + n[j + 1] * n[7 + j];
    im += n[j] * n[7 + j] - n[j + 1] * n[6 + j];
  }
  for (int j = 0; j < 6; j += 2) {
    n[6 + j] -= re * n[j] - im * n[j + 1];
    n[7 + j] -= re * n[j + 1] + im * n[j];
  }
  normalize(n + 6);
  for (int j = 0; j < 3; ++j) {
    const Real<V>*a = n + 2 * ((j + 1) % 3), *b = n + 2 * ((j + 2) % 3), *c = a + 6, *d = b + 6;
    n[12 + 2 * j] = (a[0] * d[0] - a[1] * d[1]) - (b[0] * c[0] - b[1] * c[1]);
    n[13 + 2 * j] = (b[0] * c[1] + b[1] * c[0]) - (a[0] * d[1] + a[1] * d[0]);
  }
  for (int i = 0; i < 18; ++i) {
    const Real<V> change = n[i] > u[i] ? n[i] - u[i] : u[i] - n[i];
    largest = change > largest ? change : largest;
    u[i] = n[i];
  }
}

}  // namespace quadrille::quenched::inline QUADRILLE_ISA
