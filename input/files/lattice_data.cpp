#include "input/files/lattice_data.h"

#include "core/backend/transfer_buffer.h"
#include "core/comm/agreement.h"
#include "input/files/big_endian.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <vector>

namespace quadrille {

namespace {

constexpr std::size_t piece_bytes = std::size_t(8) << 20;   ///< given to the backend at once
constexpr std::size_t part_bytes = std::size_t(256) << 10;  ///< moved by a thread at once; stays in its cache

std::int64_t sites_in(std::size_t bytes, const DataFormat& format) {
  return std::max<std::int64_t>(1, std::int64_t(bytes / format.site_bytes()));
}

std::int64_t sites_here(const DataFormat& format) {
  return format.lattice ? format.lattice->volume() : volume(format.dims);
}

/// Sites that follow each other here as they do in the file: rows, planes or more, as far as the directions are whole.
std::int64_t stretch_of(const DataFormat& format) {
  std::int64_t sites = 1;
  for (int mu = 0; mu < 4; ++mu) {
    sites *= format.lattice->dims()[std::size_t(mu)];
    if (format.communicator().splits(mu)) break;
  }
  return sites;
}

/// Calls f(first site here, first site in the file, count) for the parts of the sites [begin, end) that lie together in
/// the file.
template <class F>
void for_each_stretch(const DataFormat& format, std::int64_t begin, std::int64_t end, const F& f) {
  if (format.communicator().size() == 1) return f(begin, begin, end - begin);
  const std::int64_t whole = stretch_of(format);
  for (std::int64_t site = begin; site < end;) {
    const std::int64_t next = std::min(end, (site / whole + 1) * whole);
    f(site, format.lattice->global_site(format.lattice->coordinates(site)), next - site);
    site = next;
  }
}

/// What all ranks have found.
SiteData of_all_ranks(const DataFormat& format, const SiteData& mine) {
  std::vector<SiteData> all(std::size_t(format.communicator().size()));
  format.communicator().gather(&mine, sizeof mine, all.data());
  SiteData found;
  for (const SiteData& theirs : all) found.add(theirs);
  return found;
}

/// A field cut into pieces, and buffers for them in turn: a second one where the backend works while the host does.
class Pieces {
 public:
  Pieces(const DataFormat& format, Backend& backend) : format_(format), sites_(sites_here(format)) {
    most_ = std::min(sites_, sites_in(piece_bytes, format));
    buffers_.resize(backend.host_memory() ? 1 : 2);
    for (auto& buffer : buffers_) buffer = backend.transfer_buffer(std::size_t(most_) * format.site_bytes());
  }

  std::int64_t count() const { return (sites_ + most_ - 1) / most_; }
  std::int64_t buffers() const { return std::int64_t(buffers_.size()); }
  TransferBuffer& buffer(std::int64_t piece) { return *buffers_[std::size_t(piece % buffers())]; }
  std::int64_t first(std::int64_t piece) const { return piece * most_; }
  std::int64_t sites(std::int64_t piece) const { return std::min(most_, sites_ - first(piece)); }
  std::size_t bytes(std::int64_t piece) const { return std::size_t(sites(piece)) * format_.site_bytes(); }

