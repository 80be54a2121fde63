// The blocks at the end of divide and conquer.
#pragma once

namespace quadrille::eigen {

/// Rows of the blocks that are not divided.
constexpr int leaf_size = 64;

/// QL iterations on a leaf: thread r has row r of its vectors. Every warp has its own copy of d and e.
__global__ void __launch_bounds__(leaf_size)
    solve_leaves(double* d, const double* e, const int* begin, double* q, long ldq, int* failed) {
  constexpr int n_max = leaf_size, ld = n_max + 1;
  __shared__ double z[n_max * ld], ds[2][n_max + 1], es[2][n_max + 1];
  const int first = begin[blockIdx.x], n = begin[blockIdx.x + 1] - first;
  const int row = threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  double *const dw = ds[warp], *const ew = es[warp];
  for (int k = lane; k < n; k += 32) {
    dw[k] = d[first + k];
    ew[k] = k + 1 < n ? e[first + k] : 0;
  }
  for (int c = 0; c < n; ++c) z[row + c * ld] = row == c;
  __syncwarp();
  bool good = true;
  for (int l = 0; l < n && good; ++l) {
    for (int turn = 0;; ++turn) {
      int m = l;
      for (; m + 1 < n; ++m) {
        const double sum = fabs(dw[m]) + fabs(dw[m + 1]);
        if (fabs(ew[m]) <= 0x1p-53 * sum) break;
      }
      if (m == l) break;
      if (turn == 60) {
        good = false;
        break;
      }
      double g = (dw[l + 1] - dw[l]) / (2 * ew[l]), r = hypot(g, 1.0);
      g = dw[m] - dw[l] + ew[l] / (g + copysign(r, g));
      double s = 1, c = 1, p = 0;
      int i = m - 1;
      __syncwarp();
      for (; i >= l; --i) {
        const double f = s * ew[i], b = c * ew[i], d_next = dw[i + 1], d_here = dw[i];
        r = sqrt(f * f + g * g);
        if (r == 0) {
          __syncwarp();
          if (lane == 0) {
            ew[i + 1] = 0;
            dw[i + 1] = d_next - p;
            ew[m] = 0;
          }
          __syncwarp();
          break;
        }
        s = f / r;
        c = g / r;
        g = d_next - p;
        const double t = (d_here - g) * s + 2 * c * b;
        p = s * t;
        __syncwarp();
        if (lane == 0) {
          ew[i + 1] = r;
          dw[i + 1] = g + p;
        }
        __syncwarp();
        g = c * t - b;
        const double z1 = z[row + (i + 1) * ld], z0 = z[row + i * ld];
        z[row + (i + 1) * ld] = s * z0 + c * z1;
        z[row + i * ld] = c * z0 - s * z1;
      }
      if (i >= l) continue;
      __syncwarp();
      const double d_l = dw[l];
      __syncwarp();
      if (lane == 0) {
        dw[l] = d_l - p;
        ew[l] = g;
        ew[m] = 0;
      }
      __syncwarp();
    }
  }
  if (!good && threadIdx.x == 0) *failed = 1;
  for (int k = lane; warp == 0 && k < n; k += 32) d[first + k] = dw[k];
  if (row < n) {
    for (int c = 0; c < n; ++c) q[first + row + (first + c) * ldq] = z[row + c * ld];
  }
}

}  // namespace quadrille::eigen
