// The random numbers of core/random.h for V sites at once: the same integers and uniforms, lane by lane.
//
// Only for files that are compiled once per instruction set (see core/simd.h), or for one lane (core/lanes.h).
#pragma once

#include "core/lanes.h"

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

/// The draws of V sites with one seed and one stream (the counter's third word: random_stream()).
template <int V>
class LaneRandom {
 public:
  /// `sites` are the V global sites; `seed` as SiteRandom takes it.
  QUADRILLE_INLINE LaneRandom(std::uint64_t seed, std::uint32_t stream, const std::int64_t* sites)
      : key_{std::uint32_t(seed), std::uint32_t(seed >> 32)}, stream_(stream) {
    Words<V> site;
    __builtin_memcpy(&site, sites, sizeof(site));  // of any alignment
    low_ = site & 0xffffffffu;
    high_ = site >> 32;
  }

  /// Uniforms number 2 block and 2 block + 1 of each site, in [0, 1) with 53 bits.
  QUADRILLE_INLINE void uniforms(std::uint32_t block, Vec<double, V>& first, Vec<double, V>& second) const {
    Words<V> c0 = low_, c1 = high_, c2 = Words<V>{} + stream_, c3 = Words<V>{} + block;
    std::uint32_t k0 = key_[0], k1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      const Words<V> a = multiply_words<V>(c0, 0xD2511F53u), b = multiply_words<V>(c2, 0xCD9E8D57u);
      // Only the low halves count from here on: the multiplication ignores what lies above them.
      c0 = (b >> 32) ^ c1 ^ k0;
      c1 = b;
      c2 = (a >> 32) ^ c3 ^ k1;
      c3 = a;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    first = uniform(c0, c1);
    second = uniform(c2, c3);
  }

 private:
  static QUADRILLE_INLINE Vec<double, V> uniform(Words<V> high, Words<V> low) {
    return (to_double<V>((high & 0xffffffffu) >> 5) * 0x1p26 + to_double<V>((low & 0xffffffffu) >> 6)) * 0x1p-53;
  }

  std::uint32_t key_[2];
  std::uint64_t stream_;
  Words<V> low_, high_;
};

}  // namespace quadrille::simd::inline QUADRILLE_ISA