 private:
  DataFormat format_;
  std::int64_t sites_, most_ = 0;
  std::vector<std::unique_ptr<TransferBuffer>> buffers_;
};

/// Index of the first number that is not finite, or `count`. Its exponent is all ones: in the two bytes that come first
/// in the file, which are the lowest of a word as a little-endian machine loads it.
template <class Word, Word exponent>
std::int64_t first_not_finite(const std::byte* bytes, std::int64_t count) {
  const auto bad = [bytes](std::int64_t i) {
    Word word;
    std::memcpy(&word, bytes + std::size_t(i) * sizeof word, sizeof word);
    return (word & exponent) == exponent;
  };
  unsigned any = 0;
  for (std::int64_t i = 0; i < count; ++i) any |= unsigned(bad(i));
  if (any == 0) return count;
  std::int64_t i = 0;
  while (!bad(i)) ++i;
  return i;
}

/// What there is in sites that stand as in the file, the first of which is the site `first` of the file.
SiteData check_stretch(const DataFormat& format, const std::byte* bytes, std::int64_t first, std::int64_t sites) {
  SiteData found;
  for (std::int64_t i = 0; i < sites; ++i)
    found.checksum.add_site(std::uint64_t(first + i), bytes + std::size_t(i) * format.site_bytes(),
                            format.site_bytes());
  const std::int64_t reals = sites * format.reals;
  const bool wide = format.precision == 64;
  const std::int64_t bad = wide ? first_not_finite<std::uint64_t, 0xf07f>(bytes, reals)
                                : first_not_finite<std::uint32_t, 0x807f>(bytes, reals);
  if (bad == reals) return found;
  found.not_finite = first * format.reals + bad;
  found.value = wide ? std::bit_cast<double>(load_big_u64(bytes + bad * 8))
                     : double(std::bit_cast<float>(load_big_u32(bytes + bad * 4)));
  return found;
}

/// The same of the sites [begin, end) of this rank.
SiteData check_sites(const DataFormat& format, const std::byte* bytes, std::int64_t begin, std::int64_t end) {
  SiteData found;
  for_each_stretch(format, begin, end, [&](std::int64_t here, std::int64_t in_file, std::int64_t sites) {
    found.add(check_stretch(format, bytes + std::size_t(here - begin) * format.site_bytes(), in_file, sites));
  });
  return found;
}

/// Calls work(begin, end), which gives SiteData, for parts of the sites [0, count), from all threads, and joins what
/// they find. Of several errors that of the lowest sites is thrown.
template <class Work>
SiteData over_parts(const DataFormat& format, std::int64_t count, const Work& work) {
  const std::int64_t most = sites_in(part_bytes, format), parts = (count + most - 1) / most;
  SiteData found;
  std::exception_ptr error;
  std::int64_t failed = parts;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t part = 0; part < parts; ++part) {
    try {
      const SiteData mine = work(part * most, std::min(count, (part + 1) * most));
#pragma omp critical(quadrille_lattice_data)
      found.add(mine);
    } catch (...) {
#pragma omp critical(quadrille_lattice_data)
      if (part < failed) {
        failed = part;
        error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
  return found;
}

/// `concurrent`: whether several threads may read at once.
SiteData read_by(const SiteReader& reader, bool concurrent, const DataFormat& format, Backend& backend,
                 const UnpackSites& unpack) {
  SiteData found;
  const auto read_part = [&](std::byte* bytes, std::int64_t begin, std::int64_t end) {
    WordSums words;
    for_each_stretch(format, begin, end, [&](std::int64_t here, std::int64_t in_file, std::int64_t sites) {
      words.add(reader(bytes + std::size_t(here - begin) * format.site_bytes(), in_file, sites));
    });
    return words;
  };
  const auto read_all = [&] {
    Pieces pieces(format, backend);
    for (std::int64_t piece = 0; piece < pieces.count(); ++piece) {
      TransferBuffer& buffer = pieces.buffer(piece);
      buffer.wait();
      const std::int64_t first = pieces.first(piece), count = pieces.sites(piece);
      if (!concurrent) found.words.add(read_part(buffer.host(), first, first + count));
      found.add(over_parts(format, count, [&](std::int64_t begin, std::int64_t end) {
        std::byte* const bytes = buffer.host() + std::size_t(begin) * format.site_bytes();
        const WordSums words = concurrent ? read_part(bytes, first + begin, first + end) : WordSums{};
        SiteData part = check_sites(format, bytes, first + begin, first + end);
        part.words = words;
        return part;
      }));
      buffer.send(pieces.bytes(piece));
      unpack(buffer.device(), first, count);
      buffer.record_use();
    }
    for (std::int64_t i = 0; i < pieces.buffers(); ++i) pieces.buffer(i).wait();
  };
  all_or_none(format.communicator(), read_all);
  return of_all_ranks(format, found);
}

/// Calls pack for each piece, then finish(piece, its bytes) when they are there: while that works on one piece, the
/// backend packs the next.
template <class Finish>
void for_each_packed(Pieces& pieces, const PackSites& pack, const Finish& finish) {
  const std::int64_t behind = pieces.buffers() - 1;
  for (std::int64_t piece = 0; piece < pieces.count() + behind; ++piece) {
    if (piece < pieces.count()) {
      TransferBuffer& buffer = pieces.buffer(piece);
      pack(buffer.device(), pieces.first(piece), pieces.sites(piece));
      buffer.fetch(pieces.bytes(piece));
    }
    if (piece < behind) continue;
    TransferBuffer& full = pieces.buffer(piece - behind);
    full.wait();
    finish(piece - behind, full.host());
  }
}

/// Writes the pieces, up to one with a number that is not finite.
SiteData write_packed(LimeOutput& file, const DataFormat& format, Backend& backend, const PackSites& pack) {
  Pieces pieces(format, backend);
  SiteData found;
  const auto write_part = [&](const std::byte* bytes, std::int64_t begin, std::int64_t end) {
    for_each_stretch(format, begin, end, [&](std::int64_t here, std::int64_t in_file, std::int64_t sites) {
      file.write_at(std::uint64_t(in_file) * format.site_bytes(),
                    bytes + std::size_t(here - begin) * format.site_bytes(), std::size_t(sites) * format.site_bytes());
    });
  };
  const auto write_all = [&](std::int64_t piece, const std::byte* host) {
    if (found.not_finite >= 0) return;
    const std::int64_t first = pieces.first(piece);
    found.add(over_parts(format, pieces.sites(piece), [&](std::int64_t begin, std::int64_t end) {
      const std::byte* const bytes = host + std::size_t(begin) * format.site_bytes();
      const SiteData part = check_sites(format, bytes, first + begin, first + end);
      if (file.concurrent()) write_part(bytes, first + begin, first + end);
      return part;
    }));
    if (!file.concurrent()) return file.write(host, pieces.bytes(piece));
    for_each_stretch(format, first, first + pieces.sites(piece),
                     [&](std::int64_t, std::int64_t in_file, std::int64_t sites) {
                       const std::uint64_t bytes = std::uint64_t(sites) * format.site_bytes();
                       if (bytes >= part_bytes)
                         file.begin_writeback(std::uint64_t(in_file) * format.site_bytes(), bytes);
                     });
  };
  all_or_none(format.communicator(), [&] { for_each_packed(pieces, pack, write_all); });
  return of_all_ranks(format, found);
}

/// `value`: the first number that is not finite in the file, in words.
void demand_finite(const LimeOutput& file, const DataFormat& format, const SiteData& found, const std::string& value,
                   const RealName& name) {
  if (found.not_finite < 0) return;
  throw Error(ErrorCode::numerical,
              fmt::format("the value {} at {} cannot be written as a {}-bit number; the incomplete file was removed",
                          value, name(found.not_finite), format.precision),
              {.file = file.path()});
}

/// Numbers of the host as they stand in the file.
template <class Word, class Real>
void encode(const double* from, std::byte* to, std::int64_t count) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const Word word = std::bit_cast<Word>(Real(from[i]));
    if constexpr (sizeof(Word) == 8)
      store_big_u64(to + i * 8, word);
    else
      store_big_u32(to + i * 4, word);
  }
}

template <class Word, class Real>
void decode(const std::byte* from, double* to, std::int64_t count) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (sizeof(Word) == 8)
      to[i] = std::bit_cast<Real>(load_big_u64(from + i * 8));
    else
      to[i] = double(std::bit_cast<Real>(load_big_u32(from + i * 4)));
  }
}

