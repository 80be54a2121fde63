#include "input/files/file_kind.h"

#include "input/files/big_endian.h"
#include "input/files/input_file.h"
#include "input/files/milc/milc_file.h"
#include "input/files/nersc/nersc_file.h"
#include "input/files/openqcd/openqcd_file.h"
#include "input/files/plain/plain_links.h"
#include "modules/shared/elements/matrix_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace quadrille {

namespace {

constexpr std::size_t looked_at = 128;

struct Start {
  std::array<unsigned char, looked_at> bytes{};  ///< zeros where the file is shorter
  std::size_t count = 0;
  std::uint64_t file_size = 0;

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), count}; }
  std::uint32_t big_word() const { return load_big_u32(bytes.data()); }
};

Start read_start(const std::string& path) {
  const InputFile file(path);
  Start start;
  start.file_size = file.size();
  start.count = std::size_t(std::min<std::uint64_t>(file.size(), looked_at));
  file.read(0, start.bytes.data(), start.count);
  return start;
}

bool is_lime(const Start& start) { return start.big_word() == 0x456789ab; }
bool is_nersc(const Start& start) { return start.text().starts_with("BEGIN_HEADER"); }
bool is_milc(const Start& start) {
  constexpr std::uint32_t milc = 20103;
  return start.big_word() == milc || __builtin_bswap32(start.big_word()) == milc;
}
bool is_hdf5(const Start& start) { return start.text().starts_with("\x89HDF\r\n\x1a\n"); }
/// No magic number: four little-endian extents whose link count gives the file's size.
bool is_openqcd(const Start& start) { return start.count >= 24 && openqcd_size(start.bytes.data()) == start.file_size; }
/// By its version, whatever its size; by its size, whatever its version.
bool is_elsi_csc(const Start& start) {
  std::int64_t version = 0;
  std::memcpy(&version, start.bytes.data(), sizeof version);
  return version == elsi::this_version ||
         (start.count == looked_at && elsi_size(start.bytes.data()) == start.file_size);
}

struct FileFormat {
  FileKind kind;
  const char* name;
  bool gauge;  ///< whether it holds a gauge field, or may
  bool (*recognise)(const Start& start);
  HeaderLines (*header)(const InputFile& file);  ///< null: `info` reads more than a header, or nothing
  GaugeReader reader{};                          ///< of its gauge fields
  const char* written = nullptr;                 ///< the name under which they are written; null: they are not
  GaugeWriter writer = nullptr;
  const char* help = nullptr;  ///< what can be written
};

void write_ildg(const std::string& path, const GaugeStore& links, const GaugeExport& options) {
  if (options.rows == 2) throw Error(ErrorCode::invalid_input, "ILDG has three rows of each link");
  write_gauge_file(path, links, {.precision = options.precision == 0 ? 64 : options.precision});
}

/// In the order in which they are tried: those without a magic number last.
constexpr FileFormat formats[] = {
    {FileKind::lime,
     "LIME",
     true,
     is_lime,
     nullptr,
     {locate_lime_gauge, read_lime_gauge},
     "ildg",
     write_ildg,
     "LIME with the records of ILDG, big-endian, 32 or 64 bits, SciDAC checksum; SciDAC files are read, too"},
    {FileKind::nersc, "NERSC archive", true, is_nersc, nersc_header, after_header<nersc_gauge>, "nersc",
     write_nersc_gauge, "NERSC archive, two or three rows of each link, 32 or 64 bits; both byte orders are read"},
    {FileKind::milc, "MILC v5", true, is_milc, milc_header, after_header<milc_gauge>, "milc", write_milc_gauge,
     "MILC v5, 32 bits, with its two checksums"},
    {FileKind::hdf5, "HDF5", false, is_hdf5, nullptr},
    {FileKind::elsi_csc, "ELSI CSC", false, is_elsi_csc, elsi_header},
    {FileKind::openqcd,
     "openQCD",
     true,
     is_openqcd,
     openqcd_header,
     {locate_openqcd_gauge, read_openqcd_gauge},
     "openqcd",
     write_openqcd_gauge,
     "openQCD, 64 bits, links around odd sites, with the plaquette"}};

FileKind kind_of(const Start& start) {
  for (const FileFormat& format : formats) {
    if (format.recognise(start)) return format.kind;
  }
  return FileKind::other;
}

const FileFormat* format_of(FileKind kind) {
  for (const FileFormat& format : formats) {
    if (format.kind == kind) return &format;
  }
  return nullptr;
}

}  // namespace

FileKind file_kind(const std::string& path) { return kind_of(read_start(path)); }

std::string to_string(FileKind kind) {
  const FileFormat* const format = format_of(kind);
  return format == nullptr ? "unknown" : format->name;
}

bool is_gauge_format(FileKind kind) {
  const FileFormat* const format = format_of(kind);
  return format != nullptr && format->gauge;
}

const GaugeReader* gauge_reader(FileKind kind) {
  const FileFormat* const format = format_of(kind);
  return format == nullptr || format->reader.read == nullptr ? nullptr : &format->reader;
}

std::vector<std::string> written_formats() {
  std::vector<std::string> names;
  for (const FileFormat& format : formats) {
    if (format.written != nullptr) names.emplace_back(format.written);
  }
  return names;
}

std::string format_help(const std::string& format) {
  for (const FileFormat& one : formats) {
    if (one.written != nullptr && one.written == format) return one.help;
  }
  throw Error(ErrorCode::internal, "no format '" + format + "' is written");
}

GaugeWriter gauge_writer(const std::string& name) {
  for (const FileFormat& format : formats) {
    if (format.written != nullptr && format.written == name) return format.writer;
  }
  throw Error(ErrorCode::internal, "no format '" + name + "' is written");
}

HeaderLines header_of(const std::string& path, FileKind kind) {
  const FileFormat* const format = format_of(kind);
  return format == nullptr || format->header == nullptr ? HeaderLines{} : format->header(InputFile(path));
}

Error not_lime_error(const std::string& path) {
  const Start start = read_start(path);
  const FileKind kind = kind_of(start);
  const Location where{.file = path, .byte = 0};
  if (start.file_size == 0)
    return Error(ErrorCode::file, "the file is empty; an ILDG, SciDAC or propagator file (LIME) is needed", where);
  if (kind != FileKind::other) {
    const bool milc_or_nersc = kind == FileKind::milc || kind == FileKind::nersc;
    return Error(ErrorCode::unsupported,
                 fmt::format("this is a{} {} file, {}", milc_or_nersc ? "" : "n", to_string(kind),
                             gauge_reader(kind) != nullptr ? "a gauge field; a LIME file is needed here"
                             : is_gauge_format(kind)       ? "which this version cannot read; convert it to ILDG"
                                                           : "not a gauge field or a propagator (LIME)"),
                 where);
  }
  std::string first;
  for (std::size_t i = 0; i < std::min<std::size_t>(start.count, 4); ++i)
    first += fmt::format("{:02x} ", start.bytes[i]);
  return Error(ErrorCode::file,
               fmt::format("this is not a LIME file: it starts with the bytes {}instead of 45 67 89 ab", first), where);
}

}  // namespace quadrille
