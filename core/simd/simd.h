// Vectors of V lanes by the compiler's vector extensions: one source, compiled for each instruction set.
//
// Everything here lives in an inline namespace named after the instruction set that the including file is compiled for
// (QUADRILLE_ISA), so that the linker never merges code of two of them. Only files compiled once per instruction set
// may include this header.
#pragma once

#ifndef QUADRILLE_ISA
#error "core/simd/simd.h is for files that are compiled once per instruction set: set QUADRILLE_ISA"
#endif

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <type_traits>

#define QUADRILLE_INLINE inline __attribute__((always_inline))

namespace quadrille::simd::inline QUADRILLE_ISA {

template <class T, int V>
struct VectorOf {
  typedef T type __attribute__((vector_size(sizeof(T) * V), may_alias));
};
template <class T, int V>
using Vec = typename VectorOf<T, V>::type;

/// Storage formats: the number stored and the type computed in.
struct DoubleStorage {
  using Number = double;
  using Real = double;
};
struct SingleStorage {
  using Number = float;
  using Real = float;
};
struct HalfStorage {
  using Number = std::int16_t;
  using Real = float;
};

template <class T>
using IntOf = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
/// What comparisons of V numbers of type T give: all bits of a lane, or none.
template <class T, int V>
using Mask = Vec<IntOf<T>, V>;

template <class T, int V>
QUADRILLE_INLINE Vec<T, V> broadcast(T a) {
  return Vec<T, V>{} + a;
}

// Conversions between vectors of different size: g++ 12 splits them into pieces of 128 bits, so the instructions that
// do them whole are named.

template <int V>
QUADRILLE_INLINE Vec<std::int32_t, V> widen(Vec<std::int16_t, V> q) {
#if defined(__AVX512F__)
  if constexpr (V == 16) return (Vec<std::int32_t, V>)_mm512_cvtepi16_epi32((__m256i)q);
#endif
#if defined(__AVX2__)
  if constexpr (V == 8) return (Vec<std::int32_t, V>)_mm256_cvtepi16_epi32((__m128i)q);
#endif
  return __builtin_convertvector(q, Vec<std::int32_t, V>);
}

/// The numbers must fit 16 bits.
template <int V>
QUADRILLE_INLINE Vec<std::int16_t, V> narrow(Vec<std::int32_t, V> q) {
#if defined(__AVX512F__)
  if constexpr (V == 16) return (Vec<std::int16_t, V>)_mm512_cvtepi32_epi16((__m512i)q);
#endif
#if defined(__AVX2__)
  if constexpr (V == 8) {
    const __m256i packed = _mm256_packs_epi32((__m256i)q, (__m256i)q);  // within each half of the register
    return (Vec<std::int16_t, V>)_mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
  }
#endif
  return __builtin_convertvector(q, Vec<std::int16_t, V>);
}

template <int V>
QUADRILLE_INLINE Vec<float, V> to_float(Vec<std::int32_t, V> q) {
  return __builtin_convertvector(q, Vec<float, V>);
}

/// V numbers of type A made from V of type T, in as many registers as they take: g++ 12 moves a vector that is wider
/// than a register through memory.
template <class A, class T, int V>
struct Widened {
  static constexpr int parts = V > 1 ? int(sizeof(A) / sizeof(T)) : 1;
  static constexpr int width = V / parts;
  Vec<A, width> part[parts];
};

template <class A, class T, int V>
QUADRILLE_INLINE Widened<A, T, V> widened(Vec<T, V> v) {
  if constexpr (std::is_same_v<A, T>) return {{v}};
#if defined(__AVX512F__)
  if constexpr (sizeof(v) == 64 && sizeof(A) == 2 * sizeof(T)) {
    return {{(Vec<A, 8>)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v)),
             (Vec<A, 8>)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1))}};
  }
#endif
#if defined(__AVX__)
  if constexpr (sizeof(v) == 32 && sizeof(A) == 2 * sizeof(T)) {
    return {{(Vec<A, 4>)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v)),
             (Vec<A, 4>)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1))}};
  }
#endif
  Widened<A, T, V> result;
  for (int i = 0; i < V; ++i) result.part[i / result.width][i % result.width] = A(v[i]);
  return result;
}

/// The V numbers at `p`, as values of the compute type: as they are, or the quanta of half precision as whole numbers.
template <class S, int V>
QUADRILLE_INLINE Vec<typename S::Real, V> load(const typename S::Number* p) {
  using Number = typename S::Number;
  const auto raw = *reinterpret_cast<const Vec<Number, V>*>(p);
  if constexpr (std::is_same_v<Number, typename S::Real>) {
    return raw;
  } else {
    return to_float<V>(widen<V>(raw));
  }
}