PackSites pack_of(const DataFormat& format, const double* data) {
  return [format, data](void* bytes, std::int64_t first, std::int64_t count) {
    const auto put = format.precision == 64 ? &encode<std::uint64_t, double> : &encode<std::uint32_t, float>;
    put(data + first * format.reals, static_cast<std::byte*>(bytes), count * format.reals);
  };
}

}  // namespace

void SiteData::add(const SiteData& part) {
  checksum.add(part.checksum);
  words.add(part.words);
  if (part.not_finite < 0 || (not_finite >= 0 && not_finite < part.not_finite)) return;
  not_finite = part.not_finite;
  value = part.value;
}

std::optional<std::uint64_t> field_bytes(const DataFormat& format) {
  std::uint64_t bytes = format.site_bytes();
  for (const int extent : format.dims)
    if (extent <= 0 || __builtin_mul_overflow(bytes, std::uint64_t(extent), &bytes)) return std::nullopt;
  return bytes;
}

void fail_in_file(const std::string& message, const Location& where) { throw Error(ErrorCode::file, message, where); }

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

SiteData read_pieces(const LimeInput& file, const LimeRecord& record, const DataFormat& format, Backend& backend,
                     const UnpackSites& unpack) {
  const SiteReader from_record = [&](std::byte* bytes, std::int64_t first, std::int64_t count) {
    file.read(record, std::uint64_t(first) * format.site_bytes(), bytes, std::size_t(count) * format.site_bytes());
    return WordSums{};
  };
  return read_by(from_record, file.concurrent(), format, backend, unpack);
}

