// Polyakov loops and planar Wilson loops of links, in double precision.
//
// A rectangle of R links in direction mu and T links in direction nu from a site x:
//
//   W(x) = L(x) S(x + R mu) L(x + T nu)^+ S(x)^+,   L, S the products of R links in mu, of T links in nu.
//
// Lines are wound around the periodic lattice where R or T is larger than its extent. Sums do not depend on the number
// of threads; over several ranks they agree to rounding.
#pragma once

#include "core/gauge/gauge_store.h"
#include "core/su3/su3.h"

#include <array>
#include <functional>
#include <vector>

namespace quadrille::loops {

/// tr P / 3 of the product P of all links in a direction around the lattice, averaged over all lines. Collective.
Complex polyakov_loop(const GaugeStore& links, int direction);

/// Re tr W / 3 averaged over all sites: [R - 1][T - 1] for R from 1 to `r` and T from 1 to `t`, each at least 1.
using LoopTable = std::vector<std::vector<double>>;

/// A plane of loops: R along mu, T along nu.
struct LoopPlane {
  int mu, nu;
  int r, t;  ///< the largest loops
};

/// Calls progress(fraction of the loops done) from time to time, on all ranks. Collective.
LoopTable wilson_loops(
    const GaugeStore& links, const LoopPlane& plane, const std::function<void(double)>& progress = [](double) {});

/// The mean of tables of one size, of one at least.
LoopTable mean_of(const std::vector<LoopTable>& tables);

}  // namespace quadrille::loops
