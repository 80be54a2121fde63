// Reads of V lanes from V places: records of four words, numbers of a table; and the numbers of the lanes that a
// comparison holds for, one after the other.
//
// Only for files that are compiled once per instruction set (see core/simd/simd.h), and for devices, which have
// gather() alone.
#pragma once

#include "core/simd/lanes.h"

namespace quadrille::simd::inline QUADRILLE_ISA {

#ifdef QUADRILLE_SCALAR_LANES

template <class T, int V>
QUADRILLE_INLINE T gather(const T* table, std::int32_t index) {
  return table[index];
}
template <class T, int V>
QUADRILLE_INLINE T look_up(const T* table, std::int32_t, std::int32_t index) {
  return table[index];
}

#else

/// table[index], lane by lane.
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> gather(const T* table, Vec<std::int32_t, V> index) {
  Vec<T, V> out{};
#if defined(__AVX512F__)
  if constexpr (sizeof(out) == 64 && sizeof(T) == 4) return (Vec<T, V>)_mm512_i32gather_epi32((__m512i)index, table, 4);
  if constexpr (sizeof(out) == 64 && sizeof(T) == 8) return (Vec<T, V>)_mm512_i32gather_epi64((__m256i)index, table, 8);
#endif
#pragma GCC unroll 1
  for (int lane = 0; lane < V; ++lane) out[lane] = table[index[lane]];
  return out;
}

/// table[index], lane by lane, of a table of `size` numbers with room for 32: those of small ones are chosen within
/// registers.
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> look_up(const T* table, std::int32_t size, Vec<std::int32_t, V> index) {
#if defined(__AVX512F__)
  if constexpr (V == 16 && sizeof(T) == 4) {
    if (size <= 32) {
      return (Vec<T, V>)_mm512_permutex2var_ps(_mm512_loadu_ps(table), (__m512i)index, _mm512_loadu_ps(table + 16));
    }
  }
  if constexpr (V == 8 && sizeof(T) == 8) {
    if (size <= 16) {
      const __m512i wide = _mm512_cvtepi32_epi64((__m256i)index);
      return (Vec<T, V>)_mm512_permutex2var_pd(_mm512_loadu_pd(table), wide, _mm512_loadu_pd(table + 8));
    }
  }
#endif
  (void)size;
  return gather<T, V>(table, index);
}

/// Words 4 index ... 4 index + 3 of a table, lane by lane: four vectors of one word each.
template <int V>
struct FourWords {
  Vec<float, V> word[4];
};

template <int V>
QUADRILLE_INLINE FourWords<V> gather_four(const float* table, const std::int32_t* index) {
  FourWords<V> out;
#if defined(__AVX512F__)
  if constexpr (V == 16) {
    __m512 row[4];
    for (int r = 0; r < 4; ++r) {  // records r, r + 4, r + 8, r + 12
      row[r] = _mm512_castps128_ps512(_mm_loadu_ps(table + 4 * std::int64_t(index[r])));
      row[r] = _mm512_insertf32x4(row[r], _mm_loadu_ps(table + 4 * std::int64_t(index[r + 4])), 1);
      row[r] = _mm512_insertf32x4(row[r], _mm_loadu_ps(table + 4 * std::int64_t(index[r + 8])), 2);
      row[r] = _mm512_insertf32x4(row[r], _mm_loadu_ps(table + 4 * std::int64_t(index[r + 12])), 3);
    }
    const __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(row[0], row[1])),
                  low23 = _mm512_castps_pd(_mm512_unpacklo_ps(row[2], row[3])),
                  high01 = _mm512_castps_pd(_mm512_unpackhi_ps(row[0], row[1])),
                  high23 = _mm512_castps_pd(_mm512_unpackhi_ps(row[2], row[3]));
    out.word[0] = (Vec<float, V>)_mm512_unpacklo_pd(low01, low23);
    out.word[1] = (Vec<float, V>)_mm512_unpackhi_pd(low01, low23);
    out.word[2] = (Vec<float, V>)_mm512_unpacklo_pd(high01, high23);
    out.word[3] = (Vec<float, V>)_mm512_unpackhi_pd(high01, high23);
    return out;
  }
#endif
#if defined(__AVX__)
  if constexpr (V == 8) {
    __m256 row[4];
    for (int r = 0; r < 4; ++r) {  // records r and r + 4
      row[r] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(table + 4 * std::int64_t(index[r]))),
                                    _mm_loadu_ps(table + 4 * std::int64_t(index[r + 4])), 1);
    }
    const __m256d low01 = _mm256_castps_pd(_mm256_unpacklo_ps(row[0], row[1])),
                  low23 = _mm256_castps_pd(_mm256_unpacklo_ps(row[2], row[3])),
                  high01 = _mm256_castps_pd(_mm256_unpackhi_ps(row[0], row[1])),
                  high23 = _mm256_castps_pd(_mm256_unpackhi_ps(row[2], row[3]));
    out.word[0] = (Vec<float, V>)_mm256_unpacklo_pd(low01, low23);
    out.word[1] = (Vec<float, V>)_mm256_unpackhi_pd(low01, low23);
    out.word[2] = (Vec<float, V>)_mm256_unpacklo_pd(high01, high23);
    out.word[3] = (Vec<float, V>)_mm256_unpackhi_pd(high01, high23);
    return out;
  }