SiteData read_pieces(const SiteReader& reader, const DataFormat& format, Backend& backend, const UnpackSites& unpack) {
  return read_by(reader, true, format, backend, unpack);
}

Checksum write_pieces(LimeOutput& file, const DataFormat& format, Backend& backend, const PackSites& pack,
                      const RealName& name) {
  const SiteData found = write_packed(file, format, backend, pack);
  const bool may_be_large = format.precision == 32 && std::isinf(found.value);
  demand_finite(file, format, found, fmt::format("{}{}", found.value, may_be_large ? " (or beyond 3.4e38)" : ""), name);
  return found.checksum;
}

SiteData check_pieces(const DataFormat& format, Backend& backend, const PackSites& pack) {
  Pieces pieces(format, backend);
  SiteData found;
  for_each_packed(pieces, pack, [&](std::int64_t piece, const std::byte* host) {
    const std::int64_t first = pieces.first(piece);
    found.add(over_parts(format, pieces.sites(piece), [&](std::int64_t begin, std::int64_t end) {
      return check_sites(format, host + std::size_t(begin) * format.site_bytes(), first + begin, first + end);
    }));
  });
  return of_all_ranks(format, found);
}

SiteData read_sites(const LimeInput& file, const LimeRecord& record, const DataFormat& format, double* data) {
  const auto take = format.precision == 64 ? &decode<std::uint64_t, double> : &decode<std::uint32_t, float>;
  return read_pieces(file, record, format, cpu_backend(),
                     [&](const void* bytes, std::int64_t first, std::int64_t count) {
                       take(static_cast<const std::byte*>(bytes), data + first * format.reals, count * format.reals);
                     });
}

Checksum write_sites(LimeOutput& file, const DataFormat& format, const double* data, const RealName& name) {
  const SiteData found = write_packed(file, format, cpu_backend(), pack_of(format, data));
  if (found.not_finite >= 0) demand_finite(file, format, found, fmt::format("{}", data[found.not_finite]), name);
  return found.checksum;
}

Checksum checksum_of_field(const DataFormat& format, const double* data) {
  return check_pieces(format, cpu_backend(), pack_of(format, data)).checksum;
}

}  // namespace quadrille