/// The V quanta at `p` as integers: sums of a few need no conversion of each.
template <int V>
QUADRILLE_INLINE Vec<std::int32_t, V> load_quanta(const std::int16_t* p) {
  return widen<V>(*reinterpret_cast<const Vec<std::int16_t, V>*>(p));
}

template <class T, int V>
QUADRILLE_INLINE void store(T* p, Vec<T, V> v) {
  *reinterpret_cast<Vec<T, V>*>(p) = v;
}

/// Stores past the caches when `stream` is set and the instruction set can; stream_fence() ends a run of such stores.
template <bool stream, class T, int V>
QUADRILLE_INLINE void store(T* p, Vec<T, V> v) {
  if constexpr (stream) {
#if defined(__AVX512F__)
    if constexpr (sizeof(v) == 64) return _mm512_stream_si512((__m512i*)p, (__m512i)v);
#endif
#if defined(__AVX__)
    if constexpr (sizeof(v) == 32) return _mm256_stream_si256((__m256i*)p, (__m256i)v);
#endif
#if defined(__SSE2__)
    if constexpr (sizeof(v) == 16) return _mm_stream_si128((__m128i*)p, (__m128i)v);
#endif
  }
  store<T, V>(p, v);
}

/// Asks for `count` numbers from p on, whole cache lines, to be brought into the first-level cache.
template <int count, class T>
QUADRILLE_INLINE void prefetch(const T* p) {
  for (int line = 0; line < int(count * sizeof(T) + 63) / 64; ++line) {
    __builtin_prefetch(reinterpret_cast<const char*>(p) + 64 * line);
  }
}

/// Makes streamed stores visible to other threads in the order in which ordinary stores follow.
QUADRILLE_INLINE void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

/// Lane l of the result is lane mask[l] of v.
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> permute(Vec<T, V> v, Vec<IntOf<T>, V> mask) {
  return __builtin_shuffle(v, mask);
}

template <class T, int V>
QUADRILLE_INLINE Vec<T, V> sqrt(Vec<T, V> v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(v) == 64 && sizeof(T) == 4) return (Vec<T, V>)_mm512_sqrt_ps((__m512)v);
  if constexpr (sizeof(v) == 64 && sizeof(T) == 8) return (Vec<T, V>)_mm512_sqrt_pd((__m512d)v);
#endif
#if defined(__AVX__)
  if constexpr (sizeof(v) == 32 && sizeof(T) == 4) return (Vec<T, V>)_mm256_sqrt_ps((__m256)v);
  if constexpr (sizeof(v) == 32 && sizeof(T) == 8) return (Vec<T, V>)_mm256_sqrt_pd((__m256d)v);
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(v) == 16 && sizeof(T) == 4) return (Vec<T, V>)_mm_sqrt_ps((__m128)v);
  if constexpr (sizeof(v) == 16 && sizeof(T) == 8) return (Vec<T, V>)_mm_sqrt_pd((__m128d)v);
#endif
  for (int i = 0; i < V; ++i) v[i] = sizeof(T) == 4 ? T(__builtin_sqrtf(float(v[i]))) : T(__builtin_sqrt(double(v[i])));
  return v;
}

/// The square root of max(v, 0).
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> sqrt_positive(Vec<T, V> v) {
  return sqrt<T, V>(v > T(0) ? v : Vec<T, V>{});
}

/// 1 / max(v, least).
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> inverse_above(Vec<T, V> v, T least) {
  return T(1) / (v > least ? v : broadcast<T, V>(least));
}

/// Rounds |v| < 2^22 (float) or 2^51 (double) to the nearest whole number, halves to even.
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> round(Vec<T, V> v) {
  const T magic = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52);
  Vec<T, V> shifted = v + magic;
  return shifted - magic;
}

