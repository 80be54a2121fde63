// E <- Q2 E by ordinary arithmetic, 16 columns a block: for complex numbers, and for GPUs whose shared memory is too
// small for the kernel on tensor cores.
#pragma once

#include "modules/eigen/cuda/bulge.h"
#include "modules/eigen/cuda/warps.cuh"

namespace quadrille::eigen {

constexpr int plain_columns = 16, plain_threads = 256;
template <class T>
struct PlainTile {
  static constexpr int b = bandwidth, ldv = b + 1;
  T v[b * ldv];                                  ///< [sweep][row]
  T e[2 * b * plain_columns];                    ///< [row modulo 2 b][column]
  T x[b * plain_columns], y[b * plain_columns];  ///< [sweep][column]
};
template <class T>
__global__ void __launch_bounds__(plain_threads)
    apply_plainly(int n, const T* v, const T* t, T* e, std::int64_t lde, int count) {
  constexpr int b = bandwidth, ldv = PlainTile<T>::ldv, lines = plain_threads / plain_columns;
  extern __shared__ double2 shared_bytes[];
  auto& tile = *reinterpret_cast<PlainTile<T>*>(shared_bytes);
  const int c = threadIdx.x % plain_columns, line = threadIdx.x / plain_columns;
  const int first_column = blockIdx.x * plain_columns;
  const auto move_rows = [&](std::int64_t row, int place, bool out) {  // 64 rows from or to place .. of the window
    for (int k = threadIdx.x; k < b * plain_columns; k += plain_threads) {
      const std::int64_t r = row + k % b, column = first_column + k / b;
      T& kept = tile.e[((place + k % b) % (2 * b)) * plain_columns + k / b];
      const bool inside = r < n && column < count;
      if (out && inside) e[r + column * lde] = kept;
      if (!out) kept = inside ? e[r + column * lde] : T(0.0);
    }
  };
  for (std::int64_t group = groups_of(n) - 1; group >= 0; --group) {
    const int steps = int(steps_of_sweep(n, group * b));
    std::int64_t row = group * b + 1;
    __syncthreads();
    move_rows(row, 0, false);
    move_rows(row + b, b, false);
    for (int step = 0; step < steps; ++step, row += b) {
      const std::int64_t d = diamond_base(n, group) + step;
      const int place = step % 2 * b;
      for (int k = threadIdx.x; k < b * b; k += plain_threads) tile.v[k / b * ldv + k % b] = v[d * b * b + k];
      __syncthreads();
      const auto in_window = [&](int r) -> T& { return tile.e[((place + r) % (2 * b)) * plain_columns + c]; };
      for (int i = line; i < b; i += lines) {
        T sum(0.0);
        for (int r = 0; r < b; ++r) sum += conj(tile.v[i * ldv + r]) * in_window(i + r);
        tile.x[i * plain_columns + c] = sum;
      }
      __syncthreads();
      for (int i = line; i < b; i += lines) {
        T sum(0.0);
        for (int k = i; k < b; ++k) sum += t[(d * b + i) * b + k] * tile.x[k * plain_columns + c];
        tile.y[i * plain_columns + c] = sum;
      }
      __syncthreads();
      for (int r = line; r < 2 * b - 1; r += lines) {
        T sum(0.0);
        for (int i = max(0, r - b + 1); i <= min(r, b - 1); ++i)
          sum += tile.v[i * ldv + r - i] * tile.y[i * plain_columns + c];
        in_window(r) -= sum;
      }
      __syncthreads();
      move_rows(row, place, true);
      if (step + 1 < steps) {
        move_rows(row + 2 * b, place, false);  // a thread overwrites what it wrote itself
      } else {
        move_rows(row + b, place + b, true);
      }
    }
  }
}

}  // namespace quadrille::eigen
