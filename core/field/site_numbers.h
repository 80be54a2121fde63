// A field as plain data, and the numbers of one of its sites: what host loops and kernels that work on one site have in
// common. In the manner of core/gauge/link_view.h, for any site format.
#pragma once

#include "core/field/field.h"
#include "core/host_device.h"
#include "core/layout/grouped_layout.h"
#include "core/layout/site_place.h"
#include "core/layout/vector_layout.h"
#include "core/numbers/half.h"

#include <cstdint>
#include <type_traits>

namespace quadrille {

struct SiteView {
  Extents extents;
  Precision precision;
  void* numbers[2];                         ///< by parity; null where the field does not hold it
  float* norms[2];                          ///< in half precision of formats with norms
  int lanes;                                ///< of the vector layout; 0 in the grouped one
  const std::int32_t *slots[2], *sites[2];  ///< of the vector layout, by parity

  /// The place in memory order of a site in either layout, and the site (even-odd index) at a place.
  QUADRILLE_HOST_DEVICE int slot(int parity, int site) const { return lanes > 0 ? slots[parity][site] : site; }
  QUADRILLE_HOST_DEVICE int site(int parity, int slot) const { return lanes > 0 ? sites[parity][slot] : slot; }

  /// The field outlives the view.
  static SiteView of(const Field& field) {
    const FieldDesc& desc = field.desc();
    const Dims& dims = desc.lattice->dims();
    SiteView view{};
    view.extents = {dims[0], dims[1], dims[2], dims[3], int(desc.lattice->half_volume())};
    view.precision = desc.precision;
    const bool grouped = desc.layout.grouped();
    if (!grouped) view.lanes = desc.layout.lanes;
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      if (!grouped) {
        view.slots[int(p)] = desc.lattice->vector_layout(view.lanes).slots(p).data();
        view.sites[int(p)] = desc.lattice->vector_layout(view.lanes).sites(p).data();
      }
      if (!field.holds(p)) continue;
      view.numbers[int(p)] = const_cast<void*>(field.numbers(p));
      if (desc.has_norms()) view.norms[int(p)] = const_cast<float*>(field.norms(p));
    }
    return view;
  }
};

/// Reads and writes the `sections` times `section` numbers of a site, stored as Number (double, float, std::int16_t).
template <class Number, int sections, int section, bool grouped>
class SiteNumbers {
 public:
  static constexpr int count = sections * section;
  static constexpr bool in_groups = grouped;

  explicit SiteNumbers(const SiteView& view) : view_(view) {}
  QUADRILLE_HOST_DEVICE const SiteView& view() const { return view_; }

  QUADRILLE_HOST_DEVICE void load(int parity, int site, double* out) const {
    const int slot = view_.slot(parity, site);
    float norm = 1;
    if constexpr (quantized) norm = view_.norms[parity][slot];
    for (int n = 0; n < count; ++n) {
      const Number number = view_numbers(parity)[place(slot, n)];
      if constexpr (quantized) {
        out[n] = double(half::restore(std::int16_t(number ^ flipped), norm));
      } else {
        out[n] = double(number);
      }
    }
  }
  QUADRILLE_HOST_DEVICE void store(int parity, int site, const double* in) const {
    const int slot = view_.slot(parity, site);
    if constexpr (quantized) {
      float rounded[count];
      for (int n = 0; n < count; ++n) rounded[n] = float(in[n]);
      const float norm = half::norm(rounded, count), scale = half::scale(norm);
      view_.norms[parity][slot] = norm;
      for (int n = 0; n < count; ++n) {
        view_numbers(parity)[place(slot, n)] = Number(half::quantize(rounded[n], scale) ^ flipped);
      }
    } else {
      for (int n = 0; n < count; ++n) view_numbers(parity)[place(slot, n)] = Number(in[n]);
    }
  }

 private:
  static constexpr bool quantized = std::is_same_v<Number, std::int16_t>;
  /// Quanta of the grouped layout have their sign bit flipped (core/numbers/half_words.h).
  static constexpr int flipped = grouped ? half::offset : 0;

  QUADRILLE_HOST_DEVICE Number* view_numbers(int parity) const { return static_cast<Number*>(view_.numbers[parity]); }
  QUADRILLE_HOST_DEVICE std::int64_t place(int slot, int n) const {
    if constexpr (grouped) {
      constexpr int width = group_bytes / int(sizeof(Number));
      const int first = n / section * section, within = n - first, group = within / width * width;
      const int of_group = section - group < width ? section - group : width;
      const int in_block = slot % Layout::block;
      return std::int64_t(slot - in_block) * count + (first + group) * Layout::block + in_block * of_group +
             within % width;
    } else {
      return (std::int64_t(slot / view_.lanes) * count + n) * view_.lanes + slot % view_.lanes;
    }
  }

  SiteView view_;
};

}  // namespace quadrille
