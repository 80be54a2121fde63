#include "input/files/checksum.h"

#include <fmt/format.h>
#include <zlib.h>

#include <bit>

namespace quadrille {

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
