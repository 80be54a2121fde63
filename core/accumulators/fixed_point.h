// Sums of floats in fixed point: each float is rounded to a whole number of quanta, the same for y and, with the other
// sign, for -y, and whole numbers are added. Their sum does not depend on the order, and that of opposite terms is 0.
//
// A quantum is 1 here: the caller scales its terms by a power of two. Integers count modulo 2^32 between carries.
#pragma once

#include "core/accumulators/float_pair.h"

namespace quadrille::accumulators::inline QUADRILLE_ISA {

/// Terms that may be added before the next carry.
constexpr int carry_interval = 64;

/// 1.5 x 2^23: a float |y| <= 2^22 that is added to it is rounded to a whole number, which the bits of the sum count
/// from those of this constant. With 1.5 x 2^46, to a multiple of 2^23.
constexpr float unit_magic = 0x1.8p23f;
constexpr std::uint32_t unit_magic_bits = 0x4b400000u;
constexpr float high_magic = 0x1.8p46f;
constexpr std::uint32_t high_magic_bits = 0x56c00000u;

/// How Narumi's method makes a whole number of what its high part has rounded away.
enum class Conversion {
  instruction,    ///< the processor's conversion: 24 bits and a sign
  added_constant  ///< unit_magic: 22 bits and a sign, by one addition, where conversions are slow
};

/// Narumi's pair (figure 8): `high` begins at 1.5 x 2^(bits + 23), so that it is a multiple of 2^bits as long as it is
/// within 2^(bits + 22) of there, and `low` counts quanta below it. With |y| <= 2^(bits + 15), and `high` within
/// 2^(bits + 21) after each carry, it cannot leave that range and come back between two carries; `strayed` keeps the
/// lanes that were further away at one. The paper's LOWER_SHIFT is 7 where bits = 25; it carries every 128 terms, when
/// 128 x 2^24 can already have overflowed.
template <int V, Conversion conversion>
struct NarumiPair {
  static constexpr int bits = conversion == Conversion::instruction ? 25 : 23;
  static constexpr float start = conversion == Conversion::instruction ? 0x1.8p48f : 0x1.8p46f;
  static constexpr float safe = conversion == Conversion::instruction ? 0x1p46f : 0x1p44f;
  /// |y| may be 2^term_exponent at most.
  static constexpr int term_exponent = bits + 15;

  simd::Vec<float, V> high;
  simd::Vec<std::uint32_t, V> low;
  simd::Vec<std::int32_t, V> strayed;

  QUADRILLE_INLINE void clear() {
    high = simd::broadcast<float, V>(start);
    low = decltype(low){};
    strayed = decltype(strayed){};
  }

  QUADRILLE_INLINE void add(simd::Vec<float, V> y) {
    const FloatPair<V> z = ordered_sum<V>(high, y);
    high = z.high;
    if constexpr (conversion == Conversion::instruction) {
      low += (simd::Vec<std::uint32_t, V>)rounded::nearest_integer<V>(z.low);
    } else {
      low += rounded::bits<V>(rounded::sum(z.low, simd::broadcast<float, V>(unit_magic)));
    }
  }

  /// After `terms` <= carry_interval terms.
  QUADRILLE_INLINE void carry(int terms) {
    using Int = simd::Vec<std::int32_t, V>;
    if constexpr (conversion == Conversion::added_constant) low -= std::uint32_t(terms) * unit_magic_bits;
    const Int carried = (Int)(low + (1u << (bits - 1))) >> bits;
    const simd::Vec<float, V> step = simd::broadcast<float, V>(float(1u << bits));
    high = rounded::sum(high, rounded::product(simd::to_float<V>(carried), step));
    low -= (simd::Vec<std::uint32_t, V>)carried << bits;
    const simd::Vec<float, V> away = rounded::difference(high, simd::broadcast<float, V>(start));
    strayed |= rounded::flags<float, V>((away > safe) | (away < -safe) | (away != away));
  }

  /// Of a sum that has strayed, any number.
  QUADRILLE_INLINE std::int64_t quanta(int lane) const {
    const std::int64_t large = std::int64_t(simd::lane_of<float, V>(high, lane) - start);
    const std::int32_t small = std::int32_t(simd::lane_of<std::uint32_t, V>(low, lane));
    return std::int64_t(std::uint64_t(large) + std::uint64_t(std::int64_t(small)));
  }
};

/// 64-bit integers. A term is rounded to a multiple of 2^23 and the rest to a whole number, each by adding a constant;
/// the bits of both are summed in 32 bits and carried into 64: no conversion at all. |y| <= 2^45.
template <int V>
struct LongFixedPoint {
  static constexpr int term_exponent = 45;

  simd::Vec<std::uint32_t, V> high, low;
  std::int64_t total[V];
  std::int32_t beyond[V];

  QUADRILLE_INLINE void clear() {
    high = decltype(high){};
    low = decltype(low){};
    for (int lane = 0; lane < V; ++lane) total[lane] = beyond[lane] = 0;
  }

  QUADRILLE_INLINE void add(simd::Vec<float, V> y) {
    const simd::Vec<float, V> magic = simd::broadcast<float, V>(high_magic);
    const simd::Vec<float, V> z = rounded::sum(y, magic);
    const simd::Vec<float, V> rest = rounded::difference(y, rounded::difference(z, magic));
    high += rounded::bits<V>(z);
    low += rounded::bits<V>(rounded::sum(rest, simd::broadcast<float, V>(unit_magic)));
  }

  QUADRILLE_INLINE void carry(int terms) {
    high -= std::uint32_t(terms) * high_magic_bits;
    low -= std::uint32_t(terms) * unit_magic_bits;
    std::int32_t large[V], small[V];
    for (int lane = 0; lane < V; ++lane) {
      large[lane] = std::int32_t(simd::lane_of<std::uint32_t, V>(high, lane));
      small[lane] = std::int32_t(simd::lane_of<std::uint32_t, V>(low, lane));
    }
    for (int lane = 0; lane < V; ++lane) {
      const std::int64_t more = std::int64_t(large[lane]) * (std::int64_t(1) << 23) + small[lane];
      total[lane] = std::int64_t(std::uint64_t(total[lane]) + std::uint64_t(more));  // wraps after `beyond` has said so
      beyond[lane] |= total[lane] > std::int64_t(1) << 62 || total[lane] < -(std::int64_t(1) << 62) ? -1 : 0;
    }
    high = decltype(high){};
    low = decltype(low){};
  }
};

}  // namespace quadrille::accumulators::inline QUADRILLE_ISA
