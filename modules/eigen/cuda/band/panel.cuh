// QR factorization of a tall panel of 64 columns by Householder reflections, in one cooperative kernel: a block keeps
// 32 R rows in its registers. One barrier of the grid a column: the products of the column with all others are summed
// over blocks in fixed order, and every block finds the same reflection from them.
#pragma once

#include "core/backend/cuda/runtime.h"
#include "core/error.h"
#include "modules/eigen/cuda/warps.cuh"
#include "modules/eigen/device_needs.h"

namespace quadrille::eigen {

constexpr int panel_width = 64, panel_threads = 512, panel_warps = panel_threads / 32,
              panel_share = panel_width / panel_warps;

template <class T>
struct Panel {
  T* a;  ///< rows x 64, column-major with leading dimension lda: becomes R and, below its diagonal, the vectors
  long lda;
  int rows;
  T* y;  ///< rows x 64 with leading dimension ldy: unit lower trapezoid, zeros above
  long ldy;
  T* tau;             ///< 64
  T* partial;         ///< 2 x blocks x 64: products of each block, those of even and of odd columns
  T* pivot;           ///< 2 x 64: the pivot's row
  unsigned* arrived;  ///< zero at the start
};

__device__ inline void grid_barrier(unsigned* arrived, unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (*reinterpret_cast<volatile unsigned*>(arrived) < target) {
    }
    __threadfence();
  }
  __syncthreads();
}

/// Sums of four numbers over a warp: that of number `lane / 8`, in all lanes of it.
template <class T>
__device__ T four_sums(const T (&a)[4]) {
  const bool upper = threadIdx.x & 16, odd = threadIdx.x & 8;
  T s0 = upper ? a[2] : a[0], s1 = upper ? a[3] : a[1];
  s0 += shuffled_xor(upper ? a[0] : a[2], 16);
  s1 += shuffled_xor(upper ? a[1] : a[3], 16);
  T sum = odd ? s1 : s0;
  sum += shuffled_xor(odd ? s0 : s1, 8);
  for (int by = 4; by > 0; by /= 2) sum += shuffled_xor(sum, by);
  return sum;
}

template <class T, int R>
__global__ void __launch_bounds__(panel_threads, 1) factor_panel(const __grid_constant__ Panel<T> p) {
  static_assert(panel_share == 4);
  constexpr int parts = panel_threads / panel_width;
  __shared__ T column[32 * R], part[parts][panel_width], pivot[panel_width];
  const int first = blockIdx.x * 32 * R, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  T a[R][panel_share];
#pragma unroll
  for (int m = 0; m < panel_share; ++m) {
#pragma unroll
    for (int i = 0; i < R; ++i) {
      const int row = first + lane + 32 * i;
      a[i][m] = row < p.rows ? p.a[row + (warp + panel_warps * m) * p.lda] : T(0.0);
    }
  }
  const int steps = min(p.rows, panel_width);
  for (int j = 0; j < steps; ++j) {
    T* const partial = p.partial + long(j % 2) * gridDim.x * panel_width;
    T* const pivots = p.pivot + (j % 2) * panel_width;
    if (warp == j % panel_warps) {
#pragma unroll
      for (int i = 0; i < R; ++i) {
        T mine = a[i][0];
#pragma unroll
        for (int m = 1; m < panel_share; ++m) mine = m == j / panel_warps ? a[i][m] : mine;
        column[lane + 32 * i] = mine;
      }
    }
    __syncthreads();
    T v[R], sums[panel_share] = {T(0.0), T(0.0), T(0.0), T(0.0)};
#pragma unroll
    for (int i = 0; i < R; ++i) {
      const int row = first + lane + 32 * i;
      v[i] = row > j ? column[lane + 32 * i] : T(0.0);
#pragma unroll
      for (int m = 0; m < panel_share; ++m) {
        sums[m] += conj(v[i]) * a[i][m];
        if (row == j) pivots[warp + panel_warps * m] = a[i][m];
      }
    }
    const T sum = four_sums(sums);
    if (lane % 8 == 0) partial[blockIdx.x * panel_width + warp + panel_warps * (lane / 8)] = sum;
    grid_barrier(p.arrived, gridDim.x * unsigned(j + 1));
    {
      const int c = threadIdx.x % panel_width, which = threadIdx.x / panel_width;
      T total(0.0);
#pragma unroll 8
      for (int b = which; b < gridDim.x; b += parts) total += load_l2(&partial[b * panel_width + c]);
      part[which][c] = total;
      if (which == 0) pivot[c] = load_l2(&pivots[c]);
    }
    __syncthreads();
    const auto whole = [&](int c) {
      T total(0.0);
#pragma unroll
      for (int which = 0; which < parts; ++which) total += part[which][c];
      return total;
    };
    const Reflector<T> h = reflector(pivot[j], real(whole(j)));
#pragma unroll
    for (int i = 0; i < R; ++i) v[i] = h.scale * v[i];
#pragma unroll
    for (int m = 0; m < panel_share; ++m) {
      const int c = warp + panel_warps * m;
      // v^H a_c = a_jc + conj(scale) sum_c; H^H takes conj(tau) of it
      const T factor = conj(h.tau) * (pivot[c] + conj(h.scale) * whole(c));
#pragma unroll
      for (int i = 0; i < R; ++i) {
        const int row = first + lane + 32 * i;
        T u = v[i];
        if (row == j) u = T(1.0);
        if (c > j) {
          a[i][m] -= factor * u;
        } else if (c == j && row > j) {
          a[i][m] = u;
        } else if (c == j && row == j) {
          a[i][m] = T(h.beta);
        }
      }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) p.tau[j] = h.tau;
  }
#pragma unroll
  for (int m = 0; m < panel_share; ++m) {
#pragma unroll
    for (int i = 0; i < R; ++i) {
      const int row = first + lane + 32 * i, c = warp + panel_warps * m;
      if (row >= p.rows) continue;
      p.a[row + c * p.lda] = a[i][m];
      T unit = a[i][m];
      if (c >= steps || row < c) unit = T(0.0);
      if (c < steps && row == c) unit = T(1.0);
      p.y[row + c * p.ldy] = unit;
    }
  }
  if (blockIdx.x == 0) {
    for (int c = steps + threadIdx.x; c < panel_width; c += panel_threads) p.tau[c] = T(0.0);
  }
}

template <class T, int R>
void launch_panel(Panel<T>& panel) {
  void* arguments[] = {&panel};
  QUADRILLE_CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&factor_panel<T, R>),
                                                   dim3((panel.rows + 32 * R - 1) / (32 * R)), dim3(panel_threads),
                                                   arguments, 0, cuda::stream()));
}
/// With as few rows a block as allow all blocks to be resident together. Beyond 10 (complex: 5) the rows of a thread no
/// longer fit into its registers. More rows than require_limits() allows are an error of the caller.
template <class T>
void factor_on_device(Panel<T> panel, int processors) {
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(panel.arrived, 0, sizeof(unsigned), cuda::stream()));
  const int rows = (panel.rows + 32 * processors - 1) / (32 * processors);
  if (rows <= 2) return launch_panel<T, 2>(panel);
  if (rows <= 3) return launch_panel<T, 3>(panel);
  if (rows <= 5) return launch_panel<T, 5>(panel);
  if (rows <= 10) return launch_panel<T, 10>(panel);
  static_assert(panel_rows_of_processor == 20 * 32);
  if (rows <= 20) return launch_panel<T, 20>(panel);
  throw Error(ErrorCode::internal, "a panel has more rows than require_limits() allows");
}

}  // namespace quadrille::eigen
