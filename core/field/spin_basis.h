// The spin bases and the rotations between them.
//
// Inside Quadrille spinors are in the non-relativistic (UKQCD) basis, gamma_k = [[0, i s_k], [-i s_k, 0]],
// gamma_4 = diag(1, 1, -1, -1), gamma_5 = gamma_1 gamma_2 gamma_3 gamma_4 = [[0, 1], [1, 0]], so that the time
// projection reads two spin components and gamma_5 exchanges the upper and the lower two. Hosts and files use the
// DeGrand-Rossi basis of Chroma and QIO, gamma_k = [[0, i s'_k], [-i s'_k, 0]] with s' = (s_1, -s_2, s_3) and
// gamma_4 = [[0, 1], [1, 0]]. With S below, gamma(UKQCD) = S gamma(DeGrand-Rossi) S^+.
//
// Host codes may also have openQCD's chiral basis, gamma_k = [[0, -i s_k], [i s_k, 0]], gamma_4 = [[0, -1], [-1, 0]]
// (M. Luescher, "Implementation of the lattice Dirac operator", openQCD's documentation): gamma(openQCD) =
// R gamma(DeGrand-Rossi) R^+ with R = [[0, e], [-e, 0]], e = [[0, 1], [-1, 0]], which moves numbers and changes no
// digit.
#pragma once

#include "core/host_device.h"

#include <numbers>

namespace quadrille::spin_basis {

inline constexpr double factor = 1 / std::numbers::sqrt2;

/// out = S in, for spinors of `count` numbers a spin component; out and in must not overlap.
template <class T>
QUADRILLE_HOST_DEVICE void from_degrand_rossi(T* out, const T* in, int count) {
  for (int i = 0; i < count; ++i) {
    const T p0 = in[i], p1 = in[count + i], p2 = in[2 * count + i], p3 = in[3 * count + i];
    out[i] = factor * (p1 + p3);
    out[count + i] = -factor * (p0 + p2);
    out[2 * count + i] = factor * (p1 - p3);
    out[3 * count + i] = factor * (p2 - p0);
  }
}

/// out = S^+ in; out and in must not overlap.
template <class T>
QUADRILLE_HOST_DEVICE void to_degrand_rossi(T* out, const T* in, int count) {
  for (int i = 0; i < count; ++i) {
    const T n0 = in[i], n1 = in[count + i], n2 = in[2 * count + i], n3 = in[3 * count + i];
    out[i] = -factor * (n1 + n3);
    out[count + i] = factor * (n0 + n2);
    out[2 * count + i] = factor * (n3 - n1);
    out[3 * count + i] = factor * (n0 - n2);
  }
}

/// out = R in, from DeGrand-Rossi to openQCD, and the same with R^+ = R back: R is its own inverse.
template <class T>
QUADRILLE_HOST_DEVICE void exchange_openqcd(T* out, const T* in, int count) {
  for (int i = 0; i < count; ++i) {
    out[i] = in[3 * count + i];
    out[count + i] = -in[2 * count + i];
    out[2 * count + i] = -in[count + i];
    out[3 * count + i] = in[i];
  }
}

}  // namespace quadrille::spin_basis
