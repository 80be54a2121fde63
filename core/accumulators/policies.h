// Accumulators as policies of a kernel, one for each method of Narumi et al. (table 1) and one in 64-bit fixed point.
//
// Each has
//   Real                    what its terms are computed in, float or double
//   clear(), add(y)         V sums at once; y is Vec<Real, V>
//   carry(terms)            after at most carry_interval terms
//   value(lane)             the sum in double
//   fixed                   whether it is one in fixed point; then |y| <= 2^term_exponent, and
//   quanta(lane), strayed(lane)   the sum as an integer, and whether it has left the range of the format
#pragma once

#include "core/accumulators/fixed_point.h"

namespace quadrille::accumulators::inline QUADRILLE_ISA {

/// What the policies that are not in fixed point answer.
struct FloatingSum {
  static constexpr bool fixed = false;
  QUADRILLE_INLINE void carry(int) {}
  QUADRILLE_INLINE std::int64_t quanta(int) const { return 0; }
  QUADRILLE_INLINE bool strayed(int) const { return false; }
};

/// A and G: terms and sums in T.
template <class T, int V>
struct PlainSum : FloatingSum {
  using Real = T;
  simd::Vec<T, V> total;
  QUADRILLE_INLINE void clear() { total = decltype(total){}; }
  QUADRILLE_INLINE void add(simd::Vec<T, V> y) { total = rounded::sum(total, y); }
  QUADRILLE_INLINE double value(int lane) const { return double(simd::lane_of<T, V>(total, lane)); }
};

/// B: floats summed in double.
template <int V>
struct WideSum : FloatingSum {
  using Real = float;
  using Wide = simd::Widened<double, float, V>;
  Wide total;
  QUADRILLE_INLINE void clear() { total = decltype(total){}; }
  QUADRILLE_INLINE void add(simd::Vec<float, V> y) {
    const Wide wide = simd::widened<double, float, V>(y);
    QUADRILLE_UNROLL
    for (int k = 0; k < Wide::parts; ++k) total.part[k] = rounded::sum(total.part[k], wide.part[k]);
  }
  QUADRILLE_INLINE double value(int lane) const {
    constexpr int width = V / Wide::parts;
    return simd::lane_of<double, width>(total.part[lane / width], lane % width);
  }
};

/// C: Takahashi and Iitaka's trick.
template <int V>
struct NormalizedPairSum : FloatingSum {
  using Real = float;
  FloatPair<V> total;
  QUADRILLE_INLINE void clear() { total = decltype(total){}; }
  QUADRILLE_INLINE void add(simd::Vec<float, V> y) { total = normalized_sum<V>(total, y); }
  QUADRILLE_INLINE double value(int lane) const {
    return double(simd::lane_of<float, V>(total.high, lane)) + double(simd::lane_of<float, V>(total.low, lane));
  }
};

/// D: Nitadori's trick; E, modified: the high part begins at 1.5 x 2^48, far above every term (the caller scales them
/// as for F, |y| <= 2^40).
template <int V, bool modified>
struct GatheredPairSum : FloatingSum {
  using Real = float;
  static constexpr float start = modified ? 0x1.8p48f : 0.0f;
  FloatPair<V> total;
  QUADRILLE_INLINE void clear() { total = {simd::broadcast<float, V>(start), simd::broadcast<float, V>(0)}; }
  QUADRILLE_INLINE void add(simd::Vec<float, V> y) { total = gathered_sum<V>(total, y); }
  QUADRILLE_INLINE double value(int lane) const {
    return double(simd::lane_of<float, V>(total.high, lane) - start) + double(simd::lane_of<float, V>(total.low, lane));
  }
};

/// F: Narumi's trick.
template <int V, Conversion conversion>
struct NarumiSum : NarumiPair<V, conversion> {
  using Real = float;
  static constexpr bool fixed = true;
  QUADRILLE_INLINE double value(int lane) const { return double(this->quanta(lane)); }
  QUADRILLE_INLINE bool strayed(int lane) const {
    return simd::lane_of<std::int32_t, V>(NarumiPair<V, conversion>::strayed, lane) != 0;
  }
};

/// 64-bit fixed point.
template <int V>
struct LongFixedSum : LongFixedPoint<V> {
  using Real = float;
  static constexpr bool fixed = true;
  QUADRILLE_INLINE std::int64_t quanta(int lane) const { return this->total[lane]; }
  QUADRILLE_INLINE double value(int lane) const { return double(this->total[lane]); }
  QUADRILLE_INLINE bool strayed(int lane) const { return this->beyond[lane] != 0; }
};

}  // namespace quadrille::accumulators::inline QUADRILLE_ISA
