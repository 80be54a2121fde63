// What packing, unpacking and contracting do to one site of a propagator's column: the bodies that the host's loops and
// the devices' kernels share. `Columns` has access(parity, column), an access to double numbers as in
// core/field/site_transfer.h.
#pragma once

#include "core/field/site_format.h"
#include "core/field/spin_basis.h"
#include "core/host_device.h"
#include "core/numbers/big_endian.h"

#include <cstdint>

namespace quadrille {

constexpr int propagator_columns = spinor_components, propagator_reals = propagator_columns * spinor_numbers;

/// Where the real part stands, among the numbers of a site in QIO's order, of sink component `sink` (3 spin + color)
/// of a column.
QUADRILLE_HOST_DEVICE int qio_place(int sink, int column) {
  return 2 * (36 * (sink / 3) + 9 * (column / 3) + 3 * (sink % 3) + column % 3);
}

/// Parity and even-odd index of a lexicographic index; extents are even.
struct CheckerboardSite {
  int parity;
  std::int64_t site;

  QUADRILLE_HOST_DEVICE CheckerboardSite(int p, std::int64_t s) : parity(p), site(s) {}
  QUADRILLE_HOST_DEVICE CheckerboardSite(const int* extents, std::int64_t index) : site(index / 2) {
    std::int64_t rest = index;
    int sum = 0;
    for (int mu = 0; mu < 3; ++mu) {
      sum += int(rest % extents[mu]);
      rest /= extents[mu];
    }
    parity = (sum + int(rest)) & 1;
  }
};

/// A piece of sites from index `first` on, and its bytes.
struct PieceOfSites {
  void* bytes;
  std::int64_t first;
  int extents[4];
  bool rotate;  ///< the columns' sink spins are in the UKQCD basis
};

template <class Columns, class Real>
struct PackColumn {
  Columns columns;
  PieceOfSites piece;

  /// `k`: number of the site in the piece.
  QUADRILLE_HOST_DEVICE void operator()(std::int64_t k, int column) const {
    (*this)(CheckerboardSite(piece.extents, piece.first + k), k, column);
  }
  QUADRILLE_HOST_DEVICE void operator()(const CheckerboardSite& at, std::int64_t k, int column) const {
    double in[spinor_numbers], rotated[spinor_numbers];
    columns.access(at.parity, column).load(at.site, in);
    if (piece.rotate) spin_basis::to_degrand_rossi(rotated, in, 6);
    QUADRILLE_UNROLL
    for (int sink = 0; sink < spinor_components; ++sink) {
      const std::int64_t place = k * propagator_reals + qio_place(sink, column);
      put_big_endian<Real>(piece.bytes, place, piece.rotate ? rotated[2 * sink] : in[2 * sink]);
      put_big_endian<Real>(piece.bytes, place + 1, piece.rotate ? rotated[2 * sink + 1] : in[2 * sink + 1]);
    }
  }
};

template <class Columns, class Real>
struct UnpackColumn {
  Columns columns;
  PieceOfSites piece;

  QUADRILLE_HOST_DEVICE void operator()(std::int64_t k, int column) const {
    (*this)(CheckerboardSite(piece.extents, piece.first + k), k, column);
  }
  QUADRILLE_HOST_DEVICE void operator()(const CheckerboardSite& at, std::int64_t k, int column) const {
    double numbers[spinor_numbers];
    QUADRILLE_UNROLL
    for (int sink = 0; sink < spinor_components; ++sink) {
      const std::int64_t place = k * propagator_reals + qio_place(sink, column);
      numbers[2 * sink] = get_big_endian<Real>(piece.bytes, place);
      numbers[2 * sink + 1] = get_big_endian<Real>(piece.bytes, place + 1);
    }
    columns.access(at.parity, column).store(at.site, numbers);
  }
};

/// The sum of |S|^2 over spins and colors of one site.
template <class Columns>
struct SiteNorm {
  Columns columns;
  bool rotate;

  QUADRILLE_HOST_DEVICE double operator()(int parity, std::int64_t site) const {
    double sum = 0;
    for (int column = 0; column < propagator_columns; ++column) {
      double in[spinor_numbers], rotated[spinor_numbers];
      columns.access(parity, column).load(site, in);
      if (rotate) spin_basis::to_degrand_rossi(rotated, in, 6);
      QUADRILLE_UNROLL
      for (int n = 0; n < spinor_numbers; ++n) {
        const double number = rotate ? rotated[n] : in[n];
        sum += number * number;
      }
    }
    return sum;
  }
};

/// One site's numbers, put there alone.
template <class To>
struct PutSite {
  To to;
  std::int64_t site;
  double numbers[spinor_numbers];

  QUADRILLE_HOST_DEVICE void operator()(std::int64_t) const {
    typename To::Real out[spinor_numbers];
    for (int n = 0; n < spinor_numbers; ++n) out[n] = typename To::Real(numbers[n]);
    to.store(site, out);
  }
};

}  // namespace quadrille
