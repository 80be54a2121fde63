// The levels of HYP smearing (A. Hasenfratz and F. Knechtli, Phys. Rev. D 64 (2001) 034504, hep-lat/0103029), which all
// backends share.
//
// Level 1 makes for each direction k the links of the other directions with staples in direction k alone. Level 2 makes
// for each k the links of the others from staples in the two directions that are neither k nor theirs, each of links of
// level 1 that were smeared in the last of the four. Level 3 makes all links, a staple in direction nu of links mu and
// nu of level 2 that are smeared neither in nu nor in mu. A link and its staples never leave the hypercubes at the
// link. In space alone there are two levels: the second is the one without time.
#pragma once

#include "modules/flow/steps/kernels.h"

namespace quadrille::flow {

/// A step of HYP smearing; in space alpha1 plays no part.
struct HypStep {
  double alpha1, alpha2, alpha3;
  unsigned directions = all_directions;
};

/// Calls make(level, last) for each level of each field, in an order in which all that it reads is there; `last`: the
/// smeared links themselves.
template <class Make>
void over_hyp_levels(const HypStep& step, const Make& make) {
  const bool spatial = step.directions == spatial_directions;
  const auto level = [&](int number, int excluded, double alpha, int staples) {
    const unsigned others = excluded < 4 ? ~(1u << excluded) : ~0u;
    return HypLevel{number, excluded, 1 - alpha, alpha / staples, step.directions & others};
  };
  for (int k = 0; k < (spatial ? 3 : 4); ++k) make(level(1, k, step.alpha3, 2), false);
  if (spatial) return make(level(2, 3, step.alpha2, 4), true);
  for (int k = 0; k < 4; ++k) make(level(2, k, step.alpha2, 4), false);
  make(level(3, 4, step.alpha1, 6), true);
}

}  // namespace quadrille::flow
