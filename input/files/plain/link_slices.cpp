#include "input/files/plain/link_slices.h"

#include "core/error.h"
#include "core/numbers/big_endian.h"
#include "input/files/gauge_file.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace quadrille {

namespace {

constexpr std::int64_t reals_of_link = 18;

std::int64_t sites_of_slice(const GaugeStore& links) {
  const Dims& dims = links.lattice().global_dims();
  return std::int64_t(dims[0]) * dims[1] * dims[2];
}

template <class Word, class Real>
void put(std::vector<std::byte>& to, double number, bool big_endian) {
  const auto word = std::bit_cast<Word>(Real(number));
  const Word stored = big_endian ? bytes_reversed(word) : word;
  const std::size_t at = to.size();
  to.resize(at + sizeof stored);
  std::memcpy(to.data() + at, &stored, sizeof stored);
}

/// The bytes of a slice.
std::vector<std::byte> slice_bytes(const GaugeStore& links, int t, const PlainForm& form) {
  const std::vector<double> slice = links_of_slice(links, t);
  std::vector<std::byte> bytes;
  bytes.reserve(slice.size() * std::size_t(form.precision / 8));
  const auto put_one = form.precision == 64 ? &put<std::uint64_t, double> : &put<std::uint32_t, float>;
  for (std::size_t n = 0; n < slice.size(); ++n) {
    if (std::int64_t(n) % reals_of_link < 6 * form.rows) put_one(bytes, slice[n], form.big_endian);
  }
  return bytes;
}

}  // namespace

std::vector<double> links_of_slice(const GaugeStore& links, int t) {
  const std::int64_t sites = sites_of_slice(links), reals = sites * 4 * reals_of_link;
  std::vector<std::byte> bytes(std::size_t(reals) * sizeof(double));
  links.pack(bytes.data(), 64, t * sites, sites);
  std::vector<double> slice(static_cast<std::size_t>(reals));
  for (std::int64_t n = 0; n < reals; ++n) {
    slice[std::size_t(n)] = get_big_endian<double>(bytes.data(), n);
    if (std::isfinite(slice[std::size_t(n)])) continue;
    throw Error(ErrorCode::numerical,
                fmt::format("the gauge field contains {} at {}; every number should be finite", slice[std::size_t(n)],
                            gauge_real_name(links.lattice().global_dims(), t * sites * 4 * reals_of_link + n)));
  }
  return slice;
}

WordSums sums_of_plain_links(const GaugeStore& links, const PlainForm& form) {
  WordSums sums;
  std::uint64_t words = 0;
  for (int t = 0; t < links.lattice().global_dims()[3]; ++t) {
    const std::vector<std::byte> bytes = slice_bytes(links, t, form);
    sums.add(sums_of_words(bytes.data(), words, bytes.size() / 4, form.big_endian));
    words += bytes.size() / 4;
  }
  return sums;
}

void write_plain_links(AtomicFile& file, const GaugeStore& links, const PlainForm& form) {
  for (int t = 0; t < links.lattice().global_dims()[3]; ++t) {
    const std::vector<std::byte> bytes = slice_bytes(links, t, form);
    file.write(bytes.data(), bytes.size());
  }
}

}  // namespace quadrille