#endif
#if defined(__SSE2__)
  if constexpr (V == 4) {
    __m128 row[4];
    for (int r = 0; r < 4; ++r) row[r] = _mm_loadu_ps(table + 4 * std::int64_t(index[r]));
    _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
    for (int k = 0; k < 4; ++k) out.word[k] = (Vec<float, V>)row[k];
    return out;
  }
#endif
  for (int lane = 0; lane < V; ++lane) {
    float words[4];
    __builtin_memcpy(words, table + 4 * std::int64_t(index[lane]), sizeof words);  // of any type
    for (int k = 0; k < 4; ++k) out.word[k][lane] = words[k];
  }
  return out;
}

/// The same of a table of doubles: numbers 4 index ... 4 index + 3.
template <int V>
struct FourNumbers {
  Vec<double, V> number[4];
};

template <int V>
QUADRILLE_INLINE FourNumbers<V> gather_four(const double* table, const std::int32_t* index) {
  FourNumbers<V> out{};
  const auto record = [&](int lane) { return table + 4 * std::int64_t(index[lane]); };
#if defined(__AVX512F__)
  if constexpr (V == 8) {
    __m512d row[4];
    for (int r = 0; r < 4; ++r) {  // records r and r + 4
      row[r] =
          _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(record(r))), _mm256_loadu_pd(record(r + 4)), 1);
    }
    const __m512d xz01 = _mm512_unpacklo_pd(row[0], row[1]), xz23 = _mm512_unpacklo_pd(row[2], row[3]),
                  yw01 = _mm512_unpackhi_pd(row[0], row[1]), yw23 = _mm512_unpackhi_pd(row[2], row[3]);
    const __m512i first = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0),
                  second = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
    out.number[0] = (Vec<double, V>)_mm512_permutex2var_pd(xz01, first, xz23);
    out.number[1] = (Vec<double, V>)_mm512_permutex2var_pd(yw01, first, yw23);
    out.number[2] = (Vec<double, V>)_mm512_permutex2var_pd(xz01, second, xz23);
    out.number[3] = (Vec<double, V>)_mm512_permutex2var_pd(yw01, second, yw23);
    return out;
  }
#endif
#if defined(__AVX__)
  if constexpr (V == 4) {
    const __m256d row[4] = {_mm256_loadu_pd(record(0)), _mm256_loadu_pd(record(1)), _mm256_loadu_pd(record(2)),
                            _mm256_loadu_pd(record(3))};
    const __m256d xz01 = _mm256_unpacklo_pd(row[0], row[1]), xz23 = _mm256_unpacklo_pd(row[2], row[3]),
                  yw01 = _mm256_unpackhi_pd(row[0], row[1]), yw23 = _mm256_unpackhi_pd(row[2], row[3]);
    out.number[0] = (Vec<double, V>)_mm256_permute2f128_pd(xz01, xz23, 0x20);
    out.number[1] = (Vec<double, V>)_mm256_permute2f128_pd(yw01, yw23, 0x20);
    out.number[2] = (Vec<double, V>)_mm256_permute2f128_pd(xz01, xz23, 0x31);
    out.number[3] = (Vec<double, V>)_mm256_permute2f128_pd(yw01, yw23, 0x31);
    return out;
  }
#endif
  for (int lane = 0; lane < V; ++lane) {
    for (int k = 0; k < 4; ++k) out.number[k][lane] = record(lane)[k];
  }
  return out;
}

/// A bit for each lane with a < b.
template <int V>
QUADRILLE_INLINE std::uint32_t less_bits(Vec<float, V> a, Vec<float, V> b) {
#if defined(__AVX512F__)
  if constexpr (V == 16) return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
#endif
#if defined(__AVX__)
  if constexpr (V == 8) return std::uint32_t(_mm256_movemask_ps((__m256)(a < b)));
#endif
#if defined(__SSE2__)
  if constexpr (V == 4) return std::uint32_t(_mm_movemask_ps((__m128)(a < b)));
#endif
  std::uint32_t bits = 0;
  for (int lane = 0; lane < V; ++lane) bits |= std::uint32_t(a[lane] < b[lane]) << lane;
  return bits;
}

/// Writes first + lane of each lane whose bit is set, one after the other, and returns how many; V words of `out` may
/// be overwritten.
template <int V>
QUADRILLE_INLINE int store_lanes(std::int32_t* out, std::int32_t first, std::uint32_t bits) {
#if defined(__AVX512F__)
  if constexpr (V == 16) {
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i all = _mm512_add_epi32(lanes, _mm512_set1_epi32(first));
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(__mmask16(bits), all));
    return __builtin_popcount(bits);
  }
#endif
  int count = 0;
  for (; bits != 0; bits &= bits - 1) out[count++] = first + __builtin_ctz(bits);
  return count;
}

#endif

}  // namespace quadrille::simd::inline QUADRILLE_ISA
