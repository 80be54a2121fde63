// The random numbers of core/random/random.h for V sites at once: the same integers and uniforms, lane by lane.
//
// Only for files that are compiled once per instruction set (see core/simd/simd.h), or for one lane
// (core/simd/lanes.h).
#pragma once

#include "core/simd/lanes.h"

namespace quadrille::simd::inline QUADRILLE_ISA {

/// Lanes of 64 bits that hold 32-bit words.
template <int V>
using Words = Vec<std::uint64_t, V>;

/// a b for words a and a word b: 64 bits.
template <int V>
QUADRILLE_INLINE Words<V> multiply_words(Words<V> a, std::uint32_t b) {
#if !defined(QUADRILLE_SCALAR_LANES)
#if defined(__AVX512F__)
  if constexpr (V == 8) return (Words<V>)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64(b));
#endif
#if defined(__AVX2__)
  if constexpr (V == 4) return (Words<V>)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(b));
#endif
#if defined(__SSE2__)
  if constexpr (V == 2) return (Words<V>)_mm_mul_epu32((__m128i)a, _mm_set1_epi64x(b));
#endif
#endif
  return (a & 0xffffffffu) * std::uint64_t(b);
}

/// The draws of V sites with one seed and one stream (the counter's third word: random_stream()), as numbers of type T:
/// double or float.
template <class T, int V>
class LaneRandom {
 public:
  /// `sites` are the V global sites; `seed` as SiteRandom takes it.
  QUADRILLE_INLINE LaneRandom(std::uint64_t seed, std::uint32_t stream, const std::int64_t* sites)
      : key_{std::uint32_t(seed), std::uint32_t(seed >> 32)}, stream_(stream) {
    for (int part = 0; part < parts; ++part) {
      Words<width> site;
      __builtin_memcpy(&site, sites + part * width, sizeof(site));  // of any alignment
      low_[part] = site & 0xffffffffu;
      high_[part] = site >> 32;
    }
  }

  /// Uniforms number 2 block and 2 block + 1 of each site: in double in [0, 1) with 53 bits; in float in [0, 1], the
  /// first 31 of these bits rounded to float.
  QUADRILLE_INLINE void uniforms(std::uint32_t block, Vec<T, V>& first, Vec<T, V>& second) const {
    Words<width> c[4][parts];
    philox(block, c);
    first = uniform(c[0], c[1]);
    second = uniform(c[2], c[3]);
  }

  /// 1 - u of the same uniforms, for logarithms: in double in (0, 1], exactly; in float in [2^-32, 1], to float's
  /// relative rounding of the first 31 bits, however close to 1 u is.
  QUADRILLE_INLINE void complements(std::uint32_t block, Vec<T, V>& first, Vec<T, V>& second) const {
    if constexpr (sizeof(T) == 8) {
      uniforms(block, first, second);
      first = 1.0 - first;
      second = 1.0 - second;
    } else {
      Words<width> c[4][parts];
      philox(block, c);
      first = complement(c[0], c[1]);
      second = complement(c[2], c[3]);
    }
  }

 private:
  /// Lanes of words fill as many registers as the numbers that are made of them, or twice as many.
  static constexpr int parts = V > 1 ? 8 / int(sizeof(T)) : 1, width = V / parts;

  QUADRILLE_INLINE void philox(std::uint32_t block, Words<width> (*c)[parts]) const {
    for (int part = 0; part < parts; ++part) {
      Words<width> c0 = low_[part], c1 = high_[part], c2 = Words<width>{} + stream_, c3 = Words<width>{} + block;
      std::uint32_t k0 = key_[0], k1 = key_[1];
      for (int round = 0; round < 10; ++round) {
        const Words<width> a = multiply_words<width>(c0, 0xD2511F53u), b = multiply_words<width>(c2, 0xCD9E8D57u);
        // Only the low halves count from here on: the multiplication ignores what lies above them.
        c0 = (b >> 32) ^ c1 ^ k0;
        c1 = b;
        c2 = (a >> 32) ^ c3 ^ k1;
        c3 = a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
      }
      c[0][part] = c0;
      c[1][part] = c1;
      c[2][part] = c2;
      c[3][part] = c3;
    }
  }

  static QUADRILLE_INLINE Vec<T, V> uniform(const Words<width>* high, const Words<width>* low) {
    if constexpr (sizeof(T) == 8) {
      return (to_double<V>((high[0] & 0xffffffffu) >> 5) * 0x1p26 + to_double<V>((low[0] & 0xffffffffu) >> 6)) *
             0x1p-53;
    } else {
      return to_float<V>((Vec<std::int32_t, V>)(first_bits(high, low) >> 1)) * 0x1p-31f;
    }
  }
  /// The bits that are left out count as their mean.
  static QUADRILLE_INLINE Vec<T, V> complement(const Words<width>* high, const Words<width>* low) {
    return to_float<V>((Vec<std::int32_t, V>)(~first_bits(high, low) >> 1)) * 0x1p-31f + 0x1p-32f;
  }
  /// The first 32 of a uniform's 53 bits, of which `high` has 27.
  static QUADRILLE_INLINE Vec<std::uint32_t, V> first_bits(const Words<width>* high, const Words<width>* low) {
    Words<width> bits[parts];
    for (int part = 0; part < parts; ++part) {
      bits[part] = (high[part] & 0xffffffe0u) | ((low[part] & 0xffffffffu) >> 27);
    }
    return low_words<V>(bits);
  }

  std::uint32_t key_[2];
  std::uint64_t stream_;
  Words<width> low_[parts], high_[parts];
};

}  // namespace quadrille::simd::inline QUADRILLE_ISA
