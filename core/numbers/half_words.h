// The 16-bit fixed-point format (core/numbers/half.h) as devices compute with it: two quanta to a word of 32 bits, each
// as the number q + 32768 of the grouped layout, which needs no slow conversion instruction. Also runs on the host.
#pragma once

#include "core/host_device.h"
#include "core/numbers/half.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace quadrille::half {

/// 3 * 2^22 as a float and its bits: a whole number added to the bits is one added to the value.
constexpr float magic_value = 12582912.0f;
constexpr int magic = 0x4B400000;

QUADRILLE_HOST_DEVICE float float_of_bits(int bits) {
#ifdef __CUDA_ARCH__
  return __int_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

/// `magic` plus the low (k = 0) or high (1) number of a word, one byte permutation.
template <int k>
QUADRILLE_HOST_DEVICE int begin(unsigned word) {
#ifdef __CUDA_ARCH__
  return int(__byte_perm(word, unsigned(magic), k == 0 ? 0x7610 : 0x7632));
#else
  return magic + int(word >> (16 * k) & 0xffffu);
#endif
}
/// `to` plus or minus that number.
template <int k, int sign>
QUADRILLE_HOST_DEVICE int add(unsigned word, int to) {
#ifdef __CUDA_ARCH__
  int sum;
  asm("dp2a.lo.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(word), "n"((sign & 0xff) << (8 * k)), "r"(to));
  return sum;
#else
  return to + sign * int(word >> (16 * k) & 0xffffu);
#endif
}
/// The sum of quanta whose numbers were added to `magic`: `numbers` is how many more were added than subtracted.
template <int numbers>
QUADRILLE_HOST_DEVICE float from_magic(int bits) {
  return float_of_bits(bits) - (magic_value + float(numbers * offset));
}
/// One quantum as a float.
template <int k>
QUADRILLE_HOST_DEVICE float whole(unsigned word) {
  return from_magic<1>(begin<k>(word));
}

/// max(norm, |x|), and not-a-number when one of them is.
QUADRILLE_HOST_DEVICE float largest(float norm, float x) {
#ifdef __CUDA_ARCH__
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(norm), "f"(fabsf(x)));
  return result;
#else
  return std::isnan(norm) || std::isnan(x) ? norm + x : std::fmax(norm, std::fabs(x));
#endif
}

/// 32767 / norm for the largest magnitude of a site, and the norm itself as it is stored.
QUADRILLE_HOST_DEVICE float quanta_of(float& norm) {
  constexpr float largest_finite = 0x1.fffffep127f;
  if (norm >= smallest_norm && norm <= largest_finite) return quanta / norm;
  norm = norm < smallest_norm ? 0.0f : float_of_bits(0x7fc00000);
  return 0.0f;
}

/// The number of the nearest even integer of x times quanta_of(norm), in the lowest 16 bits of the result: those of the
/// mantissa when `magic_value` is added. Of a site that is not finite only the norm means something.
QUADRILLE_HOST_DEVICE unsigned rounded(float x, float scale) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(__fadd_rn(__fmul_rn(x, scale), magic_value + offset));
#else
  const float scaled = x * scale;
  return std::bit_cast<unsigned>(scaled + (magic_value + offset));
#endif
}
/// The same without rounding the product, so not always the quanta that quantize() finds.
QUADRILLE_HOST_DEVICE unsigned rounded_once(float x, float scale) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(fmaf(x, scale, magic_value + offset));
#else
  return std::bit_cast<unsigned>(std::fma(x, scale, magic_value + offset));
#endif
}
/// The word of two such numbers.
QUADRILLE_HOST_DEVICE unsigned packed(unsigned low, unsigned high) {
#ifdef __CUDA_ARCH__
  return __byte_perm(low, high, 0x5410);
#else
  return (low & 0xffffu) | (high << 16);
#endif
}

}  // namespace quadrille::half
