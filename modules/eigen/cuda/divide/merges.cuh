// The merges of divide and conquer, all of one level in a launch.
#pragma once

#include "modules/eigen/cuda/divide/deflation.h"
#include "modules/eigen/cuda/warps.cuh"

namespace quadrille::eigen {

/// One merge: rows and columns first .. first + n of Q.
struct Merge {
  int first, n1, n;
  double rho;                                         ///< of z as take_z gives it: 2 |e|
  double sign;                                        ///< of e
  int k = 0;                                          ///< columns that are not deflated
  int c1 = 0, c2 = 0;                                 ///< of those, in the upper half alone; in both
  int rotations = 0, rotation0 = 0;                   ///< number; where they begin in the list
  long pack_top = 0, pack_bottom = 0, pack_rest = 0;  ///< where the packed columns begin
};
__global__ void take_z(const Merge* merges, const double* q, long ldq, double* z) {
  const Merge m = merges[blockIdx.y];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m.n) return;
  const int row = m.first + (i < m.n1 ? m.n1 - 1 : m.n1);
  z[m.first + i] = q[row + (m.first + i) * ldq] * (i < m.n1 ? 1 : m.sign) * 0.70710678118654752440;
}
__global__ void rotate(const Merge* merges, const Rotation* rotations, double* q, long ldq) {
  const Merge m = merges[blockIdx.y];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m.n) return;
  double* const row = q + m.first + i + m.first * ldq;
  for (int k = 0; k < m.rotations; ++k) {
    const Rotation r = rotations[m.rotation0 + k];
    const double x = row[r.p * ldq], y = row[r.q * ldq];
    row[r.p * ldq] = r.c * x + r.s * y;
    row[r.q * ldq] = r.c * y - r.s * x;
  }
}
/// Columns in the order of `column`: the upper half of those of kinds 1 and 2, the lower half of kinds 2 and 3, the
/// deflated.
__global__ void pack(const Merge* merges, const int* column, const double* q, long ldq, double* to) {
  const Merge m = merges[blockIdx.y];
  for (int c = blockIdx.x; c < m.n; c += gridDim.x) {
    const double* const from = q + m.first + (m.first + column[m.first + c]) * ldq;
    const int c12 = m.c1 + m.c2, n2 = m.n - m.n1;
    if (c < c12) {
      for (int r = threadIdx.x; r < m.n1; r += blockDim.x) to[m.pack_top + r + long(c) * m.n1] = from[r];
    }
    if (c >= m.c1 && c < m.k) {
      for (int r = threadIdx.x; r < n2; r += blockDim.x) to[m.pack_bottom + r + long(c - m.c1) * n2] = from[m.n1 + r];
    }
    if (c >= m.k) {
      for (int r = threadIdx.x; r < m.n; r += blockDim.x) to[m.pack_rest + r + long(c - m.k) * m.n] = from[r];
    }
  }
}
__global__ void unpack_rest(const Merge* merges, const double* from, double* q, long ldq) {
  const Merge m = merges[blockIdx.y];
  for (int c = m.k + blockIdx.x; c < m.n; c += gridDim.x) {
    double* const to = q + m.first + (m.first + c) * ldq;
    for (int r = threadIdx.x; r < m.n; r += blockDim.x) to[r] = from[m.pack_rest + r + long(c - m.k) * m.n];
  }
}

struct SecularSums {
  double psi, dpsi, phi, dphi;  ///< terms 0..j and j+1..k-1 and their derivatives
};
/// f(x) - 1 / rho = psi + phi at x from the origin, by a warp; `left` terms are psi's.
__device__ inline SecularSums secular_sums(const double* d, const double* w, int k, int left, double origin, double x) {
  SecularSums s{};
  for (int i = threadIdx.x % 32; i < k; i += 32) {
    const double ratio = w[i] / ((d[i] - origin) - x), value = w[i] * ratio, slope = ratio * ratio;
    if (i < left) {
      s.psi += value;
      s.dpsi += slope;
    } else {
      s.phi += value;
      s.dphi += slope;
    }
  }
  for (int by = 16; by > 0; by /= 2) {
    s.psi += __shfl_xor_sync(0xffffffffu, s.psi, by);
    s.dpsi += __shfl_xor_sync(0xffffffffu, s.dpsi, by);
    s.phi += __shfl_xor_sync(0xffffffffu, s.phi, by);
    s.dphi += __shfl_xor_sync(0xffffffffu, s.dphi, by);
  }
  return s;
}

