#include "input/files/plain/plain_links.h"

#include "core/numbers/big_endian.h"
#include "core/su3/su3.h"
#include "core/system/log.h"
#include "input/files/lattice_data.h"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace quadrille {

namespace {

constexpr int links_of_site = 4;
constexpr int plain_reals = links_of_site * 18;

std::size_t link_reals(const GaugeFileInfo& info) { return std::size_t(info.plain.rows) * 6; }

std::size_t plain_site_bytes(const GaugeFileInfo& info) {
  return links_of_site * link_reals(info) * std::size_t(info.precision) / 8;
}

template <class Word>
Word stored_word(const std::byte* bytes, std::size_t index, bool big_endian) {
  Word word;
  std::memcpy(&word, bytes + index * sizeof word, sizeof word);
  return big_endian ? bytes_reversed(word) : word;
}

/// Links as they stand in the file, and then in ILDG's form in 64 bits.
template <class Word, class Real>
void to_ildg(const std::byte* from, std::byte* to, std::int64_t links, const PlainLinks& form) {
  const std::size_t reals = std::size_t(form.rows) * 6;
  for (std::int64_t link = 0; link < links; ++link) {
    Matrix3 u;
    for (std::size_t i = 0; i < reals / 2; ++i) {
      const auto real = [&](std::size_t part) {
        return double(
            std::bit_cast<Real>(stored_word<Word>(from, std::size_t(link) * reals + 2 * i + part, form.big_endian)));
      };
      u[i] = Complex(real(0), real(1));
    }
    if (form.rows == 2) complete_third_row(u);
    for (std::int64_t i = 0; i < 9; ++i) {
      put_big_endian<double>(to, link * 18 + 2 * i, u[std::size_t(i)].real());
      put_big_endian<double>(to, link * 18 + 2 * i + 1, u[std::size_t(i)].imag());
    }
  }
}

SiteReader reader_of(const InputFile& file, const GaugeFileInfo& info) {
  return [&file, info](std::byte* bytes, std::int64_t first, std::int64_t count) {
    const std::size_t site = plain_site_bytes(info), words = site / 4;
    std::vector<std::byte> stored(std::size_t(count) * site);
    file.read(info.plain.data_byte + std::uint64_t(first) * site, stored.data(), stored.size());
    const auto convert = info.precision == 64 ? &to_ildg<std::uint64_t, double> : &to_ildg<std::uint32_t, float>;
    convert(stored.data(), bytes, count * links_of_site, info.plain);
    return sums_of_words(stored.data(), std::uint64_t(first) * words, std::size_t(count) * words,
                         info.plain.big_endian);
  };
}

/// `checksum` and `stated` with what the links have.
void judge(GaugeFile& loaded, const SiteData& found) {
  ChecksumVerdict& verdict = loaded.info.checksum;
  switch (verdict.kind) {
    case ChecksumKind::milc: verdict.computed = found.words.rotated; break;
    case ChecksumKind::nersc: verdict.computed = {found.words.sum, 0}; break;
    case ChecksumKind::scidac: verdict.computed = found.checksum; break;  // of a format that has none
  }
  using State = ChecksumVerdict::State;
  if (verdict.state != State::missing) verdict.state = verdict.stored == verdict.computed ? State::ok : State::mismatch;
  if (verdict.state == State::mismatch && verdict.kind == ChecksumKind::nersc &&
      verdict.stored.a == found.words.swapped)
    verdict.cause = fmt::format("in the other byte order they give that sum: FLOATING_POINT should be IEEE{}{}",
                                loaded.info.precision, loaded.info.plain.big_endian ? "LITTLE" : "BIG");
  loaded.info.links_sum = found.checksum;
}

void demand_finite_links(const GaugeFileInfo& info, const SiteData& found) {
  if (found.not_finite < 0) return;
  Location where = link_location(info, found.not_finite / 18);
  where.byte += found.not_finite % 18 * info.precision / 8;
  throw Error(ErrorCode::numerical,
              fmt::format("the gauge field contains {} at {}; every number should be finite", found.value,
                          gauge_real_name(info.dims, found.not_finite)),
              where);
}

void demand_agreement(const GaugeFileInfo& info, const GaugeReadOptions& options) {
  if (options.judge_only) return;
  const std::optional<Error> error = contradiction(info);
  if (!error) return;
  if (options.verify_checksum)
    throw Error(error->code(), fmt::format("{} (gauge.verify_checksum: false makes this a warning)", error->message()),
                error->where());
  log().warn("{}", error->what());
}

}  // namespace

GaugeFile read_plain_links(const InputFile& file, GaugeFileInfo info, const GaugeReadOptions& options) {
  const SiteReader reader = reader_of(file, info);
  return read_links(reader, std::move(info), options);
}

GaugeFile read_links(const SiteReader& reader, GaugeFileInfo info, const GaugeReadOptions& options) {
  GaugeFile loaded{std::move(info), nullptr, nullptr};
  loaded.lattice = std::make_unique<const Lattice>(
      loaded.info.dims, options.communicator ? options.communicator : options.ranks.for_lattice(loaded.info.dims));
  Backend& backend = options.backend != nullptr ? *options.backend : cpu_backend();
  loaded.links = std::make_shared<GaugeStore>(*loaded.lattice, backend);
  constexpr int bits = 64;
  const auto unpack = [&loaded](const void* bytes, std::int64_t first, std::int64_t count) {
    loaded.links->unpack(bytes, bits, first, count);
  };
  const DataFormat format{
      .dims = loaded.info.dims, .reals = plain_reals, .precision = bits, .lattice = loaded.lattice.get()};
  const SiteData found = read_pieces(reader, format, backend, unpack);
  judge(loaded, found);
  demand_agreement(loaded.info, options);  // the checksum first: a damaged file is the likelier cause of what follows
  demand_finite_links(loaded.info, found);
  loaded.links->changed();
  if (loaded.info.stated.empty()) return loaded;
  const GaugeObservables seen = loaded.links->observables();
  for (StatedNumber& one : loaded.info.stated) one.found = seen.*one.of;
  if (loaded.info.checksum.state != ChecksumVerdict::State::mismatch) demand_agreement(loaded.info, options);
  return loaded;
}

Dims even_dims(const InputFile& file, const HeaderExtents& extents) {
  Dims dims{};
  for (std::size_t mu = 0; mu < 4; ++mu) dims[mu] = int(extents[mu]);
  check_extents(dims, {.file = file.path(), .byte = 0});
  return dims;
}

}  // namespace quadrille
