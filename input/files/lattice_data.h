// Fields in the site order of ILDG and SciDAC binary records, on their way between files and a backend.
//
// Numbers are big-endian IEEE, 32 or 64 bits; sites run x fastest, t slowest, as in the host fields. Fields travel in
// pieces of whole sites: while a backend works on one piece, all threads of the host move the next one between its
// buffer and the file and add it to the checksum.
#pragma once

#include "core/backend/backend.h"
#include "core/dims.h"
#include "core/layout/lattice.h"
#include "input/files/checksum.h"
#include "input/files/lime/lime.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace quadrille {

/// What a record holds: `reals` real numbers per site, of `precision` (32 or 64) bits.
struct DataFormat {
  Dims dims{};  ///< of the whole lattice
  int reals = 0;
  int precision = 64;
  /// Divides the sites over ranks: each moves those of its own part, in the order of their local index, which is what
  /// functions below count sites by; null: all sites are here.
  const Lattice* lattice = nullptr;

  std::size_t site_bytes() const { return std::size_t(reals) * std::size_t(precision) / 8; }
  const Communicator& communicator() const { return lattice ? lattice->communicator() : *single_process(); }
};

/// Bytes of the whole field; nothing when they do not fit 64 bits.
std::optional<std::uint64_t> field_bytes(const DataFormat& format);

/// An ErrorCode::file.
[[noreturn]] void fail_in_file(const std::string& message, const Location& where);

/// "4x4x4x8".
std::string extents_text(const Dims& dims);

/// Errors: ErrorCode::file unless every extent is even and positive, each named.
void check_extents(const Dims& dims, const Location& where);

/// What moving found besides the numbers.
struct SiteData {
  Checksum checksum;
  WordSums words{};              ///< of sites from a SiteReader
  std::int64_t not_finite = -1;  ///< index in the file of the first real that is NaN or infinite, -1 without one
  double value = 0;              ///< that number

  /// Joins what was found in another part of the same field.
  void add(const SiteData& part);
};

/// Takes the sites [first, first + count) as they stand in the file from memory of the backend. It may return before
/// its work is done, as all calls of a backend.
using UnpackSites = std::function<void(const void* bytes, std::int64_t first, std::int64_t count)>;
/// Puts the sites [first, first + count) of the file into memory of the host, in the form above whatever theirs is, and
/// gives the sums of the words that it has read. Several threads call it at once.
using SiteReader = std::function<WordSums(std::byte* bytes, std::int64_t first, std::int64_t count)>;
/// Puts them there.
using PackSites = std::function<void(void* bytes, std::int64_t first, std::int64_t count)>;
/// The place of a real number, by its index, in words.
using RealName = std::function<std::string(std::int64_t)>;

// What follows is collective where the sites are divided; what was found is that of all ranks.

/// Reads the data of a record, whose length must be right (field_bytes), and gives each piece to `unpack`, in rising
/// order, from the calling thread. The work of all calls is done when it returns.
SiteData read_pieces(const LimeInput& file, const LimeRecord& record, const DataFormat& format, Backend& backend,
                     const UnpackSites& unpack);

/// The same of sites that no record holds as they should be.
SiteData read_pieces(const SiteReader& reader, const DataFormat& format, Backend& backend, const UnpackSites& unpack);

/// Writes the data of a record that is begun and not ended, each piece as `pack` fills it, in rising order, from the
/// calling thread. Errors: ErrorCode::numerical when a number is not finite, as one too large for 32 bits is not there.
Checksum write_pieces(LimeOutput& file, const DataFormat& format, Backend& backend, const PackSites& pack,
                      const RealName& name);

/// What writing these pieces would find, without a file.
SiteData check_pieces(const DataFormat& format, Backend& backend, const PackSites& pack);

/// read_pieces() into data[0 .. volume * reals) of the host, as doubles.
SiteData read_sites(const LimeInput& file, const LimeRecord& record, const DataFormat& format, double* data);

/// write_pieces() of such numbers.
Checksum write_sites(LimeOutput& file, const DataFormat& format, const double* data, const RealName& name);

/// The checksum that these numbers, all finite, have in a file of this format.
Checksum checksum_of_field(const DataFormat& format, const double* data);

}  // namespace quadrille
