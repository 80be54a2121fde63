// Columns of E in the registers of a warp, on their way past the diamonds of a group (apply_q2.cu): 128 rows of 16 real
// columns, of 8 complex ones, or of 8 real ones. 64 rows leave and 64 enter for each diamond.
//
// E^T is the left factor and the result of mma.m16n8k4 (8 real columns: m8n8k4), whose terms may come in any order: a
// thread's part of a result is its part of the next left factor.
#pragma once

#include "modules/eigen/cuda/bulge/diamonds.cuh"
#include "modules/eigen/cuda/bulge/ring.cuh"

#include <type_traits>

namespace quadrille::eigen {

/// Of E that a warp has in G groups of 8: 8 or 16 real ones, or real and imaginary parts of 8 (G = 2).
template <class T, int G>
constexpr int tile_columns = 8 * G * sizeof(double) / sizeof(T);

/// C += A B of 8 G x 4 and 4 x 8 numbers; a: of the rows g and g + 8. (The form with 16 terms wants its operands in
/// more consecutive registers than moves are worth here.)
__device__ inline void mma(double (&c)[2], double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a), "d"(b));
}
__device__ inline void mma(double (&c)[4], double2 a, double b) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a.x), "d"(a.y), "d"(b));
#else
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a.x), "d"(b));
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[2]), "+d"(c[3])
      : "d"(a.y), "d"(b));
#endif
}

/// 8 G columns of E: thread (g, q) has numbers of column g and, for G = 2, of g + 8, of a complex number the real and
/// the imaginary part. Of 16 rows these are rows 4 q .. 4 q + 3; tile 0 has the even ones, tile 1 the odd ones, which
/// are the pairs 0 and 1. Results of mma() are [pair of g, pair of g + 8].
template <int G>
using Tile = double[2 * G];
/// The thread's numbers of one row.
template <int G>
using Across = std::conditional_t<G == 1, double, double2>;
__device__ inline double left_factor(const double (&tile)[2], int pair) { return tile[pair]; }
__device__ inline double2 left_factor(const double (&tile)[4], int pair) { return {tile[pair], tile[2 + pair]}; }
__device__ inline void set_pair(double (&tile)[2], int pair, double a) { tile[pair] = a; }
__device__ inline void set_pair(double (&tile)[4], int pair, double2 a) {
  tile[pair] = a.x;
  tile[2 + pair] = a.y;
}
__device__ inline double minus(double a) { return -a; }
__device__ inline double2 minus(double2 a) { return {-a.x, -a.y}; }
/// `a` times 1 for part 0, times `by` i for part 1, of a complex number.
template <int by, int part>
__device__ inline double2 turned(double2 a) {
  return part == 0 ? a : double2{-by * a.y, by * a.x};
}
template <int by, int part>
__device__ inline double turned(double a) {
  static_assert(part == 0, "complex numbers have two groups");
  return a;
}
/// visit(part) for the parts of a number, as constants.
template <int parts, class Visit>
__device__ inline void for_parts(Visit&& visit) {
  visit(std::integral_constant<int, 0>());
  if constexpr (parts == 2) visit(std::integral_constant<int, 1>());
}

/// 64 rows.
template <int G>
struct Rows {
  Tile<G> at[4][2];  ///< [16 rows][tile]
};

/// Rows on their way from and to memory: columns g and g + 8 side by side, rows in the order in which the threads of a
/// warp that take them meet no conflicts of banks.
template <int G>
struct Staged {
  static constexpr int ld = 68 * G;
  double at[8 * ld];

  static __device__ int place(int row) { return G * (row / 16 * 16 + row % 4 * 4 + row % 16 / 4); }
  static constexpr __device__ int column(int c) { return c % 8 * ld + c / 8; }
};

/// The thread's lane, so that places which follow from it are computed where they are needed: kept for the whole loop
/// they would take registers that E needs.
__device__ inline int lane_now() {
  int lane = int(threadIdx.x % 32);
  asm volatile("" : "+r"(lane));
  return lane;
}

/// A warp's columns.
template <class T>
struct Strip {
  T* e;  ///< its first column
  long lde;
  int n, columns;  ///< from `e` on there are `columns`, 1 at least
};

