// The 16-bit fixed-point format (core/half.h) as devices compute with it: two quanta to a word of 32 bits, converted
// without the slow conversion instructions. Also runs on the host.
#pragma once

#include "core/half.h"
#include "core/host_device.h"

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
QUADRILLE_HOST_DEVICE float from_magic(int bits) { return float_of_bits(bits) - magic_value; }

/// `to` plus or minus the low (k = 0) or high (1) quantum of a word.
template <int k, int sign>
QUADRILLE_HOST_DEVICE int add(unsigned word, int to) {
#ifdef __CUDA_ARCH__
  return __dp2a_lo(int(word), (sign & 0xff) << (8 * k), to);
#else
  return to + sign * std::int16_t(word >> (16 * k));
#endif
}
/// That quantum as a float.
template <int k>
QUADRILLE_HOST_DEVICE float whole(unsigned word) {
  return from_magic(add<k, 1>(word, magic));
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

/// The nearest even integer of x times quanta_of(norm), in the lowest bits of the result in two's complement: those of
/// the mantissa when `magic_value` is added. Of a site that is not finite only the norm means something.
QUADRILLE_HOST_DEVICE unsigned rounded(float x, float scale) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(__fadd_rn(__fmul_rn(x, scale), magic_value));
#else
  const float scaled = x * scale;
  return std::bit_cast<unsigned>(scaled + magic_value);
#endif
}
/// The same without rounding the product, so not always the quanta that quantize() finds.
QUADRILLE_HOST_DEVICE unsigned rounded_once(float x, float scale) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(fmaf(x, scale, magic_value));
#else
  return std::bit_cast<unsigned>(std::fma(x, scale, magic_value));
#endif
}
/// The word of two such quanta.
QUADRILLE_HOST_DEVICE unsigned packed(unsigned low, unsigned high) {
#ifdef __CUDA_ARCH__
  return __byte_perm(low, high, 0x5410);
#else
  return (low & 0xffffu) | (high << 16);
#endif
}

}  // namespace quadrille::half
