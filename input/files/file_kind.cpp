#include "input/files/file_kind.h"

#include "input/files/big_endian.h"
#include "input/files/input_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace quadrille {

namespace {

constexpr std::size_t looked_at = 24;

struct Start {
  std::array<unsigned char, looked_at> bytes{};
  std::size_t count = 0;
  std::uint64_t file_size = 0;
};

Start read_start(const std::string& path) {
  const InputFile file(path);
  Start start;
  start.file_size = file.size();
  start.count = std::size_t(std::min<std::uint64_t>(file.size(), looked_at));
  file.read(0, start.bytes.data(), start.count);
  return start;
}

/// openQCD has no magic number: four little-endian extents t, x, y, z whose link count gives the file's size.
bool is_openqcd(const Start& start) {
  if (start.count < looked_at) return false;
  unsigned __int128 sites = 1;
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint32_t extent = 0;
    std::memcpy(&extent, start.bytes.data() + 4 * i, 4);
    if (extent == 0 || extent > 100000) return false;
    sites *= extent;
  }
  return sites * 4 * 18 * 8 + 24 == start.file_size;
}

FileKind kind_of(const Start& start) {
  constexpr std::uint32_t lime = 0x456789ab, milc = 20103;
  if (start.count < 4) return FileKind::other;
  const std::uint32_t word = load_big_u32(start.bytes.data());
  if (word == lime) return FileKind::lime;
  if (word == milc || __builtin_bswap32(word) == milc) return FileKind::milc;
  const std::string_view text(reinterpret_cast<const char*>(start.bytes.data()), start.count);
  if (text.starts_with("BEGIN_HEADER")) return FileKind::nersc;
  if (text.starts_with("\x89HDF\r\n\x1a\n")) return FileKind::hdf5;
  return is_openqcd(start) ? FileKind::openqcd : FileKind::other;
}

}  // namespace

FileKind file_kind(const std::string& path) { return kind_of(read_start(path)); }

std::string to_string(FileKind kind) {
  switch (kind) {
    case FileKind::lime: return "LIME";
    case FileKind::nersc: return "NERSC archive";
    case FileKind::milc: return "MILC v5";
    case FileKind::openqcd: return "openQCD";
    case FileKind::hdf5: return "HDF5";
    case FileKind::other: break;
  }
  return "unknown";
}

Error not_lime_error(const std::string& path) {
  const Start start = read_start(path);
  const FileKind kind = kind_of(start);
  const Location where{.file = path, .byte = 0};
  if (start.file_size == 0)
    return Error(ErrorCode::file, "the file is empty; an ILDG, SciDAC or propagator file (LIME) is needed", where);
  if (kind != FileKind::other)
    return Error(ErrorCode::unsupported,
                 fmt::format("this is a{} {} file, which this version cannot read; convert it to ILDG",
                             kind == FileKind::milc || kind == FileKind::nersc ? "" : "n", to_string(kind)),
                 where);
  std::string first;
  for (std::size_t i = 0; i < std::min<std::size_t>(start.count, 4); ++i)
    first += fmt::format("{:02x} ", start.bytes[i]);
  return Error(ErrorCode::file,
               fmt::format("this is not a LIME file: it starts with the bytes {}instead of 45 67 89 ab", first), where);
}

}  // namespace quadrille
