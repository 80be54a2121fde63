// Links of one or two fields as plain data, and access to a link: what host loops and kernels that work on one site
// have in common.
#pragma once

#include "core/field/field.h"
#include "core/host_device.h"
#include "core/layout/grouped_layout.h"
#include "core/layout/site_place.h"
#include "core/numbers/half.h"
#include "core/su3/link_codec.h"

#include <cstdint>
#include <type_traits>

namespace quadrille {

/// The links that lie in one field, or in two: those of spatial hops and those of time.
struct LinkView {
  Extents extents;
  Precision precision;
  Reconstruct reconstruct;
  void* numbers[2][2];   ///< by field (1: of hops in t) and parity
  int stored[2];         ///< links a site of each field
  signed char index[8];  ///< of each hop (core/field/field.h) among the links of a site; -1: not stored
  int lanes;             ///< of the vector layout; 0 in the grouped one
  int block_t;           ///< sites along t of a sub-lattice of the vector layout, or of the lattice
  const std::int32_t *slots[2], *sites[2];  ///< of the vector layout, by parity

  QUADRILLE_HOST_DEVICE bool holds(int hop) const { return index[hop] >= 0; }
  /// The place in memory order of a site in either layout, and the site (even-odd index) at a place.
  QUADRILLE_HOST_DEVICE int slot(int parity, int site) const { return lanes > 0 ? slots[parity][site] : site; }
  QUADRILLE_HOST_DEVICE int site(int parity, int slot) const { return lanes > 0 ? sites[parity][slot] : slot; }
};

/// Of fields of links on one lattice and backend in one form; they outlive the view. Any set of directions.
LinkView view_of(const Field& links);
LinkView view_of(const Field& spatial, const Field& time);

/// Reads and writes links of `count` numbers of type Number (double, float, std::int16_t), in the grouped layout or the
/// vector layout.
template <class Number, int count, bool grouped>
class LinkAccess {
 public:
  using Real = std::conditional_t<std::is_same_v<Number, double>, double, float>;

  explicit LinkAccess(const LinkView& view) : view_(view) {}

  QUADRILLE_HOST_DEVICE const LinkView& view() const { return view_; }

  /// The link of a hop of the site with even-odd index `site`, decoded in the arithmetic of Real.
  QUADRILLE_HOST_DEVICE Matrix3 matrix(int hop, int parity, int site) const {
    Real numbers[count];
    for_each_number(hop, parity, site, [&](int n, Number& number) { numbers[n] = number; });
    if constexpr (count == 12) {
      return link_codec::decode_12(numbers);
    } else {
      static_assert(count == 18, "links of 8 numbers are made, not read");
      Matrix3 u;
      for (int i = 0; i < 9; ++i) u.e[std::size_t(i)] = Complex(numbers[2 * i], numbers[2 * i + 1]);
      return u;
    }
  }

  QUADRILLE_HOST_DEVICE void store(int hop, int parity, int site, const Matrix3& u) const {
    Real numbers[count];
    if constexpr (count == 18) {
      for (int i = 0; i < 9; ++i) {
        numbers[2 * i] = Real(u.e[std::size_t(i)].real());
        numbers[2 * i + 1] = Real(u.e[std::size_t(i)].imag());
      }
    } else if constexpr (count == 12) {
      link_codec::encode_12(u, numbers);
    } else {
      link_codec::encode_8(u, numbers);
    }
    for_each_number(hop, parity, site, [&](int n, Number& number) {
      if constexpr (std::is_same_v<Number, std::int16_t>) {
        // Quanta of the grouped layout have their sign bit flipped (core/numbers/half_words.h); links have the norm 1.
        number = std::int16_t(half::quantize(numbers[n], half::scale(1.0f)) ^ (grouped ? half::offset : 0));
      } else {
        number = numbers[n];
      }
    });
  }

 private:
  /// Calls f(n, number) for the stored numbers of a link.
  template <class F>
  QUADRILLE_HOST_DEVICE void for_each_number(int hop, int parity, int site, F&& f) const {
    const int field = hop >= 6 ? 1 : 0, first = view_.index[hop] * count;
    const int components = view_.stored[field] * count;
    Number* const numbers = static_cast<Number*>(view_.numbers[field][parity]);
    if constexpr (grouped) {
      constexpr int width = group_bytes / int(sizeof(Number));
      const int in_block = site % Layout::block;
      Number* const link = numbers + (std::int64_t(site - in_block) * components + first * Layout::block);
      QUADRILLE_UNROLL
      for (int n = 0; n < count; ++n) {
        const int group = n / width * width, of_group = count - group < width ? count - group : width;
        f(n, link[group * Layout::block + in_block * of_group + n % width]);
      }
    } else {
      const int lanes = view_.lanes, slot = view_.slots[parity][site];
      Number* const link = numbers + (std::int64_t(slot / lanes) * components + first) * lanes + slot % lanes;
      for (int n = 0; n < count; ++n) f(n, link[n * lanes]);
    }
  }

  LinkView view_;
};

}  // namespace quadrille
