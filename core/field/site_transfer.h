// What a conversion and a gauge rotation do to one site of a spinor: the bodies that the host's loops and the devices'
// kernels share. An access (core/field/site_access.h, core/backend/cuda/grouped_access.cuh) has a type Real, and
// load(site, Real*) and store(site, const Real*) of all the numbers of a site.
#pragma once

#include "core/field/site_format.h"
#include "core/host_device.h"

#include <cstdint>

namespace quadrille {

/// to = from
template <class To, class From>
struct ConvertSite {
  To to;
  From from;

  QUADRILLE_HOST_DEVICE void operator()(std::int64_t site) const {
    typename From::Real in[spinor_numbers];
    typename To::Real out[spinor_numbers];
    from.load(site, in);
    for (int c = 0; c < spinor_numbers; ++c) out[c] = typename To::Real(in[c]);
    to.store(site, out);
  }
};

/// to = g from, or g^+ from, in double: `matrices` has the 18 numbers of g(x), row by row.
template <class To, class From, class Matrices>
struct RotateSite {
  To to;
  From from;
  Matrices matrices;
  bool adjoint;

  QUADRILLE_HOST_DEVICE void operator()(std::int64_t site) const {
    typename From::Real in[spinor_numbers];
    typename To::Real out[spinor_numbers];
    double g[18];
    from.load(site, in);
    matrices.load(site, g);
    for (int spin = 0; spin < 4; ++spin) {
      const auto* x = in + 6 * spin;
      for (int i = 0; i < 3; ++i) {
        double re = 0, im = 0;
        for (int j = 0; j < 3; ++j) {
          const int element = 2 * (adjoint ? 3 * j + i : 3 * i + j);
          const double gr = g[element], gi = adjoint ? -g[element + 1] : g[element + 1];
          re += gr * double(x[2 * j]) - gi * double(x[2 * j + 1]);
          im += gr * double(x[2 * j + 1]) + gi * double(x[2 * j]);
        }
        out[6 * spin + 2 * i] = typename To::Real(re);
        out[6 * spin + 2 * i + 1] = typename To::Real(im);
      }
    }
    to.store(site, out);
  }
};

}  // namespace quadrille
