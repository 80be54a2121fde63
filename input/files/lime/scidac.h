// The XML records and checksums with which QIO (SciDAC) frames binary lattice data.
#pragma once

#include "core/dims.h"
#include "core/error.h"
#include "input/files/checksum.h"
#include "input/files/lattice_data.h"
#include "input/files/lime/lime.h"

#include <optional>
#include <string>

namespace quadrille {

/// What a scidac-private-record-xml says of the binary data in its message.
struct ScidacRecord {
  std::string datatype;
  int precision = 0;  ///< 32 (F) or 64 (D); 0 for anything else (integers)
  std::int64_t colors = 0, spins = 0;
  std::int64_t typesize = 0;   ///< bytes of one datum
  std::int64_t datacount = 0;  ///< data a site
  bool is_field = true;        ///< false for global data or a part of the lattice

  /// Real numbers of one site: 72 for the four links, 288 for a propagator.
  std::int64_t reals_per_site() const { return precision == 0 ? 0 : typesize * datacount * 8 / precision; }
};

/// The private record of the message that holds `data`; nothing when there is none. Errors: ErrorCode::file when it
/// cannot be read.
std::optional<ScidacRecord> scidac_record(const LimeInput& file, const LimeRecord& data);

/// Extents from the scidac-private-file-xml; nothing when the file has none. Errors: ErrorCode::file when they are not
/// four positive numbers, ErrorCode::unsupported for a file in several volumes.
std::optional<Dims> scidac_dims(const LimeInput& file);

/// The first record of this type in the message of `data`, as text; empty when there is none.
std::string text_beside(const LimeInput& file, const LimeRecord& data, const char* type);

/// A checksum as it stands in a file against the one of the data.
struct ChecksumVerdict {
  enum class State { ok, missing, mismatch } state = State::missing;
  Checksum computed{};
  Checksum stored{};
  ChecksumKind kind = ChecksumKind::scidac;
  std::string cause{};  ///< of a mismatch, where it is known to be none of damaged data
};
/// "ok (suma .., sumb ..)", "missing (computed ..)", "mismatch (..)".
std::string to_string(const ChecksumVerdict& verdict);

/// Compares with the scidac-checksum record of `data`'s message, or the next one before other data.
ChecksumVerdict judge_checksum(const LimeInput& file, const LimeRecord& data, const Checksum& computed);

/// The error of a mismatch, for the data that are there.
Error checksum_error(const Location& data, const ChecksumVerdict& mismatch);

/// What a field is, for reading it and for the words of errors.
struct FileField {
  DataFormat format;
  const char* what;                                ///< "gauge field"
  std::string (*name)(const Dims&, std::int64_t);  ///< the place of a real number, by its index
};
struct ChecksumDemand {
  bool verify;          ///< false: a mismatch is a warning
  const char* way_out;  ///< said with the error
};
/// Reads a record of the right length piece by piece (read_pieces) and judges the checksum. Errors: ErrorCode::file
/// on a mismatch unless `demand` is null or does not verify; ErrorCode::numerical naming the place of a number that is
/// not finite.
ChecksumVerdict read_field(const LimeInput& file, const LimeRecord& record, const FileField& field, Backend& backend,
                           const UnpackSites& unpack, const ChecksumDemand* demand = nullptr);
/// The same into data[0 .. volume * reals) of the host.
ChecksumVerdict read_field(const LimeInput& file, const LimeRecord& record, const FileField& field, double* data,
                           const ChecksumDemand* demand = nullptr);

/// The text of a scidac-checksum record.
std::string checksum_xml(const Checksum& sum);
/// The text of a scidac-private-file-xml record.
std::string private_file_xml(const Dims& dims);
/// The text of a scidac-private-record-xml record (recordtype 0: a field on all sites), dated now in UTC.
std::string private_record_xml(const std::string& datatype, int precision, int spins, int typesize, int datacount);

}  // namespace quadrille
