#include "input/files/file_headers.h"

#include "core/error.h"
#include "core/parameters/parameter_values.h"
#include "modules/shared/elements/matrix_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

namespace quadrille {
namespace {

using HeaderExtents = std::array<std::uint64_t, 4>;

constexpr std::uint64_t largest_extent = 100000;

[[noreturn]] void fail(const InputFile& file, const std::string& message, std::int64_t byte = 0) {
  throw Error(ErrorCode::file, message, {.file = file.path(), .byte = byte});
}

/// A number of the machine's byte order, or of the other one.
template <class T>
T word_at(const unsigned char* bytes, bool swapped = false) {
  std::array<unsigned char, sizeof(T)> word;
  std::copy_n(bytes, sizeof(T), word.begin());
  if (swapped) std::reverse(word.begin(), word.end());
  T out;
  std::memcpy(&out, word.data(), sizeof out);
  return out;
}

std::vector<unsigned char> start_of(const InputFile& file, std::size_t bytes) {
  if (file.size() < bytes) fail(file, fmt::format("the file ends in its header, which has {} bytes", bytes));
  std::vector<unsigned char> start(bytes);
  file.read(0, start.data(), bytes);
  return start;
}

std::string extents_line(const HeaderExtents& dims) {
  return fmt::format("{} {} {} {} (x y z t)", dims[0], dims[1], dims[2], dims[3]);
}

/// The links of a lattice, in bytes of `reals` numbers for each of them. Extents are at most largest_extent.
unsigned __int128 links_bytes(const HeaderExtents& dims, int reals, int bits) {
  unsigned __int128 bytes = 4U * unsigned(reals) * unsigned(bits) / 8;
  for (const std::uint64_t extent : dims) bytes *= extent;
  return bytes;
}

void check_size(const InputFile& file, std::uint64_t header, const HeaderExtents& dims, int reals, int bits) {
  const unsigned __int128 needed = links_bytes(dims, reals, bits);
  if (needed == file.size() - header) return;
  fail(file,
       fmt::format("{} bytes follow the header, but the links of a {} x {} x {} x {} lattice take {}: the file is cut "
                   "short, or its header is wrong",
                   file.size() - header, dims[0], dims[1], dims[2], dims[3], needed),
       std::int64_t(header));
}

void check_extents(const InputFile& file, const HeaderExtents& dims) {
  for (const std::uint64_t extent : dims) {
    if (extent < 1 || extent > largest_extent)
      fail(file, fmt::format("an extent of {}: it must be 1 to {}", extent, largest_extent));
  }
}

/// The lines KEY = VALUE of a NERSC header.
class NerscHeader {
 public:
  explicit NerscHeader(const InputFile& file) : file_(file) {
    constexpr std::size_t most = 1 << 16;
    std::string text(std::size_t(std::min<std::uint64_t>(file.size(), most)), ' ');
    file.read(0, text.data(), text.size());
    for (std::size_t at = 0;;) {
      const std::size_t end = text.find('\n', at);
      if (end == std::string::npos) fail(file, "the header has no line END_HEADER");
      const std::string line = trimmed(text.substr(at, end - at));
      at = end + 1;
      if (line == "END_HEADER") {
        bytes_ = at;
        return;
      }
      const std::size_t equals = line.find('=');
      if (equals != std::string::npos)
        values_.try_emplace(trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1)));
    }
  }

  std::uint64_t bytes() const { return bytes_; }
  std::string value(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }
  HeaderExtents extents() const {
    HeaderExtents dims{};
    for (std::size_t mu = 0; mu < 4; ++mu) {
      const std::string key = fmt::format("DIMENSION_{}", mu + 1), text = value(key);
      const std::optional<std::int64_t> extent = parse_integer(text);
      if (!extent || *extent < 0) fail(file_, fmt::format("the header has {} = '{}', which is no extent", key, text));
      dims[mu] = std::uint64_t(*extent);
    }
    check_extents(file_, dims);
    return dims;
  }

 private:
  static std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
  }

  const InputFile& file_;
  std::map<std::string, std::string> values_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

HeaderLines nersc_header(const InputFile& file) {
  const NerscHeader header(file);
  const std::string datatype = header.value("DATATYPE"), number = header.value("FLOATING_POINT");
  const bool whole = datatype == "4D_SU3_GAUGE_3x3" || datatype == "4D_SU3_GAUGE_3X3";
  if (!whole && datatype != "4D_SU3_GAUGE")
    fail(file, fmt::format("DATATYPE is '{}': that of a gauge field is 4D_SU3_GAUGE or 4D_SU3_GAUGE_3x3", datatype));
  const int bits = number.starts_with("IEEE64") ? 64 : number.starts_with("IEEE32") ? 32 : 0;
  if (bits == 0) fail(file, fmt::format("FLOATING_POINT is '{}': it must be IEEE32... or IEEE64...", number));
  const HeaderExtents dims = header.extents();
  check_size(file, header.bytes(), dims, whole ? 18 : 12, bits);
  HeaderLines lines = {{"content", fmt::format("gauge field ({} rows of each link)", whole ? "three" : "two")},
                       {"dims", extents_line(dims)},
                       {"precision", fmt::format("{} bits ({})", bits, number)}};
  constexpr std::pair<const char*, const char*> shown[] = {{"plaquette", "PLAQUETTE"},  {"link trace", "LINK_TRACE"},
                                                           {"checksum", "CHECKSUM"},    {"ensemble", "ENSEMBLE_ID"},
                                                           {"label", "ENSEMBLE_LABEL"}, {"sequence", "SEQUENCE_NUMBER"},
                                                           {"creator", "CREATOR"},      {"created", "CREATION_DATE"}};
  for (const auto& [name, key] : shown) {
    const std::string value = header.value(key);
    if (!value.empty()) lines.emplace_back(name, value);
  }
  return lines;
}

