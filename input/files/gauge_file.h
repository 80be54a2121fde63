// Gauge fields in files: in LIME, ILDG (in QIO's or tmLQCD's order of records) and SciDAC without ILDG records; those
// of other formats by the readers in the table of file_kind.cpp. ILDG is written.
//
// Links are read as they stand, to double precision, straight into the gauge store of a backend; nothing is projected
// on SU(3) unless GaugeStore::project() is called.
#pragma once

#include "core/field/host_field.h"
#include "core/gauge/gauge_store.h"
#include "core/layout/lattice.h"
#include "input/files/lime/lime.h"
#include "input/files/lime/scidac.h"
#include "input/job/rank_grid.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {

/// Where links come from: names and values such as action, beta, seed, sweep, in the element <origin> of the record
/// XML.
using LinkOrigin = std::vector<std::pair<std::string, std::string>>;

/// Links that follow a header as plain numbers (plain_links.h).
struct PlainLinks {
  std::uint64_t data_byte = 0;  ///< where they start
  int rows = 3;                 ///< of each link; the third of two is the conjugated cross product
  bool big_endian = false;
};

/// A number that a header states of the links.
struct StatedNumber {
  const char* key;
  double GaugeObservables::*of;
  double value, allowed;  ///< allowed: by how much the one of the links may differ
  std::int64_t byte;      ///< where it stands
  double found = value;   ///< of the links, once they are read
};

/// What a file says of its gauge field, without the links.
struct GaugeFileInfo {
  std::string path;
  std::string format;  ///< "ildg", "scidac", "nersc", "milc" or "openqcd"
  int precision = 0;   ///< bits of a number: 32 or 64
  Dims dims{};
  std::vector<LimeRecord> records;
  LimeRecord data;   ///< the record that holds the links; number 0 in a file that is not LIME
  PlainLinks plain;  ///< of that one
  std::vector<StatedNumber> stated;
  ChecksumVerdict checksum;
  std::string lfn;                    ///< ildg-data-lfn; this and the others are empty when the file has none
  std::string file_xml;               ///< scidac-file-xml
  std::string record_xml;             ///< scidac-record-xml
  std::string xlf_info;               ///< xlf-info
  LinkOrigin origin;                  ///< of a file that this program wrote
  std::optional<Checksum> links_sum;  ///< checksum_of() the links, where reading has found it
};

struct GaugeFile {
  GaugeFileInfo info;
  std::unique_ptr<const Lattice> lattice;  ///< of the links; outlives them
  std::shared_ptr<GaugeStore> links;
};

struct GaugeReadOptions {
  bool verify_checksum = true;                         ///< false: what contradiction() tells is a warning
  bool judge_only = false;                             ///< true: contradiction() alone tells it
  Backend* backend = nullptr;                          ///< of the links; null: the CPU
  RankGrid ranks{};                                    ///< that the lattice is divided over
  std::shared_ptr<const Communicator> communicator{};  ///< unless null: that it is divided over, in place of `ranks`
  LimeMover mover = LimeMover::automatic;
};

/// Reads the gauge field of a file (the first one, with a warning, when there are several). Collective.
///
/// Of LIME files. For others see their readers.
///
/// Errors name file, record and byte: everything that scan_lime() finds; ErrorCode::file for missing records, a field
/// other than su3gauge, a precision other than 32 or 64, odd extents, a record length that is not the field's, and a
/// checksum that does not match (unless verify_checksum is false); ErrorCode::numerical naming site and direction for a
/// number that is not finite.
GaugeFile read_gauge_file(const std::string& path, const GaugeReadOptions& options = {});

/// The first half of read_gauge_file, for any format: `checksum` is not judged. Errors as there.
GaugeFileInfo gauge_file_info(const std::string& path);
/// The same of an open LIME file.
GaugeFileInfo locate_gauge_field(const LimeInput& file);
/// The second half: links and verdict, which is judged but not demanded.
GaugeFile load_gauge_field(const LimeInput& file, GaugeFileInfo info, Backend& backend = cpu_backend());

/// The error of a file whose links are not those of its checksum, or not of the numbers that its header states.
std::optional<Error> contradiction(const GaugeFileInfo& info);
/// The place of the link that comes after so many others.
Location link_location(const GaugeFileInfo& info, std::int64_t links = 0);
/// "site (1,2,3,0), direction y (row 2, column 1)" of a real number by its index, 72 a site.
std::string gauge_real_name(const Dims& dims, std::int64_t real);

/// How one format is read; `locate` and `read` do for it what gauge_file_info and read_gauge_file do for all.
struct GaugeReader {
  GaugeFileInfo (*locate)(const std::string& path) = nullptr;
  GaugeFile (*read)(const std::string& path, const GaugeReadOptions& options) = nullptr;
};
/// ILDG and SciDAC.
GaugeFileInfo locate_lime_gauge(const std::string& path);
GaugeFile read_lime_gauge(const std::string& path, const GaugeReadOptions& options);

/// The largest |U U^+ - 1| and |det U - 1| that links of a file may have: 1e-5 (32 bits), 1e-10 (64 bits).
double link_tolerance(int precision);
/// Throws ErrorCode::numerical naming site and direction when `found` is above the file's tolerance.
void check_links(const GaugeFileInfo& info, const Unitarity& found);

struct GaugeWriteOptions {
  int precision = 64;  ///< bits of a number: 32 or 64
  std::string lfn{};   ///< logical file name; no ildg-data-lfn record when empty
  LinkOrigin origin{};
  LimeMover mover = LimeMover::automatic;
  std::shared_ptr<const Communicator> communicator{};  ///< of host links: those of this rank's part. Null: all links
};

/// Writes an ILDG file with QIO's records, checksum, and plaquette and origin in the record XML. A failed write leaves
/// no file (and an older one as it was). Errors: those of AtomicFile; ErrorCode::numerical for links that are not
/// finite. Gives the checksum that it wrote. Collective; the bytes of the data do not depend on the grid of ranks.
Checksum write_gauge_file(const std::string& path, const GaugeStore& links, const GaugeWriteOptions& options = {});
Checksum write_gauge_file(const std::string& path, const HostLinks& links, const GaugeWriteOptions& options = {});

/// The SciDAC checksum of the links in a file of 32 or 64 bits a number.
Checksum checksum_of(const GaugeStore& links, int bits = 64);

}  // namespace quadrille
