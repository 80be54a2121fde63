// Arithmetic whose roundings are those that are written: what float pairs and fixed-point sums live by.
//
// A compiler may turn a * b + c into one instruction with one rounding. Here it must not: on a device every operation
// names its rounding, on the host the files that include this header are compiled with -ffp-contract=off, which they
// say by defining QUADRILLE_NO_CONTRACTION (CMake: quadrille_without_contraction()). What is to be fused says fused().
//
// One source for V lanes of a CPU's vectors and, with V = 1, for a thread of a device (core/simd/lanes.h).
#pragma once

#include "core/simd/lanes.h"

#if !defined(__CUDACC__) && !defined(QUADRILLE_NO_CONTRACTION)
#error "core/accumulators is for files that are compiled with -ffp-contract=off: see quadrille_without_contraction()"
#endif

#include <cstdint>

namespace quadrille::rounded::inline QUADRILLE_ISA {

template <class R>
QUADRILLE_INLINE R sum(R a, R b) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(R) == 4) return __fadd_rn(a, b);
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}

template <class R>
QUADRILLE_INLINE R difference(R a, R b) {
  return sum<R>(a, -b);
}

template <class R>
QUADRILLE_INLINE R product(R a, R b) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(R) == 4) return __fmul_rn(a, b);
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

/// a b + c, rounded once where the instruction set can (devices, AVX2, AVX-512) and twice elsewhere.
template <class T, int V>
QUADRILLE_INLINE simd::Vec<T, V> fused(simd::Vec<T, V> a, simd::Vec<T, V> b, simd::Vec<T, V> c) {
#ifdef QUADRILLE_SCALAR_LANES
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 4) return __fmaf_rn(a, b, c);
  return __fma_rn(a, b, c);
#else
  return ::fma(a, b, c);
#endif
#else
#if defined(__AVX512F__)
  if constexpr (sizeof(a) == 64 && sizeof(T) == 4) {
    return (simd::Vec<T, V>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
  }
  if constexpr (sizeof(a) == 64 && sizeof(T) == 8) {
    return (simd::Vec<T, V>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
  }
#endif
#if defined(__FMA__)
  if constexpr (sizeof(a) == 32 && sizeof(T) == 4) {
    return (simd::Vec<T, V>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  }
  if constexpr (sizeof(a) == 32 && sizeof(T) == 8) {
    return (simd::Vec<T, V>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
  }
#endif
  return a * b + c;
#endif
}

/// The bits of V floats.
template <int V>
QUADRILLE_INLINE simd::Vec<std::uint32_t, V> bits(simd::Vec<float, V> a) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(a);
#elif defined(QUADRILLE_SCALAR_LANES)
  return __builtin_bit_cast(std::uint32_t, a);
#else
  return (simd::Vec<std::uint32_t, V>)a;
#endif
}

/// The nearest integer of |a| < 2^31, halves to even, by the conversion instruction.
template <int V>
QUADRILLE_INLINE simd::Vec<std::int32_t, V> nearest_integer(simd::Vec<float, V> a) {
#if defined(__CUDA_ARCH__)
  return __float2int_rn(a);
#elif defined(QUADRILLE_SCALAR_LANES)
  return std::int32_t(::nearbyint(double(a)));
#else
#if defined(__AVX512F__)
  if constexpr (sizeof(a) == 64) return (simd::Vec<std::int32_t, V>)_mm512_cvtps_epi32((__m512)a);
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(a) == 32) return (simd::Vec<std::int32_t, V>)_mm256_cvtps_epi32((__m256)a);
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(a) == 16) return (simd::Vec<std::int32_t, V>)_mm_cvtps_epi32((__m128)a);
#endif
  simd::Vec<std::int32_t, V> result{};
  for (int i = 0; i < V; ++i) result[i] = std::int32_t(__builtin_rint(double(a[i])));
  return result;
#endif
}

/// max(|a|, b), which is NaN where a or b is; b is not negative. Floats that are not negative are in the order of their
/// bits, NaN above all.
template <int V>
QUADRILLE_INLINE simd::Vec<float, V> larger_magnitude(simd::Vec<float, V> a, simd::Vec<float, V> b) {
#if defined(__CUDA_ARCH__)
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(fabsf(a)), "f"(b));
  return larger;
#elif defined(QUADRILLE_SCALAR_LANES)
  const float magnitude = ::fabsf(a);
  return magnitude <= b || b != b ? b : magnitude;
#else
  using Int = simd::Vec<std::int32_t, V>;
  const Int magnitude = (Int)a & 0x7fffffff, other = (Int)b;
#if defined(__AVX512F__)
  if constexpr (sizeof(a) == 64) {
    return (simd::Vec<float, V>)_mm512_max_epi32((__m512i)magnitude, (__m512i)other);
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(a) == 32) {
    return (simd::Vec<float, V>)_mm256_max_epi32((__m256i)magnitude, (__m256i)other);
  }
#endif
  return (simd::Vec<float, V>)(magnitude > other ? magnitude : other);
#endif
}

/// All bits set in the lanes of a comparison that hold.
template <class T, int V>
QUADRILLE_INLINE simd::Vec<simd::IntOf<T>, V> flags(simd::Mask<T, V> mask) {
#ifdef QUADRILLE_SCALAR_LANES
  return mask ? -1 : 0;
#else
  return mask;
#endif
}

}  // namespace quadrille::rounded::inline QUADRILLE_ISA
