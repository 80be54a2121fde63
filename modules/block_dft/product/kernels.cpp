// Small products of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
//
// A tile of C, M rows and N registers wide, stays in registers while a run of products is added to it; each step of k
// takes N loads of B, M broadcasts of A and M N multiply-adds. The last register of a row may be partly filled.
#include "modules/block_dft/product/kernels.h"

#include "core/simd/simd.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace quadrille::block_dft {
inline namespace QUADRILLE_ISA {
namespace {

constexpr bool wide = QUADRILLE_ISA_BYTES == 64;
constexpr int max_registers = 3;  ///< of a row of a tile
constexpr int max_rows = 8;       ///< of a tile
/// So that a tile, a row of B and an element of A fit 32 registers (AVX-512) or 16.
constexpr int rows_of(int registers) { return wide ? 8 : registers == 1 ? 8 : registers == 2 ? 6 : 4; }

/// Loads and stores the first `count` lanes of a register, 1 <= count <= V; the others are zero, and not touched.
template <class T, int V>
class Tail {
 public:
  using Vec = simd::Vec<T, V>;
  explicit Tail(int count) : count_(count) {
#if QUADRILLE_ISA_BYTES == 64
    mask_ = std::uint16_t((1u << count) - 1);
#elif QUADRILLE_ISA_BYTES == 32
    for (int lane = 0; lane < V; ++lane) mask_[lane] = lane < count ? -1 : 0;
#endif
  }

  QUADRILLE_INLINE Vec load(const T* p) const {
#if QUADRILLE_ISA_BYTES == 64
    if constexpr (sizeof(T) == 8) return (Vec)_mm512_maskz_loadu_pd(__mmask8(mask_), p);
    if constexpr (sizeof(T) == 4) return (Vec)_mm512_maskz_loadu_ps(mask_, p);
#elif QUADRILLE_ISA_BYTES == 32
    if constexpr (sizeof(T) == 8) return (Vec)_mm256_maskload_pd(p, (__m256i)mask_);
    if constexpr (sizeof(T) == 4) return (Vec)_mm256_maskload_ps(p, (__m256i)mask_);
#else
    if (count_ == V) return load_whole(p);
    Vec v{};
    for (int lane = 0; lane < count_; ++lane) v[lane] = p[lane];
    return v;
#endif
  }

  QUADRILLE_INLINE void store(T* p, Vec v) const {
#if QUADRILLE_ISA_BYTES == 64
    if constexpr (sizeof(T) == 8) _mm512_mask_storeu_pd(p, __mmask8(mask_), (__m512d)v);
    if constexpr (sizeof(T) == 4) _mm512_mask_storeu_ps(p, mask_, (__m512)v);
#elif QUADRILLE_ISA_BYTES == 32
    if constexpr (sizeof(T) == 8) _mm256_maskstore_pd(p, (__m256i)mask_, (__m256d)v);
    if constexpr (sizeof(T) == 4) _mm256_maskstore_ps(p, (__m256i)mask_, (__m256)v);
#else
    if (count_ == V) return store_whole(p, v);
    for (int lane = 0; lane < count_; ++lane) p[lane] = v[lane];
#endif
  }

  // Blocks begin where the block before ends: no address is aligned to more than a number.
  static QUADRILLE_INLINE Vec load_whole(const T* p) {
    Vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static QUADRILLE_INLINE void store_whole(T* p, Vec v) { std::memcpy(p, &v, sizeof v); }

 private:
  [[maybe_unused]] int count_;
#if QUADRILLE_ISA_BYTES == 64
  __mmask16 mask_;
#elif QUADRILLE_ISA_BYTES == 32
  simd::Mask<T, V> mask_;
#endif
};

/// Subtracting 0 is nothing to the compiler, while adding it would make a 0 of a -0, and keeps the broadcast from being
/// a load: on the ports of the multiply-adds it would cost a third of the time.
template <class T, int V>
QUADRILLE_INLINE simd::Vec<T, V> splat(T a) {
  return a - simd::Vec<T, V>{};
}

template <class T>
constexpr int lanes = QUADRILLE_ISA_BYTES / int(sizeof(T));

/// Rows [row, row + M) of C and B's columns from `column` on; `c` is C's first element of them.
template <class T, int M, int N>
void multiply_tile(const Factors<T>* factors, std::int64_t count, std::int32_t row, std::int32_t column, std::int32_t n,
                   int last, T* c) {
  constexpr int V = lanes<T>;
  using Vec = simd::Vec<T, V>;
  using Edge = Tail<T, V>;
  const Edge tail(last);
  Vec sums[M][N];
#pragma GCC unroll 8
  for (int p = 0; p < M; ++p) {
#pragma GCC unroll 3
    for (int r = 0; r < N - 1; ++r) sums[p][r] = Edge::load_whole(c + std::int64_t(p) * n + r * V);
    sums[p][N - 1] = tail.load(c + std::int64_t(p) * n + (N - 1) * V);
  }
  for (std::int64_t f = 0; f < count; ++f) {
    const std::int64_t k = factors[f].k;
    const T* a = factors[f].a + row * k;
    const T* b = factors[f].b + column;
    // All tiles together ask for all of the next product: a line of 64 bytes holds a row of a tile.
    const T* next_a = factors[f + 1].a + row * k;
    const T* next_b = factors[f + 1].b + row * k;
    for (const T* const end = a + k; a != end; b += n, ++a, next_a += M, next_b += M) {
      __builtin_prefetch(next_a);
      __builtin_prefetch(next_b);
      Vec right[N];
#pragma GCC unroll 3
      for (int r = 0; r < N - 1; ++r) right[r] = Edge::load_whole(b + r * V);
      right[N - 1] = tail.load(b + (N - 1) * V);
#pragma GCC unroll 8
      for (int p = 0; p < M; ++p) {
        const Vec left = splat<T, V>(a[p * k]);
#pragma GCC unroll 3
        for (int r = 0; r < N; ++r) sums[p][r] += left * right[r];
      }
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < M; ++p) {
#pragma GCC unroll 3
    for (int r = 0; r < N - 1; ++r) Edge::store_whole(c + std::int64_t(p) * n + r * V, sums[p][r]);
    tail.store(c + std::int64_t(p) * n + (N - 1) * V, sums[p][N - 1]);
  }
}

template <class T>
using TileKernel = void (*)(const Factors<T>*, std::int64_t, std::int32_t, std::int32_t, std::int32_t, int, T*);

template <class T, int N, int... rows>
constexpr std::array<TileKernel<T>, max_rows> tiles_of(std::integer_sequence<int, rows...>) {
  return {multiply_tile<T, rows + 1, N>...};
}

template <class T>
constexpr std::array<TileKernel<T>, max_rows> tile_table[max_registers] = {
    tiles_of<T, 1>(std::make_integer_sequence<int, rows_of(1)>()),
    tiles_of<T, 2>(std::make_integer_sequence<int, rows_of(2)>()),
    tiles_of<T, 3>(std::make_integer_sequence<int, rows_of(3)>())};

/// One panel of columns of a part of a run: rows in tiles of nearly the same height.
template <class T>
void multiply_panel(const Factors<T>* factors, std::int64_t count, std::int32_t m, std::int32_t n, std::int32_t column,
                    int registers, int last, T* c) {
  const int tallest = rows_of(registers), tiles = (m + tallest - 1) / tallest;
  for (int tile = 0; tile < tiles; ++tile) {
    const std::int32_t row = std::int32_t(std::int64_t(m) * tile / tiles);
    const std::int32_t end = std::int32_t(std::int64_t(m) * (tile + 1) / tiles);
    tile_table<T>[registers - 1][std::size_t(end - row - 1)](factors, count, row, column, n, last,
                                                             c + std::int64_t(row) * n + column);
  }
}

/// A part of a run is as long as its blocks of B stay in the first-level cache while the tiles of C pass over them.
template <class T>
void multiply_run(const Factors<T>* factors, std::int64_t count, std::int32_t m, std::int32_t n, T* c) {
  constexpr int V = lanes<T>;
  constexpr std::int64_t part_bytes = 24 << 10;
  const int registers = (n + V - 1) / V, panels = (registers + max_registers - 1) / max_registers;
  for (std::int64_t begin = 0; begin < count;) {
    std::int64_t end = begin, bytes = 0;
    do {
      bytes += std::int64_t(sizeof(T)) * factors[end++].k * (m + n);
    } while (end < count && bytes < part_bytes);
    for (int panel = 0; panel < panels; ++panel) {
      const int first = registers * panel / panels, past = registers * (panel + 1) / panels;
      const int last = past == registers ? n - (registers - 1) * V : V;
      multiply_panel(factors + begin, end - begin, m, n, first * V, past - first, last, c);
    }
    begin = end;
  }
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

template <class T>
RunKernel<T> QUADRILLE_JOIN(find_run_kernel_, QUADRILLE_ISA)() {
  return multiply_run<T>;
}
template RunKernel<double> QUADRILLE_JOIN(find_run_kernel_, QUADRILLE_ISA)<double>();
template RunKernel<float> QUADRILLE_JOIN(find_run_kernel_, QUADRILLE_ISA)<float>();

}  // namespace quadrille::block_dft
