#include "core/error.h"
#include "dirac/dslash.h"
#include "input/capi/arrays.h"
#include "input/files/big_endian.h"
#include "input/files/gauge_file.h"
#include "input/files/lattice_data.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace quadrille::capi {

namespace {

constexpr int link_reals = 18;

void store_big(std::byte* to, std::uint64_t word) { store_big_u64(to, word); }
void store_big(std::byte* to, std::uint32_t word) { store_big_u32(to, word); }
std::uint64_t load_big(const std::byte* from, std::uint64_t) { return load_big_u64(from); }
std::uint32_t load_big(const std::byte* from, std::uint32_t) { return load_big_u32(from); }

/// Of the host's number `n` of a link (row, column, re and im), where it stands.
constexpr int transposed(int n) { return ((n / 2 % 3) * 3 + n / 6) * 2 + n % 2; }

void check_bytes(const Parameters& words, double needed) {
  if (!words.has("bytes") || double(words.integer("bytes")) == needed) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("'bytes': each array must have {:.0f} bytes, not {}", needed, words.integer("bytes")),
              words.where("bytes"));
}

SiteFormat format_of(const Dims& dims, int bits) { return {.dims = dims, .reals = 4 * link_reals, .precision = bits}; }

}  // namespace

void check_arrays(const void* const* arrays, std::size_t count, std::size_t alignment, const std::string& what) {
  if (arrays == nullptr) throw Error(ErrorCode::invalid_input, fmt::format("the list of {} is a null pointer", what));
  for (std::size_t k = 0; k < count; ++k) {
    if (arrays[k] == nullptr) throw Error(ErrorCode::invalid_input, fmt::format("{}[{}] is a null pointer", what, k));
    if (reinterpret_cast<std::uintptr_t>(arrays[k]) % alignment != 0) {
      throw Error(ErrorCode::invalid_input, fmt::format("{}[{}] is not aligned to the {} bytes of its numbers: is "
                                                        "'precision' right?",
                                                        what, k, alignment));
    }
  }
}

LinkArrays::LinkArrays(const Parameters& words, const Dims& dims, const void* const* arrays, std::size_t count)
    : dims_(dims), bits_(words.text("precision") == "single" ? 32 : 64), columns_(words.text("matrix") == "columns") {
  const std::string& order = words.text("order");
  const std::size_t wanted = order == "qdp" ? 4 : 1;
  if (count != wanted) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("order: {} is {} of links, not {}", order,
                            wanted == 1 ? "one array" : "four arrays (one for each mu)", count),
                words.where("order"));
  }
  const std::size_t number = std::size_t(bits_) / 8;
  check_arrays(arrays, count, number, "links");
  even_odd_ = words.has("sites") ? words.text("sites") == "even_odd" : order != "ildg";
  stride_ = link_reals * number * (wanted == 1 ? 4 : 1);
  for (std::size_t mu = 0; mu < 4; ++mu) {
    auto* array = static_cast<std::byte*>(const_cast<void*>(arrays[wanted == 1 ? 0 : mu]));
    first_[mu] = wanted == 1 ? array + mu * link_reals * number : array;
  }
  check_bytes(words, double(volume(dims)) * double(stride_));
  const HopScalars factors{words.boundary("boundary"), 1};
  for (std::size_t mu = 0; mu < 4; ++mu) {
    undo_[mu] = std::conj(boundary_factor(factors, int(mu)));
    undoes_ = undoes_ || undo_[mu] != 1.0;
  }
}

std::byte* LinkArrays::link(std::int64_t site, int mu) const { return first_[mu] + std::size_t(site) * stride_; }

