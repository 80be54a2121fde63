// What a warp does with a product of pieces that lie in shared memory: C in registers, tensor cores for double
// precision, or for numbers rounded to TF32 with sums in single precision.
//
// Tiles of 16 x 8 take 8 terms an instruction; a lane's elements of A and B come from neighbouring terms, the first
// ones of all lanes from one place in shared memory, the second ones from another (packed_factor.h). The last 8 rows of
// an odd number of tiles take 4 in double; TF32 has no such instruction, and their lower halves are zeros. Rows behind
// those of a piece are read from whatever lies there: they make rows of C that are not written. Inner elements behind
// those of a piece count as zero.
#pragma once

#include "modules/block_dft/matrix/cuda/launch.cuh"

#include <type_traits>

namespace quadrille::block_dft {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ __forceinline__ void multiply_16_8_8(double (&up)[2], double (&down)[2], double2 a_up, double2 a_down,
                                                double2 b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(up[0]), "+d"(up[1]), "+d"(down[0]), "+d"(down[1])
      : "d"(a_up.x), "d"(a_down.x), "d"(a_up.y), "d"(a_down.y), "d"(b.x), "d"(b.y));
}
__device__ __forceinline__ void multiply_16_8_4(double (&up)[2], double (&down)[2], double a_up, double a_down,
                                                double b) {
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(up[0]), "+d"(up[1]), "+d"(down[0]), "+d"(down[1])
      : "d"(a_up), "d"(a_down), "d"(b));
}
__device__ __forceinline__ void multiply_8_8_4(double (&c)[2], double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a), "d"(b));
}

__device__ __forceinline__ void multiply_16_8_8(float (&up)[2], float (&down)[2], float2 a_up, float2 a_down,
                                                float2 b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(up[0]), "+f"(up[1]), "+f"(down[0]), "+f"(down[1])
      : "r"(__float_as_uint(a_up.x)), "r"(__float_as_uint(a_down.x)), "r"(__float_as_uint(a_up.y)),
        "r"(__float_as_uint(a_down.y)), "r"(__float_as_uint(b.x)), "r"(__float_as_uint(b.y)));
}
__device__ __forceinline__ void multiply_16_8_4(float (&up)[2], float (&down)[2], float a_up, float a_down, float b) {
  asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(up[0]), "+f"(up[1]), "+f"(down[0]), "+f"(down[1])
      : "r"(__float_as_uint(a_up)), "r"(__float_as_uint(a_down)), "r"(__float_as_uint(b)));
}
__device__ __forceinline__ void multiply_8_8_8(float (&c)[2], float2 a, float2 b) {
  float below[2] = {0, 0};
  multiply_16_8_8(c, below, a, float2{0, 0}, b);
}
__device__ __forceinline__ void multiply_8_8_4(float (&c)[2], float a, float b) {
  float below[2] = {0, 0};
  multiply_16_8_4(c, below, a, 0, b);
}

/// Two neighbours.
template <class T>
using Two = std::conditional_t<sizeof(T) == sizeof(double), double2, float2>;

/// What a warp has of a piece of C: tile (m, n) has rows 8 m + lane / 4 and columns 8 n + 2 (lane % 4) + {0, 1}.
template <class T, int M, int N>
using Sums = T[M][N][2];

/// Where a lane's elements of the next terms are in shared memory: its first ones of A and B, its second ones (of 8
/// terms) behind them, and the elements of a tile row of 8.
template <class T>
struct Lines {
  const T *a, *b;
  int second_a, second_b, stride;
};

