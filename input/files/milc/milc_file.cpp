#include "input/files/milc/milc_file.h"

#include "core/error.h"
#include "input/files/plain/plain_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string>

namespace quadrille {
namespace {

struct MilcHeader {
  static constexpr std::size_t bytes = 96, order_at = 84, date_at = 20, date_bytes = 64;
  static constexpr std::uint32_t magic = 20103;

  HeaderExtents dims{};
  bool big_endian = false, natural = false;  ///< natural: the order of sites
  std::string date;
  Checksum sums;
};

MilcHeader read_milc_header(const InputFile& file) {
  const std::vector<unsigned char> start = start_of(file, MilcHeader::bytes);
  MilcHeader header;
  header.big_endian = header_word<std::uint32_t>(start.data()) != MilcHeader::magic;
  const auto word = [&](std::size_t at) { return header_word<std::uint32_t>(start.data() + at, header.big_endian); };
  header.dims = {word(4), word(8), word(12), word(16)};
  check_header_extents(file, header.dims);
  header.natural = word(MilcHeader::order_at) == 0;
  // In another order, a list of sites comes first.
  if (header.natural) check_links_size(file, MilcHeader::bytes, header.dims, 18, 32);
  const unsigned char* const date = start.data() + MilcHeader::date_at;
  header.date.assign(date, std::find(date, date + MilcHeader::date_bytes, '\0'));
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

void write_milc_gauge(const std::string& path, const GaugeStore& links, const GaugeExport& options) {
  if (options.precision == 64 || options.rows == 2) {
    throw Error(ErrorCode::invalid_input, "MILC's format has numbers of 32 bits and three rows of each link");
  }
  const PlainForm form{.rows = 3, .precision = 32, .big_endian = false};
  const WordSums sums = sums_of_plain_links(links, form);
  std::string head;
  const auto put = [&head](std::uint32_t word) { head.append(reinterpret_cast<const char*>(&word), sizeof word); };
  put(MilcHeader::magic);
  for (const int extent : links.lattice().global_dims()) put(std::uint32_t(extent));
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, MilcHeader::date_bytes> date{};
  std::strftime(date.data(), date.size(), "%a %b %d %H:%M:%S %Y", &utc);
  head.append(date.data(), date.size());
  put(0);  // the order of sites: natural
  put(sums.rotated.a);
  put(sums.rotated.b);
  AtomicFile file(path);
  file.write(head);
  write_plain_links(file, links, form);
  file.commit();
}

}  // namespace quadrille
