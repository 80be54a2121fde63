// The numbers of a site by chirality: where they lie, and how they are read and written.
#pragma once

#include "core/field/field.h"
#include "core/layout/vector_layout.h"

#include <array>
#include <cstdint>
#include <numbers>
#include <vector>

namespace quadrille::multigrid {

/// What coarse fields hold: [chirality][vector][re, im]. Contiguous for each site (one lane) on every backend.
constexpr SiteFormat coarse_site(int vectors) { return {"coarse vectors", 2, 2 * vectors, true}; }
inline FieldDesc coarse_desc(const Lattice& lattice, int vectors, Precision precision,
                             Backend& backend = cpu_backend()) {
  FieldDesc desc;
  desc.lattice = &lattice;
  desc.site = coarse_site(vectors);
  desc.precision = precision;
  desc.layout = Layout{};
  desc.backend = &backend;
  return desc;
}

/// Of a field on a CPU in double or single. A spinor's chiralities are (upper + lower) / sqrt 2 and (upper - lower) /
/// sqrt 2, as gamma_5 exchanges upper and lower spins (core/field/spin_basis.h); those of coarse vectors are its
/// sections.
template <class T>
class ChiralSites {
 public:
  explicit ChiralSites(const FieldDesc& desc)
      : mixed_(desc.site == site_formats::spinor),
        lanes_(desc.layout.lanes),
        components_(desc.components()),
        slots_{desc.lattice->vector_layout(lanes_).slots(Parity::Even).data(),
               desc.lattice->vector_layout(lanes_).slots(Parity::Odd).data()} {}

  /// Complex numbers of a chirality.
  int numbers() const { return components_ / 4; }

  T* site(Field& field, Parity p, std::int64_t index) const {
    return static_cast<T*>(field.numbers(p)) + place(p, index);
  }
  const T* site(const Field& field, Parity p, std::int64_t index) const {
    return static_cast<const T*>(field.numbers(p)) + place(p, index);
  }

  void load(const T* from, T* first, T* second) const {
    const int half = components_ / 2;
    const std::int64_t section = std::int64_t(half) * lanes_;
    for (int c = 0; c < half; ++c, from += lanes_) {
      const T upper = from[0], lower = from[section];
      first[c] = mixed_ ? factor * (upper + lower) : upper;
      second[c] = mixed_ ? factor * (upper - lower) : lower;
    }
  }
  void store(T* to, const T* first, const T* second) const {
    const int half = components_ / 2;
    const std::int64_t section = std::int64_t(half) * lanes_;
    for (int c = 0; c < half; ++c, to += lanes_) {
      to[0] = mixed_ ? factor * (first[c] + second[c]) : first[c];
      to[section] = mixed_ ? factor * (first[c] - second[c]) : second[c];
    }
  }

 private:
  static constexpr T factor = T(1 / std::numbers::sqrt2);

  std::int64_t place(Parity p, std::int64_t index) const {
    const std::int64_t slot = slots_[std::size_t(p)][index];
    return slot / lanes_ * components_ * lanes_ + slot % lanes_;
  }

  bool mixed_;
  int lanes_, components_;
  std::array<const std::int32_t*, 2> slots_;
};

}  // namespace quadrille::multigrid