/// 64 rows into `staged`, zeros below E, anything beyond its last column; not waited for.
template <int G, class T>
__device__ inline void fetch_rows(Staged<G>& staged, const Strip<T>& strip, long row) {
  const int lane = lane_now();
  const T* from = strip.e + row + lane;
  double* const to = &staged.at[Staged<G>::place(lane)];
  const bool inside[2] = {row + lane < strip.n, row + lane + 32 < strip.n};
#pragma unroll 4
  for (int c = 0; c < tile_columns<T, G>; ++c) {
    copy_async(to + Staged<G>::column(c), from, inside[0]);
    copy_async(to + Staged<G>::column(c) + 32 * G, from + 32, inside[1]);
    if (c + 1 < strip.columns) from += strip.lde;
  }
}
__device__ inline void take(double& to, const double* from) { to = *from; }
__device__ inline void take(Complex& to, const double* from) { to = *reinterpret_cast<const Complex*>(from); }
template <int G, class T>
__device__ inline void write_rows(const Staged<G>& staged, const Strip<T>& strip, long row) {
  const int lane = lane_now();
  T* to = strip.e + row + lane;
  const double* const from = &staged.at[Staged<G>::place(lane)];
  const bool inside[2] = {row + lane < strip.n, row + lane + 32 < strip.n};
#pragma unroll 4
  for (int c = 0; c < tile_columns<T, G>; ++c, to += strip.lde) {
    if (c >= strip.columns) break;
    if (inside[0]) take(to[0], from + Staged<G>::column(c));
    if (inside[1]) take(to[32], from + Staged<G>::column(c) + 32 * G);
  }
}
/// 128 rows.
template <int G>
struct Window {
  Rows<G> low, high;
};
/// in: `rows` are taken from `staged`; out: the other way; slide: `staged` takes `rows`, which take `next`, which take
/// what `staged` had.
enum class Move { in, out, slide };
template <Move move, int G>
__device__ inline void move_rows(Rows<G>& rows, Rows<G>& next, Staged<G>& staged) {
  const int lane = lane_now(), g = lane / 4, q = lane % 4;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {  // row 4 q + j
      auto& there = *reinterpret_cast<Across<G>*>(&staged.at[g * Staged<G>::ld + G * (16 * k + 4 * j + q)]);
      Tile<G>&tile = rows.at[k][j % 2], &next_tile = next.at[k][j % 2];
      const int pair = j / 2;
      Across<G> in;
      if constexpr (move != Move::out) in = there;
      if constexpr (move != Move::in) there = left_factor(tile, pair);
      if constexpr (move == Move::in) set_pair(tile, pair, in);
      if constexpr (move == Move::slide) {
        set_pair(tile, pair, left_factor(next_tile, pair));
        set_pair(next_tile, pair, in);
      }
    }
  }
}

/// E -= V T V^H E on 96 rows: those of `rows`, of 16 each. A product has several results in turns, so that it need not
/// wait for the one before.
template <int G, class T>
__device__ inline void apply_half(Tile<G>* const (&rows)[6], const HalfDiamond<T>& d) {
  constexpr int parts = HalfDiamond<T>::parts, ldv = HalfDiamond<T>::ldv, ldt = HalfDiamond<T>::ldt;
  const int lane = lane_now(), g = lane / 4, q = lane % 4;
  Tile<G> x[4] = {};  // (V^H E)^T: [8 sweeps]
#pragma unroll
  for (int r = 0; r < 6; ++r) {
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      for_parts<parts>([&](auto part) {
        double2 v[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {  // sweeps 8 i + g
          if (r < i / 2 || r > i / 2 + 4) continue;
          v[i] = *reinterpret_cast<const double2*>(&d.v[part][(8 * i + g) * ldv + 16 * (r - i / 2) + 4 * q + 2 * pair]);
        }
#pragma unroll
        for (int tile = 0; tile < 2; ++tile) {
          const Across<G> left = turned<-1, part>(left_factor(rows[r][tile], pair));
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            if (r >= i / 2 && r <= i / 2 + 4) mma(x[i], left, tile == 0 ? v[i].x : v[i].y);
          }
        }
      });
    }
  }
  Tile<G> y[4] = {};  // (T V^H E)^T, T upper triangular
#pragma unroll
  for (int k = 0; k < 4; ++k) {  // sweeps 8 k + 2 q, + 1
    const int some = k < 2 ? 2 : 4;
    for_parts<parts>([&](auto part) {
      double2 t[4];
#pragma unroll
      for (int i = 0; i < some; ++i) {
        t[i] = *reinterpret_cast<const double2*>(&d.t[part][(8 * i + g) * ldt + 8 * k + 2 * q]);
      }
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const Across<G> left = turned<1, part>(left_factor(x[k], pair));
#pragma unroll
        for (int i = 0; i < some; ++i) mma(y[i], left, pair == 0 ? t[i].x : t[i].y);
      }
    });
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {  // sweep 8 k + 2 q + pair
      for_parts<parts>([&](auto part) {
        double2 v[5];
#pragma unroll
        for (int r = 0; r < 5; ++r) {
          v[r] = *reinterpret_cast<const double2*>(&d.v[part][(8 * k + 2 * q + pair) * ldv + 16 * r + 2 * g]);
        }
        const Across<G> left = turned<1, part>(minus(left_factor(y[k], pair)));
#pragma unroll
        for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
          for (int r = 0; r < 5; ++r) mma(rows[r + k / 2][tile], left, tile == 0 ? v[r].x : v[r].y);
        }
      });
    }
  }
}

/// The first 128 rows of a group.
template <int G, class T>
__device__ inline void first_rows(Window<G>& window, Staged<G>& staged, const Strip<T>& strip, long row) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Rows<G>& rows = half == 0 ? window.low : window.high;
    fetch_rows(staged, strip, row + half * bandwidth);
    asm volatile("cp.async.wait_all;");
    __syncwarp();
    move_rows<Move::in>(rows, rows, staged);
    __syncwarp();
  }
}
/// The low rows leave, and those that have been fetched enter; without `more` of these the high ones leave, too.
template <int G, class T>
__device__ inline void slide(Window<G>& window, bool more, Staged<G>& staged, const Strip<T>& strip, long row) {
  asm volatile("cp.async.wait_all;");
  __syncwarp();
  move_rows<Move::slide>(window.low, window.high, staged);
  __syncwarp();
  write_rows(staged, strip, row);
  __syncwarp();
  if (more) return;
  move_rows<Move::out>(window.low, window.low, staged);
  __syncwarp();
  write_rows(staged, strip, row + bandwidth);
  __syncwarp();
}

}  // namespace quadrille::eigen
