// Starting configurations and gauge transformations as host arrays: those of a gauge store, made naively.
#pragma once

#include "core/field/host_field.h"
#include "core/gauge/start.h"
#include "core/layout/lattice.h"

#include <cstdint>
#include <vector>

namespace quadrille::testing {

inline HostLinks host_start(const Lattice& lattice, const GaugeStart& start) {
  HostLinks links(lattice.dims());
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    SiteRandom random(start.seed, start.purpose(), lattice.global_site(lattice.coordinates(site)));
    for (int mu = 0; mu < 4; ++mu) start.link(random).write(links.link(site, mu));
  }
  return links;
}
inline HostLinks cold_start(const Lattice& lattice) { return host_start(lattice, GaugeStart::cold()); }
inline HostLinks hot_start(const Lattice& lattice, std::uint64_t seed) {
  return host_start(lattice, GaugeStart::hot(seed));
}
inline HostLinks weak_start(const Lattice& lattice, std::uint64_t seed, double epsilon) {
  return host_start(lattice, GaugeStart::weak(seed, epsilon));
}

/// One SU(3) matrix per site (Haar measure), lexicographic: [site][row][column].
inline std::vector<Complex> random_transformation(const Lattice& lattice, std::uint64_t seed) {
  std::vector<Complex> g(std::size_t(lattice.volume()) * 9);
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    SiteRandom random(seed, RandomPurpose::GaugeTransformation, lattice.global_site(lattice.coordinates(site)));
    random_su3(random).write(g.data() + site * 9);
  }
  return g;
}

}  // namespace quadrille::testing
