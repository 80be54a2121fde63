// Links as another program keeps them in its memory, as plain data: the bodies of core/gauge/work/site_links.h read and
// write them on the host and on devices.
#pragma once

#include "core/gauge/link_edges.h"
#include "core/host_device.h"
#include "core/layout/site_order.h"
#include "core/su3/su3.h"

#include <cstddef>
#include <cstdint>

namespace quadrille {

/// The place in openQCD's array of links of U(x, mu) for the odd point x, or of U(x - mu, mu), which `enters` it.
QUADRILLE_HOST_DEVICE std::int64_t openqcd_link(const Extents& extents, std::int64_t point, int mu, bool enters) {
  const int nu = mu == 3 ? 0 : mu + 1;
  return 8 * (point - extents.sites) + 2 * nu + (enters ? 1 : 0);
}

/// Forward links U_mu(x), mu = x, y, z, t, in arrays of the host or of a device.
///
/// With `points` null the link is at first[mu] + place * stride, where `halo` places that are no sites follow the sites
/// of each parity; its 18 numbers lie together, or, with `apart` not 0, as many numbers apart, the nine real parts
/// first. Otherwise it is openQCD's array (its file modules/uflds/uflds.c): eight links for each odd point, U(x, nu)
/// and U(x - nu, nu) for nu = t, x, y, z, where points[point_number()] (ipt of its global.h) counts the even points
/// first. On several ranks the links of the even points of the last slice, which lie with another rank's odd ones, are
/// in `face` of each divided direction, by half of face_index().
struct ForeignLinks {
  Extents extents;
  int bits;      ///< of a real number: 64 or 32
  bool columns;  ///< the numbers of a link are [column][row], not [row][column]
  SiteOrder order;
  std::byte* first[4];
  std::int64_t stride;
  std::int64_t halo, apart;
  const std::int32_t* points;
  std::byte* face[4];    ///< null: that direction closes on itself
  Complex undo[4];       ///< multiplies a link that is read,
  Complex undo_last[4];  ///< and one that leaves the last slice
  bool undoes;           ///< one of them is not 1

  QUADRILLE_HOST_DEVICE std::byte* link(const SitePlace& x, int mu) const {
    if (points == nullptr) {
      const std::int64_t place = place_in(order, extents, x);
      return first[mu] + (place + (place < extents.sites ? 0 : halo)) * stride;
    }
    const int link_bytes = 18 * bits / 8;
    const bool odd = x.parity() == 1;
    if (!odd && face[mu] != nullptr && is_last(x, mu)) return face[mu] + face_index(extents, x, mu) / 2 * link_bytes;
    const std::int64_t point = points[point_number(extents, odd ? x : x.neighbour(extents, mu))];
    return first[0] + openqcd_link(extents, point, mu, !odd) * link_bytes;
  }

  /// What is multiplied in is undone.
  QUADRILLE_HOST_DEVICE Matrix3 matrix(const SitePlace& x, int mu) const {
    Matrix3 u;
    if (bits == 64) {
      read(u, reinterpret_cast<const double*>(link(x, mu)));
    } else {
      read(u, reinterpret_cast<const float*>(link(x, mu)));
    }
    return undoes ? factor(x, mu) * u : u;
  }
  /// What multiplies a link that is read.
  QUADRILLE_HOST_DEVICE Complex factor(const SitePlace& x, int mu) const {
    return is_last(x, mu) ? undo_last[mu] : undo[mu];
  }
  QUADRILLE_HOST_DEVICE void store(const SitePlace& x, int mu, const Matrix3& u) const {
    if (bits == 64) {
      write(reinterpret_cast<double*>(link(x, mu)), u);
    } else {
      write(reinterpret_cast<float*>(link(x, mu)), u);
    }
  }

 private:
  QUADRILLE_HOST_DEVICE bool is_last(const SitePlace& x, int mu) const {
    const int at[4] = {x.x, x.y, x.z, x.t}, extent[4] = {extents.x, extents.y, extents.z, extents.t};
    return at[mu] == extent[mu] - 1;
  }
  QUADRILLE_HOST_DEVICE int place_of(int i) const { return columns ? i % 3 * 3 + i / 3 : i; }
  /// Where the real and the imaginary part of element i stand behind the link's first number.
  QUADRILLE_HOST_DEVICE std::int64_t real_part(int i) const { return place_of(i) * (apart == 0 ? 2 : apart); }
  QUADRILLE_HOST_DEVICE std::int64_t imaginary_part(int i) const {
    return apart == 0 ? real_part(i) + 1 : (9 + place_of(i)) * apart;
  }
  template <class Real>
  QUADRILLE_HOST_DEVICE void read(Matrix3& u, const Real* numbers) const {
    for (int i = 0; i < 9; ++i) {
      u.e[std::size_t(i)] = Complex(double(numbers[real_part(i)]), double(numbers[imaginary_part(i)]));
    }
  }
  template <class Real>
  QUADRILLE_HOST_DEVICE void write(Real* numbers, const Matrix3& u) const {
    for (int i = 0; i < 9; ++i) {
      numbers[real_part(i)] = Real(u.e[std::size_t(i)].real());
      numbers[imaginary_part(i)] = Real(u.e[std::size_t(i)].imag());
    }
  }
};

}  // namespace quadrille
