// The SciDAC checksum of lattice data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace quadrille {

/// With c the CRC-32 (zlib) of one site's bytes as they stand in the file, and r the site's lexicographic rank
/// ((t Lz + z) Ly + y) Lx + x: a ^= rotl32(c, r mod 29), b ^= rotl32(c, r mod 31). Sites may come in any order and
/// from any number of threads or processes: parts are combined with add().
struct Checksum {
  std::uint32_t a = 0;
  std::uint32_t b = 0;

  void add_site(std::uint64_t rank, const void* data, std::size_t bytes);
  void add(const Checksum& part) {
    a ^= part.a;
    b ^= part.b;
  }
  bool operator==(const Checksum&) const = default;
};

/// Of `sites` sites of `site_bytes` bytes each, the first of which has rank `first`; all threads work on it.
Checksum checksum_of_sites(const void* data, std::size_t site_bytes, std::int64_t first, std::int64_t sites);

/// "suma a2c41090, sumb 11193c39".
std::string to_string(const Checksum& sum);

}  // namespace quadrille
