// Links of the host through the gauge store of the backend under test, and naive gauge transformations.
#pragma once

#include "core/gauge/gauge_store.h"
#include "core/su3/su3.h"
#include "tests/testing/backend_under_test.h"

#include <vector>

namespace quadrille::testing {

inline GaugeObservables gauge_observables(const HostLinks& links) {
  const Lattice lattice(links.dims);
  return GaugeStore(lattice, links, backend()).observables();
}

inline Unitarity unitarity(const HostLinks& links) {
  const Lattice lattice(links.dims);
  return GaugeStore(lattice, links, backend()).unitarity();
}

/// Projects the links in place.
inline double reunitarize(HostLinks& links) {
  const Lattice lattice(links.dims);
  GaugeStore store(lattice, links, backend());
  const double change = store.project();
  links = store.host_links();
  return change;
}

/// U'_mu(x) = g(x) U_mu(x) g(x+mu)^+ for any transformation g, [site][row][column], lexicographic.
inline HostLinks gauge_transformed(const Lattice& lattice, const HostLinks& links, const std::vector<Complex>& g) {
  HostLinks out(links.dims);
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const Matrix3 here = Matrix3::read(g.data() + site * 9);
    for (int mu = 0; mu < 4; ++mu) {
      Dims x = lattice.coordinates(site);
      x[std::size_t(mu)] = (x[std::size_t(mu)] + 1) % lattice.dims()[std::size_t(mu)];
      const Matrix3 there = Matrix3::read(g.data() + lattice.site(x) * 9);
      (here * Matrix3::read(links.link(site, mu)) * adjoint(there)).write(out.link(site, mu));
    }
  }
  return out;
}

/// psi'(x) = g(x) psi(x).
inline HostSpinor gauge_transformed(const HostSpinor& psi, const std::vector<Complex>& g) {
  HostSpinor out(psi.dims);
  for (std::int64_t site = 0; site < volume(psi.dims); ++site) {
    const Matrix3 m = Matrix3::read(g.data() + site * 9);
    for (int s = 0; s < 4; ++s) {
      const Complex* in = psi.data.data() + site * 12 + 3 * s;
      Complex* to = out.data.data() + site * 12 + 3 * s;
      for (int i = 0; i < 3; ++i) to[i] = m(i, 0) * in[0] + m(i, 1) * in[1] + m(i, 2) * in[2];
    }
  }
  return out;
}

}  // namespace quadrille::testing
