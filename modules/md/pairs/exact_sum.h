// What sums are compared with: the same single-precision terms summed exactly, and their magnitudes.
#pragma once

#include "modules/md/pairs/pair_block.h"

namespace quadrille::md::inline QUADRILLE_ISA {

/// Terms |y| <= 2^45 in 128-bit integers that count 2^-40: less than that is lost of a term.
template <int V>
struct ExactSum {
  using Real = float;
  static constexpr bool fixed = true;
  static constexpr int term_exponent = 45;
  static constexpr double unit = 0x1p40;
  __int128 total[V];

  QUADRILLE_INLINE void clear() {
    for (__int128& one : total) one = 0;
  }
  QUADRILLE_INLINE void add(simd::Vec<float, V> y) {
    QUADRILLE_ROLLED
    for (int lane = 0; lane < V; ++lane) total[lane] += __int128(double(simd::lane_of<float, V>(y, lane)) * unit);
  }
  QUADRILLE_INLINE void carry(int) {}
  QUADRILLE_INLINE double value(int lane) const { return double(total[lane]) / unit; }
  QUADRILLE_INLINE std::int64_t quanta(int lane) const { return std::int64_t(total[lane] >> 40); }
  QUADRILLE_INLINE bool strayed(int lane) const { return total[lane] >> 102 != 0 && total[lane] >> 102 != -1; }
};

/// The sum of |y| in double.
template <int V>
struct MagnitudeSum : accumulators::WideSum<V> {
  QUADRILLE_INLINE void add(simd::Vec<float, V> y) { accumulators::WideSum<V>::add(y < 0.0f ? -y : y); }
};

}  // namespace quadrille::md::inline QUADRILLE_ISA
