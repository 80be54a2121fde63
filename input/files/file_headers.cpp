#include "input/files/file_headers.h"

#include "core/error.h"
#include "modules/shared/elements/matrix_elements.h"

#include <fmt/format.h>

namespace quadrille {

void fail_in_header(const InputFile& file, const std::string& message, std::int64_t byte) {
  throw Error(ErrorCode::file, message, {.file = file.path(), .byte = byte});
}

std::vector<unsigned char> start_of(const InputFile& file, std::size_t bytes) {
  if (file.size() < bytes) fail_in_header(file, fmt::format("the file ends in its header, which has {} bytes", bytes));
  std::vector<unsigned char> start(bytes);
  file.read(0, start.data(), bytes);
  return start;
}

std::string extents_line(const HeaderExtents& dims) {
  return fmt::format("{} {} {} {} (x y z t)", dims[0], dims[1], dims[2], dims[3]);
}

unsigned __int128 links_bytes(const HeaderExtents& dims, int reals, int bits) {
  unsigned __int128 bytes = 4U * unsigned(reals) * unsigned(bits) / 8;
  for (const std::uint64_t extent : dims) bytes *= extent;
  return bytes;
}

void check_links_size(const InputFile& file, std::uint64_t header, const HeaderExtents& dims, int reals, int bits) {
  const unsigned __int128 needed = links_bytes(dims, reals, bits);
  if (needed == file.size() - header) return;
  fail_in_header(file,
                 fmt::format("{} bytes follow the header, but the links of a {} x {} x {} x {} lattice take {}: the "
                             "file is cut short, or its header is wrong",
                             file.size() - header, dims[0], dims[1], dims[2], dims[3], needed),
                 std::int64_t(header));
}

void check_header_extents(const InputFile& file, const HeaderExtents& dims) {
  for (const std::uint64_t extent : dims) {
    if (extent < 1 || extent > largest_extent)
      fail_in_header(file, fmt::format("an extent of {}: it must be 1 to {}", extent, largest_extent));
  }
}

namespace elsi = elsi;

namespace {

/// Of elsi::kind, beside elsi::real: pairs of numbers, which block_dft does not read.
constexpr std::int64_t complex_kind = 1;

std::int64_t elsi_word(const unsigned char* start, elsi::Head which) {
  return header_word<std::int64_t>(start + 8 * which);
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
    fail_in_header(
        file,
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
