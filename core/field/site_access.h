// One site of a field, in any precision and layout: what conversions, and nothing faster, are made of.
#pragma once

#include "core/error.h"
#include "core/field/field.h"
#include "core/layout/grouped_layout.h"
#include "core/layout/vector_layout.h"
#include "core/numbers/half.h"

#include <cstdint>
#include <string>
#include <type_traits>

namespace quadrille {

/// ErrorCode::unsupported, with the counts, for sites of more than most_site_numbers.
inline void require_site_numbers(const FieldDesc& desc) {
  if (desc.components() <= most_site_numbers) return;
  throw Error(ErrorCode::unsupported, std::string(desc.site.name) + " have " + std::to_string(desc.components()) +
                                          " real numbers a site; there may be " + std::to_string(most_site_numbers));
}

/// Reads and writes sites of one parity of a field whose numbers are of type Number (double, float, std::int16_t).
/// Real, the compute type, is double or float.
template <class Number>
class SiteAccess {
 public:
  using Real = std::conditional_t<std::is_same_v<Number, double>, double, float>;

  /// ErrorCode::internal when the field lies in memory that the host cannot touch.
  SiteAccess(const Field& field, Parity p)
      : numbers_(static_cast<Number*>(const_cast<void*>(host_numbers(field, p)))),
        norms_(const_cast<float*>(field.norms(p))),
        components_(field.desc().components()) {
    const Layout& layout = field.desc().layout;
    if (layout.grouped()) {
      width_ = layout.width;
      section_ = field.desc().section();
      flipped_ = half::offset;
    } else {
      slots_ = field.lattice().vector_layout(layout.lanes).slots(p).data();
      lanes_ = layout.lanes;
    }
  }

  /// out[0..components) of the site with even-odd index `site`.
  void load(std::int64_t site, Real* out) const {
    if constexpr (std::is_same_v<Number, std::int16_t>) {
      const float n = norms_ != nullptr ? norms_[slot(site)] : 1.0f;
      for_each_place(site, [&](int c, std::int64_t place) { out[c] = half::restore(kept(numbers_[place]), n); });
    } else {
      for_each_place(site, [&](int c, std::int64_t place) { out[c] = numbers_[place]; });
    }
  }

  void store(std::int64_t site, const Real* in) const {
    if constexpr (std::is_same_v<Number, std::int16_t>) {
      float n = 1.0f;
      if (norms_ != nullptr) norms_[slot(site)] = n = half::norm(in, components_);
      const float scale = half::scale(n);
      for_each_place(site, [&](int c, std::int64_t place) { numbers_[place] = kept(half::quantize(in[c], scale)); });
    } else {
      for_each_place(site, [&](int c, std::int64_t place) { numbers_[place] = in[c]; });
    }
  }

  /// Copies a site of another field of the same numbers, which stay the same bit for bit.
  void copy(std::int64_t site, const SiteAccess& from) const {
    for_each_place(site, [&](int c, std::int64_t place) {
      numbers_[place] = kept(from.kept(from.numbers_[from.place(site, c)]));
    });
    if (norms_ != nullptr) norms_[slot(site)] = from.norms_[from.slot(site)];
  }

 private:
  /// A number as the layout keeps it, or that number again: quanta of the grouped layout have their sign bit flipped.
  Number kept(Number number) const {
    if constexpr (std::is_same_v<Number, std::int16_t>) return Number(number ^ flipped_);
    return number;
  }

  static const void* host_numbers(const Field& field, Parity p) {
    if (!field.desc().backend->host_memory()) {
      throw Error(ErrorCode::internal, "host code was given a field in the memory of " + field.desc().backend->name());
    }
    return field.numbers(p);
  }

  std::int64_t slot(std::int64_t site) const { return slots_ != nullptr ? slots_[site] : site; }
  std::int64_t place(std::int64_t site, int c) const {
    if (slots_ == nullptr) return grouped_place(site, c, components_, section_, width_);
    return first(site) + c * lanes_;
  }
  /// Of component 0 in the vector layout.
  std::int64_t first(std::int64_t site) const {
    const std::int64_t slot = slots_[site];
    return slot / lanes_ * components_ * lanes_ + slot % lanes_;
  }
  /// Calls f(component, place).
  template <class F>
  void for_each_place(std::int64_t site, F&& f) const {
    if (slots_ == nullptr) {
      for (int c = 0; c < components_; ++c) f(c, grouped_place(site, c, components_, section_, width_));
    } else {
      std::int64_t place = first(site);
      for (int c = 0; c < components_; ++c, place += lanes_) f(c, place);
    }
  }

  Number* numbers_;
  float* norms_;
  int components_;
  const std::int32_t* slots_ = nullptr;  ///< of the vector layout
  std::int64_t lanes_ = 1;
  int width_ = 0, section_ = 0;  ///< of the grouped layout
  int flipped_ = 0;              ///< bits of its quanta
};

/// Calls f with a value of the number type of `precision`.
template <class F>
void with_number_type(Precision precision, F&& f) {
  switch (precision) {
    case Precision::Double: f(double{}); break;
    case Precision::Single: f(float{}); break;
    case Precision::Half: f(std::int16_t{}); break;
  }
}

}  // namespace quadrille