HeaderLines milc_header(const InputFile& file) {
  constexpr std::size_t bytes = 96, date_at = 20, date_bytes = 64, order_at = 84;
  constexpr std::uint32_t magic = 20103;
  const std::vector<unsigned char> start = start_of(file, bytes);
  const bool swapped = word_at<std::uint32_t>(start.data()) != magic;
  const auto word = [&](std::size_t at) { return word_at<std::uint32_t>(start.data() + at, swapped); };
  const HeaderExtents dims{word(4), word(8), word(12), word(16)};
  check_extents(file, dims);
  const bool natural = word(order_at) == 0;
  if (natural) check_size(file, bytes, dims, 18, 32);  // in another order, a list of sites comes first
  const unsigned char* const date = start.data() + date_at;
  return {{"content", "gauge field"},
          {"dims", extents_line(dims)},
          {"precision", fmt::format("32 bits ({}-endian)", swapped ? "big" : "little")},
          {"order", natural ? "of sites: natural" : "of sites: by a list in the file"},
          {"created", std::string(date, std::find(date, date + date_bytes, '\0'))},
          {"checksum", fmt::format("sum29 {:08x}, sum31 {:08x}", word(88), word(92))}};
}

std::uint64_t openqcd_size(const unsigned char* start) {
  HeaderExtents dims{};
  for (std::size_t mu = 0; mu < 4; ++mu) dims[mu] = word_at<std::uint32_t>(start + 4 * mu);
  for (const std::uint64_t extent : dims) {
    if (extent < 1 || extent > largest_extent) return 0;
  }
  const unsigned __int128 bytes = links_bytes(dims, 18, 64) + 24;
  return bytes >> 63 == 0 ? std::uint64_t(bytes) : 0;
}

HeaderLines openqcd_header(const InputFile& file) {
  const std::vector<unsigned char> start = start_of(file, 24);
  const auto extent = [&](std::size_t mu) { return std::uint64_t(word_at<std::uint32_t>(start.data() + 4 * mu)); };
  return {{"content", "gauge field"},
          {"dims", extents_line({extent(1), extent(2), extent(3), extent(0)})},
          {"precision", "64 bits (little-endian)"},
          {"plaquette", fmt::format("{:.15g} (trace: 3 for unit links)", word_at<double>(start.data() + 16))}};
}

namespace elsi = elsi;

namespace {

/// Of elsi::kind, beside elsi::real: pairs of numbers, which block_dft does not read.
constexpr std::int64_t complex_kind = 1;

std::int64_t elsi_word(const unsigned char* start, elsi::Head which) {
  return word_at<std::int64_t>(start + 8 * which);
}

}  // namespace

std::uint64_t elsi_size(const unsigned char* start) {
  const std::int64_t kind = elsi_word(start, elsi::kind), n = elsi_word(start, elsi::size),
                     elements = elsi_word(start, elsi::elements);
  if (kind != elsi::real && kind != complex_kind) return 0;
  if (n < 1 || n >= std::int64_t(1) << 31 || elements < 0 || elements > n * n) return 0;
  using Bytes = unsigned __int128;
  const Bytes each = kind == elsi::real ? 12 : 20;
  const Bytes bytes = 8 * (elsi::head_length + Bytes(n)) + each * Bytes(elements);
  return bytes >> 63 == 0 ? std::uint64_t(bytes) : 0;
}

HeaderLines elsi_header(const InputFile& file) {
  const std::vector<unsigned char> start = start_of(file, 8 * elsi::head_length);
  const std::int64_t n = elsi_word(start.data(), elsi::size), elements = elsi_word(start.data(), elsi::elements),
                     electrons = elsi_word(start.data(), elsi::electron_count);
  const std::uint64_t bytes = elsi_size(start.data());
  if (bytes != file.size()) {
    fail(file,
         fmt::format(
             "{} columns and {} elements do not make a file of {} bytes: it is cut short, or its header is wrong", n,
             elements, file.size()),
         8 * elsi::size);
  }
  HeaderLines lines = {
      {"content", fmt::format("sparse matrix of {} numbers",
                              elsi_word(start.data(), elsi::kind) == elsi::real ? "real" : "complex")},
      {"size", fmt::format("{0} x {0}", n)},
      {"nonzeros", fmt::format("{} ({:.3g} %)", elements, 100 * double(elements) / double(n) / double(n))}};
  if (electrons > 0) lines.emplace_back("electrons", fmt::format("{}", electrons));
  return lines;
}

}  // namespace quadrille
