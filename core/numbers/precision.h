// The precision formats and the link reconstructions, as run-time values.
#pragma once

#include "core/api.h"

#include <cstddef>
#include <string>

namespace quadrille {

/// Storage formats. Half is 16-bit fixed point with one float norm a site (core/numbers/half.h); its compute type is
/// float.
enum class Precision { Double, Single, Half };

/// How many real numbers of a link are stored (core/su3/link_codec.h).
enum class Reconstruct : int { R18 = 18, R12 = 12, R8 = 8 };

/// Bytes of one stored real number.
constexpr std::size_t number_bytes(Precision p) { return p == Precision::Double ? 8 : p == Precision::Single ? 4 : 2; }

/// Bytes of the type that arithmetic is done in.
constexpr std::size_t compute_bytes(Precision p) { return p == Precision::Double ? 8 : 4; }

/// Relative rounding unit of a format: 2^-53, 2^-24, and one half quantum of 1/32767 for half.
constexpr double rounding_unit(Precision p) {
  return p == Precision::Double ? 0x1p-53 : p == Precision::Single ? 0x1p-24 : 0.5 / 32767;
}

/// "double", "single", "half", and back; parsing an unknown name is an ErrorCode::invalid_input.
QUADRILLE_API std::string to_string(Precision p);
QUADRILLE_API Precision parse_precision(const std::string& name);

/// "18", "12", "8", and back; parsing an unknown name is an ErrorCode::invalid_input.
QUADRILLE_API std::string to_string(Reconstruct r);
QUADRILLE_API Reconstruct parse_reconstruct(const std::string& name);

}  // namespace quadrille