/// The step from x to the zero of c + s / (p - x) + S / (q - x): a = (p + q) f - p q f', b = p q f.
__device__ inline double quadratic_step(double a, double b, double c, bool last) {
  const double root = sqrt(fmax(a * a - 4 * b * c, 0.0));
  if (last) {
    if (c == 0) return b / a;
    return a >= 0 ? (a + root) / (2 * c) : 2 * b / (a - root);
  }
  if (c == 0) return b / a;
  return a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
}

/// Roots of 1 / rho + sum w_i^2 / (d_i - x) = 0, one warp each: the nearest pole (d_origin) and the distance from it.
__global__ void __launch_bounds__(128)
    solve_secular(const Merge* merges, const double* d_all, const double* w_all, double* origin_all, double* offset_all,
                  double* value_all, int* failed) {
  const Merge m = merges[blockIdx.y];
  const int j = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32, k = m.k;
  if (j >= k) return;
  const double *const d = d_all + m.first, *const w = w_all + m.first;
  const double inverse_rho = 1 / m.rho;
  constexpr double eps = 0x1p-53;
  double origin, x, low, high;
  const bool last = j == k - 1;
  int left;  // terms of psi
  int p, q;  // the two poles
  if (k == 1) {
    origin = d[0];
    x = m.rho * w[0] * w[0];
    if (lane == 0) {
      origin_all[m.first] = origin;
      offset_all[m.first] = x;
      value_all[m.first] = origin + x;
    }
    return;
  }
  if (last) {
    double norm = 0;
    for (int i = lane; i < k; i += 32) norm += w[i] * w[i];
    for (int by = 16; by > 0; by /= 2) norm += __shfl_xor_sync(0xffffffffu, norm, by);
    left = k - 1;
    p = k - 2;
    q = k - 1;
    origin = d[q];
    low = 0;
    high = m.rho * norm * (1 + 8 * eps);
    // The two last terms, with the others as they are in the middle.
    const double middle = high / 2;
    const SecularSums s = secular_sums(d, w, k, k - 2, origin, middle);
    const double gap = d[q] - d[p];
    const double c = inverse_rho + s.psi;
    const double f = c + s.phi;
    (f < 0 ? low : high) = middle;
    const double wp = w[p] * w[p], wq = w[q] * w[q];
    // c (-gap - x)(-x) + wp (-x) + wq (-gap - x) = 0
    const double a = -c * gap + wp + wq, b = wq * gap;
    x = a < 0 ? 2 * b / (sqrt(a * a + 4 * b * c) - a) : (a + sqrt(a * a + 4 * b * c)) / (2 * c);
    if (!(x > low && x < high)) x = low + (high - low) / 2;
  } else {
    left = j + 1;
    p = j;
    q = j + 1;
    const double gap = d[q] - d[p], middle = gap / 2;
    const SecularSums s = secular_sums(d, w, k, left, d[p], middle);
    const double f = inverse_rho + s.psi + s.phi;
    const double wp = w[p] * w[p], wq = w[q] * w[q];
    // the others as they are in the middle
    const double c = f - wp / (-middle) - wq / (gap - middle);
    if (f >= 0) {
      origin = d[p];
      low = 0;
      high = middle;
      const double a = c * gap + wp + wq, b = wp * gap;  // c x^2 - a x + b = 0
      x = a > 0 ? 2 * b / (a + sqrt(fabs(a * a - 4 * b * c))) : (a - sqrt(fabs(a * a - 4 * b * c))) / (2 * c);
    } else {
      origin = d[q];
      low = -middle;
      high = 0;
      const double a = c * gap - wp - wq, b = wq * gap;  // c x^2 + a x - b = 0
      x = a < 0 ? 2 * b / (a - sqrt(fabs(a * a + 4 * b * c))) : -(a + sqrt(fabs(a * a + 4 * b * c))) / (2 * c);
    }
    if (!(x > low && x < high)) x = low + (high - low) / 2;
  }
  bool middle_way = last, done = false;
  double before = 0;
  for (int turn = 0; turn < 120; ++turn) {
    const SecularSums s = secular_sums(d, w, k, left, origin, x);
    const double f = inverse_rho + s.psi + s.phi, slope = s.dpsi + s.dphi;
    const double bound = 8 * eps * (inverse_rho + fabs(s.psi) + fabs(s.phi));
    if (fabs(f) <= bound || high - low <= 2 * eps * fabs(x)) {
      done = true;
      break;
    }
    if (f < 0) {
      low = fmax(low, x);
    } else {
      high = fmin(high, x);
    }
    if (!last && turn > 0 && fabs(f) > 0.1 * fabs(before)) middle_way = !middle_way;
    before = f;
    const double dp = (d[p] - origin) - x, dq = (d[q] - origin) - x;
    double c;
    if (middle_way) {
      c = f - dp * s.dpsi - dq * s.dphi;
    } else if (origin == d[p]) {
      const double t = w[p] / dp;
      c = f - dq * slope - (d[p] - d[q]) * t * t;
    } else {
      const double t = w[q] / dq;
      c = f - dp * slope - (d[q] - d[p]) * t * t;
    }
    const double a = (dp + dq) * f - dp * dq * slope, b = dp * dq * f;
    double step = quadratic_step(a, b, c, last);
    if (!(f * step < 0)) step = -f / slope;
    double next = x + step;
    if (!(next > low && next < high) || turn % 16 == 15) next = low + (high - low) / 2;
    if (next == low || next == high) {  // nothing between them
      x = next;
      done = true;
      break;
    }
    x = next;
  }
  if (lane == 0) {
    if (!done || !isfinite(x) || x == 0) *failed = 2;
    origin_all[m.first + j] = origin;
    offset_all[m.first + j] = x;
    value_all[m.first + j] = origin + x;
  }
}