/// Adds 8 terms, or what load(element) gives for them. `m_tiles`, `n_tiles` count with `full` = false only.
template <class T, int M, int N, bool full, class Load>
__device__ __forceinline__ void add_eight(Sums<T, M, N>& c, const Lines<T>& at, int m_tiles, int n_tiles, Load load) {
  Two<T> b[N];
#pragma unroll
  for (int n = 0; n < N; ++n) {
    if (full || n < n_tiles) b[n] = load(at.b + n * at.stride, at.second_b);
  }
#pragma unroll
  for (int m = 0; m + 1 < M; m += 2) {
    if (!full && m >= m_tiles) continue;
    const Two<T> up = load(at.a + m * at.stride, at.second_a), down = load(at.a + (m + 1) * at.stride, at.second_a);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      if (full || n < n_tiles) multiply_16_8_8(c[m][n], c[m + 1][n], up, down, b[n]);
    }
  }
  if constexpr (M % 2 != 0) {
    if (!full && M > m_tiles) return;
    const Two<T> a = load(at.a + (M - 1) * at.stride, at.second_a);
    if constexpr (sizeof(T) == sizeof(double)) {
#pragma unroll
      for (int n = 0; n < N; ++n) {
        if (full || n < n_tiles) multiply_8_8_4(c[M - 1][n], a.x, b[n].x);
      }
#pragma unroll
      for (int n = 0; n < N; ++n) {
        if (full || n < n_tiles) multiply_8_8_4(c[M - 1][n], a.y, b[n].y);
      }
    } else {
#pragma unroll
      for (int n = 0; n < N; ++n) {
        if (full || n < n_tiles) multiply_8_8_8(c[M - 1][n], a, b[n]);
      }
    }
  }
}

/// Adds up to 4 terms.
template <class T, int M, int N, bool full, class Load>
__device__ __forceinline__ void add_four(Sums<T, M, N>& c, const Lines<T>& at, int m_tiles, int n_tiles, Load load) {
  T b[N];
#pragma unroll
  for (int n = 0; n < N; ++n) {
    if (full || n < n_tiles) b[n] = load(at.b + n * at.stride);
  }
#pragma unroll
  for (int m = 0; m + 1 < M; m += 2) {
    if (!full && m >= m_tiles) continue;
    const T up = load(at.a + m * at.stride), down = load(at.a + (m + 1) * at.stride);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      if (full || n < n_tiles) multiply_16_8_4(c[m][n], c[m + 1][n], up, down, b[n]);
    }
  }
  if constexpr (M % 2 != 0) {
    if (!full && M > m_tiles) return;
    const T a = load(at.a + (M - 1) * at.stride);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      if (full || n < n_tiles) multiply_8_8_4(c[M - 1][n], a, b[n]);
    }
  }
}

/// To 16 bytes.
template <class T>
__device__ __forceinline__ int padded_length(int k) {
  constexpr int part = 16 / int(sizeof(T));
  return (k + part - 1) & ~(part - 1);
}

/// A piece of A or B in shared memory (packed_factor.h), its rows (columns of B), and the first of a lane's.
template <class T>
struct PackedPiece {
  const T* begin;
  int lines, line;

  /// The lane's element of a group of `terms` elements of each row that begins `before` elements behind the piece.
  __device__ __forceinline__ const T* at(int before, int terms) const {
    return begin + before * lines + line * terms + lane_number() % 4;
  }
};

/// C += A B of pieces with `k` inner elements.
template <class T, int M, int N, bool full, int terms>
__device__ __forceinline__ void add_product(Sums<T, M, N>& c, const PackedPiece<T>& a, const PackedPiece<T>& b, int k,
                                            int m_tiles, int n_tiles) {
  Lines<T> at{a.at(0, 4), b.at(0, 4), 4 * a.lines, 4 * b.lines, 32};
  constexpr int part = 16 / int(sizeof(T));  // to which `k` is padded: more than 8 - part elements are 8
  int left = k;
#pragma unroll terms / 8  // more would take more registers than there are
  for (; left > 8 - part; left -= 8, at.a += 8 * a.lines, at.b += 8 * b.lines) {
    add_eight<T, M, N, full>(c, at, m_tiles, n_tiles, [](const T* p, int second) { return Two<T>{p[0], p[second]}; });
  }
  if (left <= 0) return;
  const int pair = lane_number() % 4, rest = padded_length<T>(left), each = left > 4 ? rest / 2 : rest;
  at = {a.at(k - left, each), b.at(k - left, each), each * a.lines, each * b.lines, 8 * each};
  if (left > 4) {
    add_eight<T, M, N, full>(c, at, m_tiles, n_tiles, [&](const T* p, int second) {
      return 2 * pair < left ? Two<T>{p[0], p[second]} : Two<T>{0, 0};
    });
  } else {
    add_four<T, M, N, full>(c, at, m_tiles, n_tiles, [&](const T* p) { return pair < left ? *p : T(0); });
  }
}

#endif

}  // namespace quadrille::block_dft
