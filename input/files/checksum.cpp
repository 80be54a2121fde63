#include "input/files/checksum.h"

#include "core/numbers/big_endian.h"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cstring>

namespace quadrille {

WordSums sums_of_words(const std::byte* bytes, std::uint64_t first, std::size_t words, bool big_endian) {
  WordSums sums;
  auto k29 = unsigned(first % 29), k31 = unsigned(first % 31);
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t word;
    std::memcpy(&word, bytes + i * sizeof word, sizeof word);
    if (big_endian) word = bytes_reversed(word);
    sums.sum += word;
    sums.swapped += bytes_reversed(word);
    sums.rotated.a ^= std::rotl(word, int(k29));
    sums.rotated.b ^= std::rotl(word, int(k31));
    if (++k29 == 29) k29 = 0;
    if (++k31 == 31) k31 = 0;
  }
  return sums;
}

void Checksum::add_site(std::uint64_t rank, const void* data, std::size_t bytes) {
  const auto crc = std::uint32_t(::crc32_z(0, static_cast<const unsigned char*>(data), bytes));
  a ^= std::rotl(crc, int(rank % 29));
  b ^= std::rotl(crc, int(rank % 31));
}

Checksum checksum_of_sites(const void* data, std::size_t site_bytes, std::int64_t first, std::int64_t sites) {
  const char* bytes = static_cast<const char*>(data);
  std::uint32_t a = 0, b = 0;
#pragma omp parallel for schedule(static) reduction(^ : a, b)
  for (std::int64_t i = 0; i < sites; ++i) {
    Checksum site;
    site.add_site(std::uint64_t(first + i), bytes + std::size_t(i) * site_bytes, site_bytes);
    a ^= site.a;
    b ^= site.b;
  }
  return {a, b};
}

std::vector<std::pair<std::string, std::string>> named_sums(const Checksum& sum, ChecksumKind kind) {
  const std::string a = fmt::format("{:08x}", sum.a), b = fmt::format("{:08x}", sum.b);
  switch (kind) {
    case ChecksumKind::scidac: return {{"suma", a}, {"sumb", b}};
    case ChecksumKind::milc: return {{"sum29", a}, {"sum31", b}};
    case ChecksumKind::nersc: break;
  }
  return {{"sum", a}};
}

std::string to_string(const Checksum& sum, ChecksumKind kind) {
  std::string text;
  for (const auto& [name, digits] : named_sums(sum, kind))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, digits);
  return text;
}

}  // namespace quadrille
