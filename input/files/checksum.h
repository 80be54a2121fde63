// Checksums of lattice data: SciDAC's, and those of other formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

/// Sums of a file's 32-bit words as they stand, in the byte order of the file; k is a word's number, from 0.
struct WordSums {
  std::uint32_t sum = 0;      ///< modulo 2^32
  std::uint32_t swapped = 0;  ///< the same of the words in the other byte order
  Checksum rotated{};         ///< a ^= rotl32(word, k mod 29), b ^= rotl32(word, k mod 31)

  void add(const WordSums& part) {
    sum += part.sum;
    swapped += part.swapped;
    rotated.add(part.rotated);
  }
};

/// Of words the first of which has number `first`.
WordSums sums_of_words(const std::byte* bytes, std::uint64_t first, std::size_t words, bool big_endian);

/// What the numbers of a Checksum are: suma and sumb of SciDAC; sum29 and sum31 of MILC, which are WordSums::rotated;
/// the CHECKSUM of NERSC, which is WordSums::sum in `a`, beside 0.
enum class ChecksumKind { scidac, milc, nersc };

/// Their names and their hexadecimal digits.
std::vector<std::pair<std::string, std::string>> named_sums(const Checksum& sum, ChecksumKind kind);

/// "suma a2c41090, sumb 11193c39".
std::string to_string(const Checksum& sum, ChecksumKind kind = ChecksumKind::scidac);

}  // namespace quadrille
