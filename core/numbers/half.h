// The 16-bit fixed-point format: a site's numbers as q n / 32767 with one float norm n.
//
// n is the largest |component| of the site in float; q = round-half-even(x (32767 / n)), clamped to +-32767.
// n below `smallest_norm` (2^-110, where 32767 / n would overflow) counts as zero: q = 0, n = 0. A component that is
// not finite gives n = NaN, which the next reduction meets. Links have no norm of their own: n = 1.
// The same quanta on every backend: quantize() is compiled without contraction to FMA. Devices keep q + 32768, the bits
// of q with the sign bit flipped: core/numbers/half_words.h.
#pragma once

#include "core/host_device.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace quadrille::half {

constexpr float quanta = 32767.0f;
constexpr float smallest_norm = 0x1p-110f;

/// The norm of `count` components: their largest magnitude, 0 when that is below smallest_norm, NaN when one of them
/// is not finite.
QUADRILLE_HOST_DEVICE float norm(const float* x, int count) {
  std::uint32_t largest = 0;  // magnitudes compare like their bits, and infinity and NaN are above all numbers
  for (int i = 0; i < count; ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu;
    largest = bits > largest ? bits : largest;
  }
  if (largest >= 0x7f800000u) return std::numeric_limits<float>::quiet_NaN();
  const float n = std::bit_cast<float>(largest);
  return n < smallest_norm ? 0.0f : n;
}

/// 32767 / n; 0 for n = 0 or NaN, so that q is 0 there.
QUADRILLE_HOST_DEVICE float scale(float n) { return n > 0.0f ? quanta / n : 0.0f; }

/// The quantum q of component x for scale(n).
QUADRILLE_HOST_DEVICE std::int16_t quantize(float x, float scale) {
  const float scaled = std::isfinite(x) ? x * scale : 0.0f;
  const float clamped = scaled > quanta ? quanta : scaled < -quanta ? -quanta : scaled;
  return std::int16_t(std::nearbyint(clamped));
}

/// What the grouped layout adds to q, which flips its sign bit: the bits of q + 32768 can be put into a float's
/// mantissa as they are. Zeroed memory is a zero spinor all the same, by its norm; links have none, and zeroed memory
/// is not a zero link there (q = -32768).
constexpr int offset = 32768;

/// x = q n / 32767.
QUADRILLE_HOST_DEVICE float restore(std::int16_t q, float n) { return float(q) * (n * (1.0f / quanta)); }

}  // namespace quadrille::half
