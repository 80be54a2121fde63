#include "input/files/nersc/nersc_file.h"

#include "core/parameters/parameter_values.h"
#include "input/files/plain/plain_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>

namespace quadrille {
namespace {

/// The lines of the header.
class NerscHeader {
 public:
  struct Value {
    std::string text;
    std::int64_t byte = 0;  ///< of its line
  };

  explicit NerscHeader(const InputFile& file) : file_(file) {
    constexpr std::size_t most = 1 << 16;
    std::string text(std::size_t(std::min<std::uint64_t>(file.size(), most)), ' ');
    file.read(0, text.data(), text.size());
    for (std::size_t at = 0;;) {
      const std::size_t end = text.find('\n', at);
      if (end == std::string::npos) fail_in_header(file, "the header has no line END_HEADER");
      const std::string line = trimmed(text.substr(at, end - at));
      const auto byte = std::int64_t(at);
      at = end + 1;
      if (line == "END_HEADER") {
        bytes_ = at;
        return;
      }
      const std::size_t equals = line.find('=');
      if (equals != std::string::npos)
        values_.try_emplace(trimmed(line.substr(0, equals)), Value{trimmed(line.substr(equals + 1)), byte});
    }
  }

  std::uint64_t bytes() const { return bytes_; }
  /// Empty where there is none.
  Value value(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? Value{} : found->second;
  }
  [[noreturn]] void fail(const std::string& message, const Value& at) const { fail_in_header(file_, message, at.byte); }
  HeaderExtents extents() const {
    HeaderExtents dims{};
    for (std::size_t mu = 0; mu < 4; ++mu) {
      const std::string key = fmt::format("DIMENSION_{}", mu + 1);
      const Value found = value(key);
      const std::optional<std::int64_t> extent = parse_integer(found.text);
      if (!extent || *extent < 0)
        fail(fmt::format("the header has {} = '{}', which is no extent", key, found.text), found);
      dims[mu] = std::uint64_t(*extent);
    }
    check_header_extents(file_, dims);
    return dims;
  }

 private:
  static std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
  }

  const InputFile& file_;
  std::map<std::string, Value> values_;
  std::uint64_t bytes_ = 0;
};

enum class ByteOrder { little, big, not_said };

struct NumberFormat {
  const char* name;
  int bits;
  ByteOrder order;
};
constexpr NumberFormat number_formats[] = {
    {"IEEE32", 32, ByteOrder::not_said}, {"IEEE32BIG", 32, ByteOrder::big}, {"IEEE32LITTLE", 32, ByteOrder::little},
    {"IEEE64", 64, ByteOrder::not_said}, {"IEEE64BIG", 64, ByteOrder::big}, {"IEEE64LITTLE", 64, ByteOrder::little}};

/// How far the first row of the first link is from having the norm 1 in this byte order.
double deviation_of_first_row(const InputFile& file, std::uint64_t byte, int bits, ByteOrder order) {
  constexpr std::size_t count = 6;
  std::array<char, count * sizeof(double)> bytes;
  const std::size_t width = std::size_t(bits) / 8;
  file.read(byte, bytes.data(), count * width);
  double norm2 = 0;
  for (std::size_t k = 0; k < count; ++k) {
    char* const word = bytes.data() + k * width;
    if (order == ByteOrder::big) std::reverse(word, word + width);
    double number = 0;
    if (float narrow; bits == 32) {
      std::memcpy(&narrow, word, width);
      number = narrow;
    } else {
      std::memcpy(&number, word, width);
    }
    norm2 += number * number;
  }
  return std::isnan(norm2) ? std::numeric_limits<double>::infinity() : std::fabs(norm2 - 1);
}

/// Without BIG or LITTLE programs disagree on the order (that of the writer's machine, or big-endian): the links tell.
bool is_big_endian(const InputFile& file, std::uint64_t byte, const NumberFormat& numbers) {
  if (numbers.order != ByteOrder::not_said) return numbers.order == ByteOrder::big;
  return deviation_of_first_row(file, byte, numbers.bits, ByteOrder::big) <
         deviation_of_first_row(file, byte, numbers.bits, ByteOrder::little);
}

/// What the header says of the numbers after it.
struct NerscLinks {
  HeaderExtents dims{};
  int rows = 0;
  NumberFormat numbers{};
  bool big_endian = false;
};

NerscLinks links_of(const InputFile& file, const NerscHeader& header) {
  NerscLinks links;
  const NerscHeader::Value datatype = header.value("DATATYPE"), number = header.value("FLOATING_POINT");
  const bool whole = datatype.text == "4D_SU3_GAUGE_3x3" || datatype.text == "4D_SU3_GAUGE_3X3";
  if (!whole && datatype.text != "4D_SU3_GAUGE")
    header.fail(
        fmt::format("DATATYPE is '{}': that of a gauge field is 4D_SU3_GAUGE or 4D_SU3_GAUGE_3x3", datatype.text),
        datatype);
  links.rows = whole ? 3 : 2;
  const auto* const found = std::find_if(std::begin(number_formats), std::end(number_formats),
                                         [&](const NumberFormat& one) { return one.name == number.text; });
  if (found == std::end(number_formats))
    header.fail(fmt::format("FLOATING_POINT is '{}': it must be IEEE32 or IEEE64, with BIG or LITTLE", number.text),
                number);
  links.numbers = *found;
  links.dims = header.extents();
  check_links_size(file, header.bytes(), links.dims, 6 * links.rows, links.numbers.bits);
  links.big_endian = is_big_endian(file, header.bytes(), links.numbers);
  return links;
}

/// The checksum of the header; nothing where it has none.
std::optional<std::uint32_t> sum_of(const NerscHeader& header) {
  const NerscHeader::Value stored = header.value("CHECKSUM");
  if (stored.text.empty()) return {};
  std::string_view digits = stored.text;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  std::uint32_t sum = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), sum, 16);
  if (error != std::errc{} || end != digits.data() + digits.size())
    header.fail(fmt::format("CHECKSUM is '{}': it must be at most 8 hexadecimal digits", stored.text), stored);
  return sum;
}

