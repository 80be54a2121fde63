// Numbers in double as sums of a few narrow ones, for matrix units that multiply narrow numbers fast.
//
// Floating-point parts: the first is x rounded to p significant bits, the next what remains, rounded again, and so on
// (Dekker's splitting; for matrix units: Ootomo, Yokota, Int. J. High Perform. Comput. Appl. 36 (2022) 475,
// doi:10.1177/10943420221090256). With s = 2^-p (1 + 2^(2-p)) and the format's `tiny`, for |x| <= `largest`:
//
//   |x - sum of the parts| <= s^parts |x| + tiny,     |part r| <= s^r (1 + s) |x| + 2 tiny.
//
// Digits: x in [-1, 1] is rounded to a multiple of 2^(2 - 8 S) and that integer written with S balanced digits of base
// 256, so that sums of products of digits are exact integers (Ozaki, Ogita, Oishi, Rump, Numer. Algorithms 59 (2012)
// 95, doi:10.1007/s11075-011-9478-1; with integers: Ootomo, Ozaki, Yokota, Int. J. High Perform. Comput. Appl. 38
// (2024) 297, doi:10.1177/10943420241239588):
//
//   |x - 2^(2 - 8 S) sum_r digit_r 256^(S-1-r)| <= 2^(1 - 8 S),     |digit_r| <= 128, |digit_0| <= 65.
//
// Each encode() writes the parts of x, the largest first.
#pragma once

#include "core/host_device.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace quadrille::narrow {

/// Nearest number of 11 significant bits (ties to even) in the 16-bit binary format of IEEE 754; beyond 65504 infinite.
QUADRILLE_HOST_DEVICE std::uint16_t to_half(float x) {
#ifdef __CUDA_ARCH__
  std::uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  const std::uint32_t word = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = word >> 16 & 0x8000u, magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return std::uint16_t(sign | 0x7fffu);
  if (magnitude >= 0x477ff000u) return std::uint16_t(sign | 0x7c00u);  // from 65520 on
  if (magnitude < 0x38800000u) {
    // Below 2^-14 the quantum is 2^-24: that of single precision at 0.5.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return std::uint16_t(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return std::uint16_t(sign | ((rounded - 0x38000000u) >> 13));
#endif
}

QUADRILLE_HOST_DEVICE float from_half(std::uint16_t bits) {
#ifdef __CUDA_ARCH__
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
#else
  const std::uint32_t sign = std::uint32_t(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  const float small = float(magnitude) * 0x1p-24f;
  return sign != 0 ? -small : small;
#endif
}

struct HalfFormat {
  using Element = std::uint16_t;
  static constexpr int significant_bits = 11;
  static constexpr double largest = 0x1p15, tiny = 0x1p-25;
  static QUADRILLE_HOST_DEVICE Element encode(float x) { return to_half(x); }
  static QUADRILLE_HOST_DEVICE float decode(Element e) { return from_half(e); }
};

struct SingleFormat {
  using Element = float;
  static constexpr int significant_bits = 24;
  static constexpr double largest = 1, tiny = 0x1p-126;
  static QUADRILLE_HOST_DEVICE Element encode(float x) { return x; }
  static QUADRILLE_HOST_DEVICE float decode(Element e) { return e; }
};

template <class Format, int count>
struct FloatParts {
  using Element = typename Format::Element;
  static constexpr int parts = count;
  static constexpr double largest = Format::largest;

  static QUADRILLE_HOST_DEVICE void encode(double x, Element* out) {
    double rest = x;
    QUADRILLE_UNROLL
    for (int r = 0; r < parts; ++r) {
      out[r] = Format::encode(float(rest));
      rest -= double(Format::decode(out[r]));  // exact
    }
  }
};

template <int count>
struct Digits {
  using Element = std::int8_t;
  static constexpr int parts = count;
  static constexpr double largest = 1;
  static_assert(count >= 2 && count <= 7, "the integer must fit 64 bits");

  static QUADRILLE_HOST_DEVICE void encode(double x, Element* out) {
    constexpr double scale = double(std::int64_t(1) << (8 * count - 2));
#ifdef __CUDA_ARCH__
    std::int64_t integer = __double2ll_rn(x * scale);
#else
    std::int64_t integer = std::llrint(x * scale);
#endif
    QUADRILLE_UNROLL
    for (int r = parts - 1; r >= 0; --r) {
      const std::int64_t digit = std::int64_t(std::int8_t(integer & 0xff));
      out[r] = Element(digit);
      integer = (integer - digit) >> 8;
    }
  }
};

/// The least power of two that is not below `most`, as an exponent in [-1000, 1024]; 0 for 0.
inline int exponent_above(double most) {
  if (!(most > 0)) return 0;
  int exponent = 0;
  if (std::frexp(most, &exponent) == 0.5) --exponent;
  return exponent < -1000 ? -1000 : exponent;
}

}  // namespace quadrille::narrow