/// log of normal numbers v > 0: v = 2^e m with m in [sqrt(1/2), sqrt(2)), and log m = 2 artanh((m - 1)/(m + 1)) by its
/// series (remainder below 1e-18 in double, 1e-9 in float). Accurate to a few units of the last place, also near v = 1.
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> log(Vec<T, V> v) {
  using Bits = Vec<IntOf<T>, V>;
  if constexpr (sizeof(T) == 8) {
    // Adding the distance from sqrt(1/2) to 1 carries into the exponent exactly where the mantissa exceeds sqrt(2).
    const Bits shifted = (Bits)v + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
    const Bits exponent = (Bits)((Vec<std::uint64_t, V>)shifted >> 52);
    const Vec<T, V> m = (Vec<T, V>)((shifted & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
    const Vec<T, V> e = (Vec<T, V>)(exponent | 0x4330000000000000) - (0x1p52 + 1023);
    const Vec<T, V> s = (m - 1.0) / (m + 1.0), z = s * s;
    Vec<T, V> sum = z * (2.0 / 21) + 2.0 / 19;
    sum = sum * z + 2.0 / 17;
    sum = sum * z + 2.0 / 15;
    sum = sum * z + 2.0 / 13;
    sum = sum * z + 2.0 / 11;
    sum = sum * z + 2.0 / 9;
    sum = sum * z + 2.0 / 7;
    sum = sum * z + 2.0 / 5;
    sum = sum * z + 2.0 / 3;
    sum = sum * z * s + 2.0 * s;
    // log 2 in two parts, the first with zeros at its end, so that e times it is exact.
    return e * 0x1.62e42fefa3800p-1 + (e * 0x1.ef35793c76730p-45 + sum);
  } else {
    const Bits shifted = (Bits)v + (0x3f800000 - 0x3f3504f3);
    const Bits exponent = (Bits)((Vec<std::uint32_t, V>)shifted >> 23);
    const Vec<T, V> m = (Vec<T, V>)((shifted & 0x007fffff) + 0x3f3504f3);
    const Vec<T, V> e = (Vec<T, V>)(exponent | 0x4b000000) - (0x1p23f + 127);
    const Vec<T, V> s = (m - 1.0f) / (m + 1.0f), z = s * s;
    Vec<T, V> sum = z * (2.0f / 9) + 2.0f / 7;
    sum = sum * z + 2.0f / 5;
    sum = sum * z + 2.0f / 3;
    sum = sum * z * s + 2.0f * s;
    return e * 0x1.62e400p-1f + (e * 0x1.7f7d1cp-20f + sum);
  }
}

/// True when a lane of a comparison's result is set.
template <class T, int V>
QUADRILLE_INLINE bool any(Mask<T, V> mask) {
#if defined(__AVX512F__)
  if constexpr (sizeof(mask) == 64) return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#endif
#if defined(__AVX__)
  if constexpr (sizeof(mask) == 32) return _mm256_movemask_ps((__m256)mask) != 0;
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(mask) == 16) return _mm_movemask_ps((__m128)mask) != 0;
#endif
  IntOf<T> bits = 0;
  for (int i = 0; i < V; ++i) bits |= mask[i];
  return bits != 0;
}

/// Every lane set, or none.
template <class T, int V>
QUADRILLE_INLINE Mask<T, V> mask(bool set) {
  return Mask<T, V>{} - (set ? 1 : 0);
}

/// Adds 1 to the lanes of `counts` that are set in `mask`.
template <class T, int V>
QUADRILLE_INLINE void count(Vec<IntOf<T>, V>& counts, Mask<T, V> mask) {
  counts -= mask;
}

/// One lane, for what has no vector form.
template <class T, int V>
QUADRILLE_INLINE T lane_of(Vec<T, V> v, int lane) {
  return v[lane];
}
template <class T, int V>
QUADRILLE_INLINE void set_lane(Vec<T, V>& v, int lane, T value) {
  v[lane] = value;
}
template <class T, int V>
QUADRILLE_INLINE bool is_set(Mask<T, V> mask, int lane) {
  return mask[lane] != 0;
}
template <class T, int V>
QUADRILLE_INLINE void set_mask(Mask<T, V>& mask, int lane, bool value) {
  mask[lane] = value ? -1 : 0;
}

/// Whole numbers below 2^52 as they are.
template <int V>
QUADRILLE_INLINE Vec<double, V> to_double(Vec<std::uint64_t, V> n) {
  return (Vec<double, V>)(n | 0x4330000000000000u) - 0x1p52;
}

/// The low words of V/2 and V/2 lanes of 64 bits, one after the other; of one lane of 64 bits (V = 1).
template <int V>
QUADRILLE_INLINE Vec<std::uint32_t, V> low_words(const Vec<std::uint64_t, (V > 1 ? V / 2 : 1)>* parts) {
  if constexpr (V == 1) {
    return Vec<std::uint32_t, 1>{} + std::uint32_t(parts[0][0]);
  } else {
    using Both = Vec<std::uint32_t, V>;
    Both even{};
    for (int i = 0; i < V; ++i) even[i] = std::uint32_t(2 * i);
    return __builtin_shuffle((Both)parts[0], (Both)parts[1], even);
  }
}

/// 1 / v and a / b: the operators, but on a device in float (core/simd/simd_scalar.h).
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> reciprocal(Vec<T, V> v) {
  return T(1) / v;
}
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> quotient(Vec<T, V> a, Vec<T, V> b) {
  return a / b;
}

/// sum + a b + c d, with two multiply-adds; in double as sum + (a b + c d), the order in which chains have been
/// computed since the first: they go on with the same bits.
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> add_products(Vec<T, V> sum, Vec<T, V> a, Vec<T, V> b, Vec<T, V> c, Vec<T, V> d) {
  if constexpr (sizeof(T) == 8) return sum + (a * b + c * d);
  return sum + a * b + c * d;
}
/// The same for sum + a b - c d.
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> add_difference(Vec<T, V> sum, Vec<T, V> a, Vec<T, V> b, Vec<T, V> c, Vec<T, V> d) {
  if constexpr (sizeof(T) == 8) return sum + (a * b - c * d);
  return sum + a * b - c * d;
}

/// Functions of one number. This header includes no <cmath>: its inline functions must not enter these files.
QUADRILLE_INLINE double expm1_of(double x) { return __builtin_expm1(x); }
QUADRILLE_INLINE double log1p_of(double x) { return __builtin_log1p(x); }
QUADRILLE_INLINE float expm1_of(float x) { return __builtin_expm1f(x); }
QUADRILLE_INLINE float log1p_of(float x) { return __builtin_log1pf(x); }

/// sin(pi u) and cos(pi u) for u in [-1, 1]: reduced to a quarter of pi around the nearest half, then Taylor series
/// (remainders below 2e-18 in double, 3e-8 in float).
template <class T, int V>
QUADRILLE_INLINE void sincospi(Vec<T, V> u, Vec<T, V>& sine, Vec<T, V>& cosine) {
  const Vec<T, V> q = round<T, V>(u * T(2));
  const Vec<T, V> y = (u - q * T(0.5)) * T(3.14159265358979323846);
  const Vec<T, V> z = y * y;
  Vec<T, V> s, c;
  if constexpr (sizeof(T) == 8) {
    s = z * T(2.8114572543455208e-15) - T(7.6471637318198165e-13);
    s = s * z + T(1.6059043836821615e-10);
    s = s * z - T(2.5052108385441719e-08);
    s = s * z + T(2.7557319223985893e-06);
    c = z * T(4.7794773323873853e-14) - T(1.1470745597729725e-11);
    c = c * z + T(2.0876756987868099e-09);
    c = c * z - T(2.7557319223985888e-07);
    c = c * z + T(2.4801587301587302e-05);
  } else {
    s = broadcast<T, V>(T(2.7557319223985893e-06));
    c = broadcast<T, V>(T(2.4801587301587302e-05));
  }
  s = s * z - T(1.9841269841269841e-04);
  s = s * z + T(8.3333333333333333e-03);
  s = s * z - T(1.6666666666666667e-01);
  s = s * z * y + y;
  c = c * z - T(1.3888888888888889e-03);
  c = c * z + T(4.1666666666666667e-02);
  c = c * z - T(0.5);
  c = c * z + T(1);
  const auto quarter = (q == T(1)) | (q == T(-1));
  const auto half = (q == T(2)) | (q == T(-2));
  const Vec<T, V> sin_part = quarter ? c : s, cos_part = quarter ? s : c;
  sine = (half | (q == T(-1))) ? -sin_part : sin_part;
  cosine = (half | (q == T(1))) ? -cos_part : cos_part;
}

/// Stores the `count` components of a block in half precision (see core/numbers/half.h) and their norms.
template <bool stream, int V>
QUADRILLE_INLINE void store_half(std::int16_t* numbers, float* norms, const Vec<float, V>* x, int count) {
  using Bits = Vec<std::int32_t, V>;
  Bits largest{};
  for (int i = 0; i < count; ++i) {
    const Bits bits = (Bits)x[i] & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  const auto finite = largest < 0x7f800000;
  const Vec<float, V> n = (Vec<float, V>)largest;
  const auto usable = finite & (n >= 0x1p-110f);
  const Vec<float, V> scale = usable ? 32767.0f / n : Vec<float, V>{};
  const Vec<float, V> nan = broadcast<float, V>(__builtin_nanf(""));
  store<float, V>(norms, finite ? (usable ? n : Vec<float, V>{}) : nan);
  for (int i = 0; i < count; ++i) {
    // |x scale| is at most 32767 up to rounding, so no clamp; of a lane that is not finite only the norm is read.
    const Bits shifted = (Bits)(x[i] * scale + 0x1.8p23f);
    const Bits quanta = shifted - 0x4b400000;
    store<stream, std::int16_t, V>(numbers + i * V, narrow<V>(quanta));
  }
}

}  // namespace quadrille::simd::inline QUADRILLE_ISA
