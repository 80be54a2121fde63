// core/simd/simd.h for code that works on one site at a time: a vector of one lane is a number, and its mask a bool.
#pragma once

#ifndef QUADRILLE_SCALAR_LANES
#define QUADRILLE_SCALAR_LANES
#endif

#include "core/host_device.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

#define QUADRILLE_INLINE QUADRILLE_HOST_DEVICE

namespace quadrille::simd::inline QUADRILLE_ISA {

template <class T, int V>
using Vec = T;
template <class T, int V>
using Mask = bool;
template <class T>
using IntOf = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

template <class T, int V>
QUADRILLE_INLINE T broadcast(T a) {
  return a;
}

template <class A, class T, int V>
struct Widened {
  static constexpr int parts = 1;
  A part[1];
};

template <class A, class T, int V>
QUADRILLE_INLINE Widened<A, T, V> widened(T v) {
  return {{A(v)}};
}

// In float on a device, roots and reciprocals come from the special-function unit with one step of Newton's iteration:
// about a unit of the last place, without the branches that the language's own take for numbers that do not occur here
// (subnormal ones, infinite ones).

/// v >= 0.
template <class T, int V>
QUADRILLE_INLINE T sqrt(T v) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 4) {
    const float inverse = rsqrtf(v), root = v * inverse;
    return v > 0.0f ? fmaf(fmaf(-root, root, v), 0.5f * inverse, root) : v;
  }
#endif
  return T(::sqrt(v));
}

template <class T, int V>
QUADRILLE_INLINE T sqrt_positive(T v) {
  return sqrt<T, V>(v > T(0) ? v : T(0));
}

template <class T, int V>
QUADRILLE_INLINE T reciprocal(T v) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 4) {
    const float inverse = __fdividef(1.0f, v);
    return fmaf(fmaf(-v, inverse, 1.0f), inverse, inverse);
  }
#endif
  return T(1) / v;
}

template <class T, int V>
QUADRILLE_INLINE T quotient(T a, T b) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 4) return a * reciprocal<T, V>(b);
#endif
  return a / b;
}

/// Of v in (0, 1]; in float on a device within 4e-7 or 3 units of the last place.
template <class T, int V>
QUADRILLE_INLINE T log(T v) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 4) return __logf(v);
#endif
  return T(::log(v));
}

template <class T, int V>
QUADRILLE_INLINE T add_products(T sum, T a, T b, T c, T d) {
  return sum + a * b + c * d;
}
template <class T, int V>
QUADRILLE_INLINE T add_difference(T sum, T a, T b, T c, T d) {
  return sum + a * b - c * d;
}

template <class T, int V>
QUADRILLE_INLINE bool any(bool mask) {
  return mask;
}

template <class T, int V>
QUADRILLE_INLINE bool mask(bool set) {
  return set;
}

template <class T, int V>
QUADRILLE_INLINE void count(IntOf<T>& counts, bool mask) {
  counts += mask ? 1 : 0;
}

template <class T, int V>
QUADRILLE_INLINE T lane_of(T v, int) {
  return v;
}
template <class T, int V>
QUADRILLE_INLINE void set_lane(T& v, int, T value) {
  v = value;
}
template <class T, int V>
QUADRILLE_INLINE bool is_set(bool mask, int) {
  return mask;
}
template <class T, int V>
QUADRILLE_INLINE void set_mask(bool& mask, int, bool value) {
  mask = value;
}

/// Words of 32 bits at most.
template <int V>
QUADRILLE_INLINE double to_double(std::uint64_t n) {
  return double(std::uint32_t(n));
}
template <int V>
QUADRILLE_INLINE float to_float(std::int32_t n) {
  return float(n);
}

template <int V>
QUADRILLE_INLINE std::uint32_t low_words(const std::uint64_t* word) {
  return std::uint32_t(*word);
}

QUADRILLE_INLINE double expm1_of(double x) { return ::expm1(x); }
QUADRILLE_INLINE double log1p_of(double x) { return ::log1p(x); }
QUADRILLE_INLINE float expm1_of(float x) { return ::expm1f(x); }
QUADRILLE_INLINE float log1p_of(float x) { return ::log1pf(x); }

template <class T, int V>
QUADRILLE_INLINE void sincospi(T u, T& sine, T& cosine) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 4) {
    ::sincospif(u, &sine, &cosine);
  } else {
    ::sincospi(u, &sine, &cosine);
  }
#else
  sine = T(std::sin(3.14159265358979323846 * double(u)));
  cosine = T(std::cos(3.14159265358979323846 * double(u)));
#endif
}

}  // namespace quadrille::simd::inline QUADRILLE_ISA
