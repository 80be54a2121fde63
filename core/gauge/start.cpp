#include "core/gauge/start.h"

namespace quadrille {

HostLinks host_start(const Lattice& lattice, const GaugeStart& start) {
  HostLinks links(lattice.dims());
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    SiteRandom random(start.seed, start.purpose(), lattice.global_site(lattice.coordinates(site)));
    for (int mu = 0; mu < 4; ++mu) start.link(random).write(links.link(site, mu));
  }
  return links;
}

std::vector<Complex> random_transformation(const Lattice& lattice, std::uint64_t seed) {
  std::vector<Complex> g(std::size_t(lattice.volume()) * 9);
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    SiteRandom random(seed, RandomPurpose::GaugeTransformation, lattice.global_site(lattice.coordinates(site)));
    random_su3(random).write(g.data() + site * 9);
  }
  return g;
}

}  // namespace quadrille
