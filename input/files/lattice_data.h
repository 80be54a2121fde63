// Fields in the site order of ILDG and SciDAC binary records, streamed in pieces of whole sites.
//
// Numbers are big-endian IEEE, 32 or 64 bits; sites run x fastest, t slowest, as in the host fields.
#pragma once

#include "core/host_field.h"
#include "input/files/checksum.h"
#include "input/files/lime.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace quadrille {

/// What a record holds: `reals` real numbers a site, of `precision` (32 or 64) bits.
struct SiteFormat {
  Dims dims{};
  int reals = 0;
  int precision = 64;

  std::size_t site_bytes() const { return std::size_t(reals) * std::size_t(precision) / 8; }
};

/// Bytes of the whole field; nothing when they do not fit 64 bits.
std::optional<std::uint64_t> field_bytes(const SiteFormat& format);

/// "4x4x4x8".
std::string extents_text(const Dims& dims);

/// Errors: ErrorCode::file unless every extent is even and positive, each named.
void check_extents(const Dims& dims, const Location& where);

/// What reading found besides the numbers.
struct SiteData {
  Checksum checksum;
  std::int64_t not_finite = -1;  ///< index of the first real number that is NaN or infinite, -1 without one
};

/// Fills data[0 .. volume * reals). The record's length must be right (field_bytes).
SiteData read_sites(const LimeInput& file, const LimeRecord& record, const SiteFormat& format, double* data);

/// Writes the data of a record that is begun and not ended. Errors: ErrorCode::numerical when a number is not finite,
/// or too large for 32 bits; `name` turns the index of a real number into words.
Checksum write_sites(LimeOutput& file, const SiteFormat& format, const double* data,
                     const std::function<std::string(std::int64_t)>& name);

/// The checksum that these numbers, all finite, have in a file of this format.
Checksum checksum_of_field(const SiteFormat& format, const double* data);

}  // namespace quadrille
