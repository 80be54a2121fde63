// core/simd.h for code that works on one site at a time: a vector of one lane is a number, and its mask a bool.
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
template <int V>
using Mask = bool;

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

template <class T, int V>
QUADRILLE_INLINE T sqrt(T v) {
  return ::sqrt(v);
}

template <class T, int V>
QUADRILLE_INLINE T sqrt_positive(T v) {
  return ::sqrt(v > T(0) ? v : T(0));
}

template <int V>
QUADRILLE_INLINE double log(double v) {
  return ::log(v);
}

template <int V>
QUADRILLE_INLINE bool any(bool mask) {
  return mask;
}

template <int V>
QUADRILLE_INLINE bool mask(bool set) {
  return set;
}

template <int V>
QUADRILLE_INLINE void count(std::int64_t& counts, bool mask) {
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
template <int V>
QUADRILLE_INLINE bool is_set(bool mask, int) {
  return mask;
}
template <int V>
QUADRILLE_INLINE void set_lane(bool& mask, int, bool value) {
  mask = value;
}

/// Words of 32 bits at most.
template <int V>
QUADRILLE_INLINE double to_double(std::uint64_t n) {
  return double(std::uint32_t(n));
}

QUADRILLE_INLINE double expm1_of(double x) { return ::expm1(x); }
QUADRILLE_INLINE double log1p_of(double x) { return ::log1p(x); }

template <class T, int V>
QUADRILLE_INLINE void sincospi(T u, T& sine, T& cosine) {
#ifdef __CUDA_ARCH__
  ::sincospi(u, &sine, &cosine);
#else
  sine = T(std::sin(3.14159265358979323846 * double(u)));
  cosine = T(std::cos(3.14159265358979323846 * double(u)));
#endif
}

}  // namespace quadrille::simd::inline QUADRILLE_ISA