template <class Real, class Word>
void LinkArrays::fill(std::byte* bytes, std::int64_t begin, std::int64_t end) const {
  const std::int64_t half = volume(dims_) / 2;
  for (std::int64_t site = begin; site < end; ++site) {
    const Dims x = site_coordinates(dims_, site);
    const std::int64_t place = even_odd_ ? Lattice::parity(x) * half + site / 2 : site;
    for (int mu = 0; mu < 4; ++mu) {
      Real numbers[link_reals];
      std::memcpy(numbers, link(place, mu), sizeof numbers);
      if (undoes_ && x[std::size_t(mu)] == dims_[std::size_t(mu)] - 1 && undo_[std::size_t(mu)] != 1.0) {
        for (int n = 0; n < link_reals; n += 2) {
          const Complex u = Complex(numbers[n], numbers[n + 1]) * undo_[std::size_t(mu)];
          numbers[n] = Real(u.real());
          numbers[n + 1] = Real(u.imag());
        }
      }
      for (int n = 0; n < link_reals; ++n, bytes += sizeof(Real)) {
        store_big(bytes, std::bit_cast<Word>(numbers[columns_ ? transposed(n) : n]));
      }
    }
  }
}

template <class Real, class Word>
void LinkArrays::take(const std::byte* bytes, std::int64_t begin, std::int64_t end) const {
  const std::int64_t half = volume(dims_) / 2;
  for (std::int64_t site = begin; site < end; ++site) {
    const std::int64_t parity = even_odd_ ? Lattice::parity(site_coordinates(dims_, site)) : 0;
    const std::int64_t place = even_odd_ ? parity * half + site / 2 : site;
    for (int mu = 0; mu < 4; ++mu) {
      Real numbers[link_reals];
      for (int n = 0; n < link_reals; ++n, bytes += sizeof(Real)) {
        numbers[columns_ ? transposed(n) : n] = std::bit_cast<Real>(load_big(bytes, Word{}));
      }
      std::memcpy(link(place, mu), numbers, sizeof numbers);
    }
  }
}

void LinkArrays::read_into(GaugeStore& store) const {
  fill_pieces(
      format_of(dims_, bits_), store.backend(),
      [this](std::byte* bytes, std::int64_t begin, std::int64_t end) {
        bits_ == 64 ? fill<double, std::uint64_t>(bytes, begin, end) : fill<float, std::uint32_t>(bytes, begin, end);
      },
      [&](const void* bytes, std::int64_t first, std::int64_t count) { store.unpack(bytes, bits_, first, count); });
  store.changed();
  demand_su3(store);
}

void LinkArrays::write_from(const GaugeStore& store) const {
  take_pieces(
      format_of(dims_, bits_), store.backend(),
      [&](void* bytes, std::int64_t first, std::int64_t count) { store.pack(bytes, bits_, first, count); },
      [this](const std::byte* bytes, std::int64_t begin, std::int64_t end) {
        bits_ == 64 ? take<double, std::uint64_t>(bytes, begin, end) : take<float, std::uint32_t>(bytes, begin, end);
      });
}

void LinkArrays::demand_su3(const GaugeStore& store) const {
  const Unitarity found = store.unitarity();
  const double most = link_tolerance(bits_);
  if (!(found.unitarity <= most)) {
    throw Error(
        ErrorCode::numerical,
        fmt::format("the links are not in SU(3): the largest |U U^+ - 1| is {:.3g} at {}, at most {:.0e} is "
                    "taken from {} bits. Links come without anisotropy and smearing factors; are order, sites, "
                    "matrix and precision right?",
                    found.unitarity, link_name(dims_, found.unitarity_site, found.unitarity_direction), most, bits_));
  }
  if (found.determinant <= most) return;
  const Dims x = site_coordinates(dims_, found.determinant_site);
  const auto mu = std::size_t(found.determinant_direction);
  const bool at_boundary = x[mu] == dims_[mu] - 1;
  throw Error(
      ErrorCode::numerical,
      fmt::format("the links are not in SU(3): they are unitary, but |det U - 1| is {:.3g} at {}{}", found.determinant,
                  link_name(dims_, found.determinant_site, found.determinant_direction),
                  at_boundary
                      ? ", on the last slice: boundary factors seem to be multiplied into the links. Say so, as "
                        "in `boundary: [periodic, periodic, periodic, antiperiodic]`, and they are divided out"
                      : ""));
}

}  // namespace quadrille::capi