/// z that has exactly these roots, with the signs of w: a warp a component. z_i^2 = -prod_j (d_i - x_j) / prod_(j != i)
/// (d_i - d_j)
__global__ void __launch_bounds__(128) renew_z(const Merge* merges, const double* d_all, const double* w_all,
                                               const double* origin_all, const double* offset_all, double* z_all) {
  const Merge m = merges[blockIdx.y];
  const int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32, k = m.k;
  if (i >= k) return;
  const double *const d = d_all + m.first, *const origin = origin_all + m.first, *const offset = offset_all + m.first;
  double product = 1;
  for (int j = lane; j < k; j += 32) {
    const double to_root = (d[i] - origin[j]) - offset[j];
    product *= j == i ? to_root : to_root / (d[i] - d[j]);
  }
  for (int by = 16; by > 0; by /= 2) product *= __shfl_xor_sync(0xffffffffu, product, by);
  if (lane == 0) z_all[m.first + i] = copysign(sqrt(fabs(product)), w_all[m.first + i]);
}

/// Columns of the right factor: u_i = z_i / (d_i - x_j), normalized, row i at place[i]; a block a column.
__global__ void __launch_bounds__(256)
    form_columns(Merge m, const double* d_all, const double* z_all, const double* origin_all, const double* offset_all,
                 const int* place_all, const int* wanted, int from, double* u) {
  const int k = m.k, j = wanted ? wanted[from + blockIdx.x] : from + blockIdx.x;
  const double *const d = d_all + m.first, *const z = z_all + m.first;
  const int* const place = place_all + m.first;
  const double origin = origin_all[m.first + j], offset = offset_all[m.first + j];
  __shared__ double sums[8];
  double norm = 0;
  for (int i = threadIdx.x; i < k; i += blockDim.x) {
    const double x = z[i] / ((d[i] - origin) - offset);
    norm += x * x;
  }
  norm = warp_sum(norm);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = norm;
  __syncthreads();
  norm = 0;
  for (int s = 0; s < 8; ++s) norm += sums[s];
  const double scale = 1 / sqrt(norm);
  double* const column = u + long(blockIdx.x) * k;
  for (int i = threadIdx.x; i < k; i += blockDim.x) column[place[i]] = z[i] / ((d[i] - origin) - offset) * scale;
}

__global__ void gather_columns(const double* q, long ldq, int n, const int* column, double* e, long lde) {
  const double* const from = q + long(column[blockIdx.x]) * ldq;
  for (int r = threadIdx.x; r < n; r += blockDim.x) e[r + blockIdx.x * lde] = from[r];
}

}  // namespace quadrille::eigen
