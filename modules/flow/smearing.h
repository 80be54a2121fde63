// Smearing of links, in double precision. The bits of the links do not depend on the number of threads nor on the grid
// of ranks.
#pragma once

#include "core/gauge/gauge_store.h"
#include "modules/flow/steps/kernels.h"

namespace quadrille::flow {

/// U' = exp(rho P([sum of staples] U^+)) U, P the traceless anti-Hermitian part, `steps` times: C. Morningstar and M.
/// Peardon, Phys. Rev. D 69 (2004) 054501, hep-lat/0311018.
struct StoutSmearing {
  double rho = 0;
  int steps = 1;
  unsigned directions = all_directions;
};

/// U' = the SU(3) matrix W with the largest Re tr(W V^+), V = (1 - alpha) U + alpha / n [sum of the n staples], `steps`
/// times: M. Albanese et al., Phys. Lett. B 192 (1987) 163.
struct ApeSmearing {
  double alpha = 0;
  int steps = 1;
  unsigned directions = all_directions;
};

/// Fresh links on the lattice of `links`. Collective.
GaugeStore smeared(const GaugeStore& links, const StoutSmearing& smearing);
GaugeStore smeared(const GaugeStore& links, const ApeSmearing& smearing);

}  // namespace quadrille::flow
