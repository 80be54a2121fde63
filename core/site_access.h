// One site of a field, in any precision and layout: what conversions, and nothing faster, are made of.
#pragma once

#include "core/field.h"
#include "core/half.h"
#include "core/layout/vector_layout.h"

#include <cstdint>
#include <type_traits>

namespace quadrille {

/// Reads and writes sites of one parity of a field whose numbers are of type Number (double, float, std::int16_t).
/// Real, the compute type, is double or float.
template <class Number>
class SiteAccess {
 public:
  using Real = std::conditional_t<std::is_same_v<Number, double>, double, float>;

  SiteAccess(const Field& field, Parity p)
      : numbers_(static_cast<Number*>(const_cast<void*>(field.numbers(p)))),
        norms_(const_cast<float*>(field.norms(p))),
        slots_(field.lattice().vector_layout(field.desc().layout.lanes).slots(p).data()),
        lanes_(field.desc().layout.lanes),
        components_(field.desc().components()) {}

  /// out[0..components) of the site with even-odd index `site`.
  void load(std::int64_t site, Real* out) const {
    const Number* from = first(site);
    if constexpr (std::is_same_v<Number, std::int16_t>) {
      const float n = norms_ != nullptr ? norms_[slots_[site]] : 1.0f;
      for (int c = 0; c < components_; ++c) out[c] = half::restore(from[c * lanes_], n);
    } else {
      for (int c = 0; c < components_; ++c) out[c] = from[c * lanes_];
    }
  }

  void store(std::int64_t site, const Real* in) const {
    Number* to = const_cast<Number*>(first(site));
    if constexpr (std::is_same_v<Number, std::int16_t>) {
      float n = 1.0f;
      if (norms_ != nullptr) norms_[slots_[site]] = n = half::norm(in, components_);
      const float scale = half::scale(n);
      for (int c = 0; c < components_; ++c) to[c * lanes_] = half::quantize(in[c], scale);
    } else {
      for (int c = 0; c < components_; ++c) to[c * lanes_] = in[c];
    }
  }

  /// Copies a site of another field of the same numbers bit by bit.
  void copy(std::int64_t site, const SiteAccess& from) const {
    Number* to = const_cast<Number*>(first(site));
    const Number* source = from.first(site);
    for (int c = 0; c < components_; ++c) to[c * lanes_] = source[c * from.lanes_];
    if (norms_ != nullptr) norms_[slots_[site]] = from.norms_[from.slots_[site]];
  }

 private:
  const Number* first(std::int64_t site) const {
    const std::int64_t slot = slots_[site];
    return numbers_ + slot / lanes_ * components_ * lanes_ + slot % lanes_;
  }

  Number* numbers_;
  float* norms_;
  const std::int32_t* slots_;
  std::int64_t lanes_;
  int components_;
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
