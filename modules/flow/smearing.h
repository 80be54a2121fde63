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

/// HYP smearing, `steps` times: each link decorated with links of its hypercubes, by three levels of the projected sums
/// of an ApeSmearing with alpha3, alpha2 and alpha1 (steps/hyp_levels.h); of spatial links two, with alpha3 and alpha2.
/// A. Hasenfratz and F. Knechtli, Phys. Rev. D 64 (2001) 034504, hep-lat/0103029.
struct HypSmearing {
  double alpha1 = 0.75, alpha2 = 0.6, alpha3 = 0.3;
  int steps = 1;
  unsigned directions = all_directions;  ///< or spatial_directions
};

/// Fresh links on the lattice of `links`. Collective.
GaugeStore smeared(const GaugeStore& links, const StoutSmearing& smearing);
GaugeStore smeared(const GaugeStore& links, const ApeSmearing& smearing);
GaugeStore smeared(const GaugeStore& links, const HypSmearing& smearing);

}  // namespace quadrille::flow
