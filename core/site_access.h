// One site of a field, in any precision and layout: what conversions, and nothing faster, are made of.
#pragma once

#include "core/error.h"
#include "core/field.h"
#include "core/half.h"
#include "core/layout/vector_layout.h"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace quadrille {

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
      group_ = layout.width;
      shift_ = std::countr_zero(unsigned(layout.width));
      step_ = layout.stride * layout.width;
    } else {
      slots_ = field.lattice().vector_layout(layout.lanes).slots(p).data();
      lanes_ = step_ = layout.lanes;
    }
  }

  /// out[0..components) of the site with even-odd index `site`.
  void load(std::int64_t site, Real* out) const {
    const Number* from = first(site);
    if constexpr (std::is_same_v<Number, std::int16_t>) {
      const float n = norms_ != nullptr ? norms_[slot(site)] : 1.0f;
      for (int c = 0; c < components_; ++c) out[c] = half::restore(from[place(c)], n);
    } else {
      for (int c = 0; c < components_; ++c) out[c] = from[place(c)];
    }
  }

  void store(std::int64_t site, const Real* in) const {
    Number* to = const_cast<Number*>(first(site));
    if constexpr (std::is_same_v<Number, std::int16_t>) {
      float n = 1.0f;
      if (norms_ != nullptr) norms_[slot(site)] = n = half::norm(in, components_);
      const float scale = half::scale(n);
      for (int c = 0; c < components_; ++c) to[place(c)] = half::quantize(in[c], scale);
    } else {
      for (int c = 0; c < components_; ++c) to[place(c)] = in[c];
    }
  }

  /// Copies a site of another field of the same numbers bit by bit.
  void copy(std::int64_t site, const SiteAccess& from) const {
    Number* to = const_cast<Number*>(first(site));
    const Number* source = from.first(site);
    for (int c = 0; c < components_; ++c) to[place(c)] = source[from.place(c)];
    if (norms_ != nullptr) norms_[slot(site)] = from.norms_[from.slot(site)];
  }

 private:
  static const void* host_numbers(const Field& field, Parity p) {
    if (!field.desc().backend->host_memory()) {
      throw Error(ErrorCode::internal, "host code was given a field in the memory of " + field.desc().backend->name());
    }
    return field.numbers(p);
  }

  std::int64_t slot(std::int64_t site) const { return slots_ != nullptr ? slots_[site] : site; }
  const Number* first(std::int64_t site) const {
    if (slots_ == nullptr) return numbers_ + site * group_;
    const std::int64_t slot = slots_[site];
    return numbers_ + slot / lanes_ * components_ * lanes_ + slot % lanes_;
  }
  /// Where component c stands after the first one.
  std::int64_t place(int c) const { return (c >> shift_) * step_ + (c & (group_ - 1)); }

  Number* numbers_;
  float* norms_;
  int components_;
  const std::int32_t* slots_ = nullptr;  ///< of the vector layout
  std::int64_t lanes_ = 1, step_ = 1;
  int group_ = 1, shift_ = 0;
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
