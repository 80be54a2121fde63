// Spinors as another program keeps them in its memory, as plain data, and what reading and writing do to one site: the
// bodies that the host's loops and the devices' kernels share.
#pragma once

#include "core/field/site_transfer.h"
#include "core/field/spin_basis.h"
#include "core/host_device.h"
#include "core/layout/site_order.h"

#include <cstdint>

namespace quadrille {

/// Of core/field/spin_basis.h.
enum class SpinBasis : int { degrand_rossi, ukqcd, openqcd };

/// Spinors of a whole lattice or of one parity in an array of the host or of a device.
struct ForeignSpinors {
  Extents extents;
  int bits;         ///< of a real number: 64 or 32
  bool one_parity;  ///< only sites of one parity are in the array, by even-odd index or as `points` has them
  bool color_spin;  ///< the numbers of a site are [color][spin], not [spin][color]
  SiteOrder order;  ///< of a whole lattice
  SpinBasis basis;
  double factor;               ///< multiplies what is read, and what is written
  const std::int32_t* points;  ///< null, or openQCD's ipt (core/gauge/foreign_links.h): its order
  std::byte* array;

  QUADRILLE_HOST_DEVICE std::int64_t place(int parity, std::int64_t site) const {
    if (one_parity && points == nullptr) return site;
    const SitePlace x(extents, parity, int(site));
    if (points == nullptr) return place_in(order, extents, x);
    const std::int64_t point = points[point_number(extents, x)];
    return one_parity && parity == 1 ? point - extents.sites : point;
  }
  /// Where the real part of component 3 spin + color stands among the numbers of a site.
  QUADRILLE_HOST_DEVICE int component(int c) const { return 2 * (color_spin ? c % 3 * 4 + c / 3 : c); }
};

template <class To, class Real>
struct ReadSpinor {
  To to;
  ForeignSpinors from;
  int parity;

  QUADRILLE_HOST_DEVICE void operator()(std::int64_t site) const {
    const Real* const numbers = reinterpret_cast<const Real*>(from.array) + from.place(parity, site) * spinor_numbers;
    double given[spinor_numbers], rotated[spinor_numbers], inside[spinor_numbers];
    QUADRILLE_UNROLL
    for (int c = 0; c < spinor_numbers / 2; ++c) {
      given[2 * c] = from.factor * double(numbers[from.component(c)]);
      given[2 * c + 1] = from.factor * double(numbers[from.component(c) + 1]);
    }
    switch (from.basis) {
      case SpinBasis::ukqcd: return to.store(site, given);
      case SpinBasis::degrand_rossi: spin_basis::from_degrand_rossi(inside, given, 6); break;
      case SpinBasis::openqcd:
        spin_basis::exchange_openqcd(rotated, given, 6);
        spin_basis::from_degrand_rossi(inside, rotated, 6);
    }
    to.store(site, inside);
  }
};

template <class From, class Real>
struct WriteSpinor {
  From from;
  ForeignSpinors to;
  int parity;

  QUADRILLE_HOST_DEVICE void operator()(std::int64_t site) const {
    double inside[spinor_numbers], rotated[spinor_numbers], wanted[spinor_numbers];
    from.load(site, inside);
    switch (to.basis) {
      case SpinBasis::ukqcd: return write(site, inside);
      case SpinBasis::degrand_rossi: spin_basis::to_degrand_rossi(wanted, inside, 6); break;
      case SpinBasis::openqcd:
        spin_basis::to_degrand_rossi(rotated, inside, 6);
        spin_basis::exchange_openqcd(wanted, rotated, 6);
    }
    write(site, wanted);
  }

 private:
  QUADRILLE_HOST_DEVICE void write(std::int64_t site, const double* wanted) const {
    Real* const numbers = reinterpret_cast<Real*>(to.array) + to.place(parity, site) * spinor_numbers;
    QUADRILLE_UNROLL
    for (int c = 0; c < spinor_numbers / 2; ++c) {
      numbers[to.component(c)] = Real(to.factor * wanted[2 * c]);
      numbers[to.component(c) + 1] = Real(to.factor * wanted[2 * c + 1]);
    }
  }
};

}  // namespace quadrille
