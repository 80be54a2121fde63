// A field of any format whose numbers are bits that name the site of the whole lattice and the component.
#pragma once

#include "core/field/field.h"
#include "core/layout/grouped_layout.h"
#include "core/layout/vector_layout.h"
#include "tests/ranks/ranks_testing.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::testing {

inline constexpr SiteFormat marked_formats[] = {{"momenta", 1, 8, true},
                                                {"chiral blocks", 2, 36, false},
                                                {"coarse vectors", 3, 16, true},
                                                {"triples", 2, 5, true},
                                                {"links", 4, 18, false}};

class MarkedField {
 public:
  MarkedField(const Lattice& lattice, const SiteFormat& format, Precision precision, const Layout& layout)
      : field_(desc(lattice, format, precision, layout)) {}

  Field& field() { return field_; }
  /// Those of the format, and norms as one more.
  int sections() const { return field_.desc().site.sections + (field_.desc().has_norms() ? 1 : 0); }
  bool norms(int section) const { return section == field_.desc().site.sections; }
  /// Numbers of a section.
  int numbers(int section) const { return norms(section) ? 1 : field_.desc().section(); }
  std::size_t bytes_of_number(int section) const {
    return norms(section) ? sizeof(float) : number_bytes(field_.desc().precision);
  }
  std::string name() const { return std::string(field_.desc().site.name) + ", " + to_string(field_.desc().precision); }

  /// Some bits for number n of a section at a place of the whole lattice, which may lie beyond its edges.
  std::uint64_t bits(std::uint64_t seed, Dims x, int section, int n) const {
    const Dims& g = field_.lattice().global_dims();
    for (std::size_t mu = 0; mu < 4; ++mu) {
      while (x[mu] < 0) x[mu] += g[mu];
      while (x[mu] >= g[mu]) x[mu] -= g[mu];
    }
    const std::int64_t site = ((std::int64_t(x[3]) * g[2] + x[2]) * g[1] + x[1]) * g[0] + x[0];
    std::uint64_t h = seed + std::uint64_t(site) * 1000 + std::uint64_t(section * field_.desc().section() + n);
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
  }
  bool equals(const std::byte* number, std::uint64_t seed, const Dims& x, int section, int n) const {
    const std::uint64_t wanted = bits(seed, x, section, n);
    return std::memcmp(number, &wanted, bytes_of_number(section)) == 0;
  }

  /// All numbers = bits(); the padding is 0xff.
  void fill(std::uint64_t seed) {
    std::vector<std::byte> image(field_.desc().bytes(), std::byte{0xff});
    each_number(field_, [&](Parity p, std::int64_t site, int section, int n, std::size_t place) {
      const std::uint64_t h = bits(seed, global(field_.lattice().coordinates(p, site)), section, n);
      std::memcpy(image.data() + place, &h, bytes_of_number(section));
    });
    field_.desc().backend->copy_in(field_.numbers(Parity::Even), image.data(), image.size());
  }
  /// How many numbers of a field of the same format, perhaps on a torus, are not bits() of where(coordinates).
  template <class Where>
  std::int64_t missing(const Field& other, std::uint64_t seed, const Where& where) const {
    std::vector<std::byte> image(other.desc().bytes());
    other.desc().backend->copy_out(image.data(), other.numbers(Parity::Even), image.size());
    std::int64_t count = 0;
    each_number(other, [&](Parity p, std::int64_t site, int section, int n, std::size_t place) {
      const Dims x = where(other.lattice().coordinates(p, site));
      count += equals(image.data() + place, seed, global(x), section, n) ? 0 : 1;
    });
    return count;
  }

  /// Of coordinates that count from this rank's first site.
  Dims global(Dims x) const {
    for (std::size_t mu = 0; mu < 4; ++mu) x[mu] += field_.lattice().origin()[mu];
    return x;
  }

 private:
  static FieldDesc desc(const Lattice& lattice, const SiteFormat& format, Precision precision, const Layout& layout) {
    FieldDesc desc = FieldDesc::of(format, lattice, Subset::Full, precision, backend());
    desc.layout = layout;
    return desc;
  }
  /// f(parity, even-odd index, section, number of the section, byte of the field where it lies).
  template <class F>
  void each_number(const Field& of, const F& f) const {
    const FieldDesc& d = of.desc();
    const bool grouped = d.layout.grouped();
    const std::int64_t lanes = d.layout.lanes;
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      const std::size_t begin = p == Parity::Odd ? d.parity_bytes() : 0;
      const std::int32_t* const slots = grouped ? nullptr : of.lattice().vector_layout(d.layout.lanes).slots(p).data();
      for (std::int64_t site = 0; site < of.lattice().half_volume(); ++site) {
        const std::int64_t slot = grouped ? site : slots[site];
        for (int section = 0; section < sections(); ++section) {
          for (int n = 0; n < numbers(section); ++n) {
            const int c = section * d.section() + n;
            const std::int64_t number = grouped ? grouped_place(site, c, d.components(), d.section(), d.layout.width)
                                                : (slot / lanes * d.components() + c) * lanes + slot % lanes;
            const std::size_t place = norms(section) ? d.norms_offset() + std::size_t(slot) * sizeof(float)
                                                     : std::size_t(number) * bytes_of_number(section);
            f(p, site, section, n, begin + place);
          }
        }
      }
    }
  }

  Field field_;
};

}  // namespace quadrille::testing
