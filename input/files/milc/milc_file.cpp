#include "input/files/milc/milc_file.h"

#include "core/error.h"
#include "input/files/plain_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace quadrille {
namespace {

struct MilcHeader {
  static constexpr std::size_t bytes = 96, order_at = 84;

  HeaderExtents dims{};
  bool big_endian = false, natural = false;  ///< natural: the order of sites
  std::string date;
  Checksum sums;
};

MilcHeader read_milc_header(const InputFile& file) {
  constexpr std::size_t date_at = 20, date_bytes = 64;
  constexpr std::uint32_t magic = 20103;
  const std::vector<unsigned char> start = start_of(file, MilcHeader::bytes);
  MilcHeader header;
  header.big_endian = header_word<std::uint32_t>(start.data()) != magic;
  const auto word = [&](std::size_t at) { return header_word<std::uint32_t>(start.data() + at, header.big_endian); };
  header.dims = {word(4), word(8), word(12), word(16)};
  check_header_extents(file, header.dims);
  header.natural = word(MilcHeader::order_at) == 0;
  // In another order, a list of sites comes first.
  if (header.natural) check_links_size(file, MilcHeader::bytes, header.dims, 18, 32);
  const unsigned char* const date = start.data() + date_at;
  header.date.assign(date, std::find(date, date + date_bytes, '\0'));
  header.sums = {word(88), word(92)};
  return header;
}

}  // namespace

HeaderLines milc_header(const InputFile& file) {
  const MilcHeader header = read_milc_header(file);
  return {{"content", "gauge field"},
          {"dims", extents_line(header.dims)},
          {"precision", fmt::format("32 bits ({}-endian)", header.big_endian ? "big" : "little")},
          {"order", header.natural ? "of sites: natural" : "of sites: by a list in the file"},
          {"created", header.date},
          {"stated", to_string(header.sums, ChecksumKind::milc)}};
}

GaugeFileInfo milc_gauge(const InputFile& file) {
  const MilcHeader header = read_milc_header(file);
  if (!header.natural)
    throw Error(ErrorCode::unsupported,
                "the sites stand in the order of a list in the file, which this version cannot read; their order (this "
                "word) must be 0: write the file again as a serial one, or as ILDG",
                {.file = file.path(), .byte = MilcHeader::order_at});
  GaugeFileInfo info;
  info.path = file.path();
  info.format = "milc";
  info.precision = 32;
  info.dims = even_dims(file, header.dims);
  info.plain = {.data_byte = MilcHeader::bytes, .rows = 3, .big_endian = header.big_endian};
  info.checksum = {.state = ChecksumVerdict::State::ok,  // judged when the links are read
                   .stored = header.sums,
                   .kind = ChecksumKind::milc};
  return info;
}

}  // namespace quadrille
