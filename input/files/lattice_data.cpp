#include "input/files/lattice_data.h"

#include "input/files/big_endian.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace quadrille {

namespace {

constexpr std::size_t piece_bytes = std::size_t(8) << 20;  ///< moved at once

std::int64_t sites_per_piece(const SiteFormat& format) {
  return std::max<std::int64_t>(1, std::int64_t(piece_bytes / format.site_bytes()));
}

/// Big-endian numbers to doubles; returns the index of the first that is not finite, or `count`.
template <class Word, class Real>
std::int64_t decode(const char* from, double* to, std::int64_t count) {
  std::int64_t bad = count;
#pragma omp parallel for schedule(static) reduction(min : bad)
  for (std::int64_t i = 0; i < count; ++i) {
    Word word;
    if constexpr (sizeof(Word) == 8)
      word = load_big_u64(from + i * 8);
    else
      word = load_big_u32(from + i * 4);
    to[i] = double(std::bit_cast<Real>(word));
    if (!std::isfinite(to[i])) bad = std::min(bad, i);
  }
  return bad;
}

/// Doubles to big-endian numbers; returns the index of the first that cannot be one, or `count`.
template <class Word, class Real>
std::int64_t encode(const double* from, char* to, std::int64_t count) {
  std::int64_t bad = count;
#pragma omp parallel for schedule(static) reduction(min : bad)
  for (std::int64_t i = 0; i < count; ++i) {
    if (!(std::abs(from[i]) <= double(std::numeric_limits<Real>::max()))) {
      bad = std::min(bad, i);
      continue;
    }
    const Word word = std::bit_cast<Word>(Real(from[i]));
    if constexpr (sizeof(Word) == 8)
      store_big_u64(to + i * 8, word);
    else
      store_big_u32(to + i * 4, word);
  }
  return bad;
}

/// Big-endian numbers of the format's precision.
std::int64_t encode(const SiteFormat& format, const double* from, char* to, std::int64_t count) {
  return format.precision == 64 ? encode<std::uint64_t, double>(from, to, count)
                                : encode<std::uint32_t, float>(from, to, count);
}

}  // namespace

std::optional<std::uint64_t> field_bytes(const SiteFormat& format) {
  std::uint64_t bytes = format.site_bytes();
  for (const int extent : format.dims)
    if (extent <= 0 || __builtin_mul_overflow(bytes, std::uint64_t(extent), &bytes)) return std::nullopt;
  return bytes;
}

std::string extents_text(const Dims& dims) { return fmt::format("{}x{}x{}x{}", dims[0], dims[1], dims[2], dims[3]); }

void check_extents(const Dims& dims, const Location& where) {
  for (std::size_t mu = 0; mu < 4; ++mu)
    if (dims[mu] <= 0 || dims[mu] % 2 != 0)
      throw Error(
          ErrorCode::file,
          fmt::format("the lattice is {} (x, y, z, t): its {} extent {} is not an even number of at least 2. All "
                      "extents must be even",
                      extents_text(dims), "xyzt"[mu], dims[mu]),
          where);
}

SiteData read_sites(const LimeInput& file, const LimeRecord& record, const SiteFormat& format, double* data) {
  const std::int64_t sites = volume(format.dims), most = sites_per_piece(format);
  std::vector<char> piece(format.site_bytes() * std::size_t(std::min(sites, most)));
  SiteData found;
  for (std::int64_t first = 0; first < sites; first += most) {
    const std::int64_t count = std::min(most, sites - first), reals = count * format.reals;
    const std::size_t bytes = std::size_t(count) * format.site_bytes();
    file.read(record, std::uint64_t(first) * format.site_bytes(), piece.data(), bytes);
    found.checksum.add(checksum_of_sites(piece.data(), format.site_bytes(), first, count));
    double* to = data + first * format.reals;
    const std::int64_t bad = format.precision == 64 ? decode<std::uint64_t, double>(piece.data(), to, reals)
                                                    : decode<std::uint32_t, float>(piece.data(), to, reals);
    if (bad < reals && found.not_finite < 0) found.not_finite = first * format.reals + bad;
  }
  return found;
}

Checksum write_sites(LimeOutput& file, const SiteFormat& format, const double* data,
                     const std::function<std::string(std::int64_t)>& name) {
  const std::int64_t sites = volume(format.dims), most = sites_per_piece(format);
  std::vector<char> piece(format.site_bytes() * std::size_t(std::min(sites, most)));
  Checksum sum;
  for (std::int64_t first = 0; first < sites; first += most) {
    const std::int64_t count = std::min(most, sites - first), reals = count * format.reals;
    const double* from = data + first * format.reals;
    const std::int64_t bad = encode(format, from, piece.data(), reals);
    if (bad < reals)
      throw Error(ErrorCode::numerical,
                  fmt::format("the value {} at {} cannot be written as a {}-bit number; no file is left", from[bad],
                              name(first * format.reals + bad), format.precision),
                  {.file = file.path()});
    sum.add(checksum_of_sites(piece.data(), format.site_bytes(), first, count));
    file.write(piece.data(), std::size_t(count) * format.site_bytes());
  }
  return sum;
}

Checksum checksum_of_field(const SiteFormat& format, const double* data) {
  const std::int64_t sites = volume(format.dims), most = sites_per_piece(format);
  std::vector<char> piece(format.site_bytes() * std::size_t(std::min(sites, most)));
  Checksum sum;
  for (std::int64_t first = 0; first < sites; first += most) {
    const std::int64_t count = std::min(most, sites - first);
    encode(format, data + first * format.reals, piece.data(), count * format.reals);
    sum.add(checksum_of_sites(piece.data(), format.site_bytes(), first, count));
  }
  return sum;
}

}  // namespace quadrille
