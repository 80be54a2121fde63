// Sums of floats as pairs of floats: a high part and what it has rounded away.
//
// Knuth, The Art of Computer Programming 2; Dekker, Numer. Math. 18 (1971) 224; Takahashi and Iitaka; Nitadori: as in
// Narumi et al., "High-performance quasi double-precision method using single-precision hardware for molecular dynamics
// simulations with GPUs", figures 1 to 6.
#pragma once

#include "core/accumulators/rounded.h"

namespace quadrille::accumulators::inline QUADRILLE_ISA {

/// V pairs; the value is high + low.
template <int V>
struct FloatPair {
  simd::Vec<float, V> high, low;
};

/// a + b exactly where |a| >= |b| or a = 0 (three operations; Dekker).
template <int V>
QUADRILLE_INLINE FloatPair<V> ordered_sum(simd::Vec<float, V> a, simd::Vec<float, V> b) {
  const simd::Vec<float, V> high = rounded::sum(a, b);
  return {high, rounded::difference(b, rounded::difference(high, a))};
}

/// a + b exactly (six operations; Knuth).
template <int V>
QUADRILLE_INLINE FloatPair<V> exact_sum(simd::Vec<float, V> a, simd::Vec<float, V> b) {
  const simd::Vec<float, V> high = rounded::sum(a, b);
  const simd::Vec<float, V> of_b = rounded::difference(high, a);
  const simd::Vec<float, V> of_a = rounded::difference(high, of_b);
  return {high, rounded::difference(rounded::difference(b, of_b), rounded::difference(of_a, a))};
}

/// a + y with a relative error of about 2^-48 (ten operations; Takahashi and Iitaka).
template <int V>
QUADRILLE_INLINE FloatPair<V> normalized_sum(FloatPair<V> a, simd::Vec<float, V> y) {
  const FloatPair<V> z = exact_sum<V>(a.high, y);
  return ordered_sum<V>(z.high, rounded::sum(a.low, z.low));
}

/// a + y where |a.high| >= |y|; the low part may grow, and then rounds (four operations; Nitadori).
template <int V>
QUADRILLE_INLINE FloatPair<V> gathered_sum(FloatPair<V> a, simd::Vec<float, V> y) {
  const FloatPair<V> z = ordered_sum<V>(a.high, y);
  return {z.high, rounded::sum(a.low, z.low)};
}

}  // namespace quadrille::accumulators::inline QUADRILLE_ISA