/// Half a unit of the last digit of a number that is one.
double rounding_of(const std::string& text) {
  const std::size_t mantissa = std::min(text.find_first_of("eE"), text.size()), point = text.find('.');
  const auto decimals = point < mantissa ? double(mantissa - point - 1) : 0.0;
  const double exponent = mantissa < text.size() ? std::atof(text.c_str() + mantissa + 1) : 0;
  return 0.5 * std::pow(10.0, exponent - decimals);
}

void add_stated(const NerscHeader& header, const char* key, double GaugeObservables::*of, GaugeFileInfo& info) {
  const NerscHeader::Value stated = header.value(key);
  if (stated.text.empty()) return;
  const std::optional<double> number = parse_real(stated.text);
  if (!number) header.fail(fmt::format("{} is '{}', which is no number", key, stated.text), stated);
  info.stated.push_back({.key = key,
                         .of = of,
                         .value = *number,
                         .allowed = link_tolerance(info.precision) + rounding_of(stated.text),
                         .byte = stated.byte});
}

}  // namespace

HeaderLines nersc_header(const InputFile& file) {
  const NerscHeader header(file);
  const NerscLinks links = links_of(file, header);
  HeaderLines lines = {
      {"content", fmt::format("gauge field ({} rows of each link)", links.rows == 3 ? "three" : "two")},
      {"dims", extents_line(links.dims)},
      {"precision", fmt::format("{} bits ({}{})", links.numbers.bits, links.numbers.name,
                                links.numbers.order != ByteOrder::not_said ? ""
                                : links.big_endian                         ? ", by its links big-endian"
                                                                           : ", by its links little-endian")}};
  constexpr std::pair<const char*, const char*> shown[] = {{"ensemble", "ENSEMBLE_ID"},
                                                           {"label", "ENSEMBLE_LABEL"},
                                                           {"sequence", "SEQUENCE_NUMBER"},
                                                           {"creator", "CREATOR"},
                                                           {"created", "CREATION_DATE"}};
  for (const auto& [name, key] : shown) {
    const std::string value = header.value(key).text;
    if (!value.empty()) lines.emplace_back(name, value);
  }
  const char* title = "stated";
  for (const char* key : {"PLAQUETTE", "LINK_TRACE", "CHECKSUM"}) {
    const std::string value = header.value(key).text;
    if (value.empty()) continue;
    lines.emplace_back(title, fmt::format("{} = {}", key, value));
    title = "";
  }
  return lines;
}

GaugeFileInfo nersc_gauge(const InputFile& file) {
  const NerscHeader header(file);
  const NerscLinks links = links_of(file, header);
  GaugeFileInfo info;
  info.path = file.path();
  info.format = "nersc";
  info.precision = links.numbers.bits;
  info.dims = even_dims(file, links.dims);
  info.plain = {.data_byte = header.bytes(), .rows = links.rows, .big_endian = links.big_endian};
  info.checksum.kind = ChecksumKind::nersc;
  if (const std::optional<std::uint32_t> sum = sum_of(header)) {
    info.checksum.state = ChecksumVerdict::State::ok;  // judged when the links are read
    info.checksum.stored = {*sum, 0};
  }
  add_stated(header, "PLAQUETTE", &GaugeObservables::plaquette, info);
  add_stated(header, "LINK_TRACE", &GaugeObservables::link_trace, info);
  return info;
}

void write_nersc_gauge(const std::string& path, const GaugeStore& links, const GaugeExport& options) {
  const PlainForm form{.rows = options.rows == 0 ? 2 : options.rows,
                       .precision = options.precision == 0 ? 64 : options.precision,
                       .big_endian = true};
  const Unitarity defects = links.unitarity();
  const double most = link_tolerance(form.precision);
  if (form.rows == 2 && !(defects.unitarity <= most && defects.determinant <= most)) {
    throw Error(
        ErrorCode::numerical,
        fmt::format("links that are not in SU(3) (|U U^+ - 1| is {:.3g} at {}) need all three rows: --rows 3",
                    defects.unitarity,
                    link_name(links.lattice().global_dims(), defects.unitarity_site, defects.unitarity_direction)));
  }
  const Dims& dims = links.lattice().global_dims();
  const GaugeObservables seen = links.observables();
  std::string head = "BEGIN_HEADER\nHDR_VERSION = 1.0\n";
  head += fmt::format("DATATYPE = 4D_SU3_GAUGE{}\n", form.rows == 3 ? "_3x3" : "");
  for (std::size_t mu = 0; mu < 4; ++mu) head += fmt::format("DIMENSION_{} = {}\n", mu + 1, dims[mu]);
  head += fmt::format("LINK_TRACE = {:.12f}\nPLAQUETTE = {:.12f}\nCHECKSUM = {:x}\n", seen.link_trace, seen.plaquette,
                      sums_of_plain_links(links, form).sum);
  head += fmt::format("CREATOR = Quadrille {}\nFLOATING_POINT = IEEE{}BIG\nEND_HEADER\n", QUADRILLE_VERSION,
                      form.precision);
  AtomicFile file(path);
  file.write(head);
  write_plain_links(file, links, form);
  file.commit();
}

}  // namespace quadrille
