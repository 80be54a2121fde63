// Landau and Coulomb gauge by relaxation: the transformation g for which
//
//   F = 1 / (3 n V) sum_x sum_mu Re tr [g(x) U_mu(x) g(x + mu)^+],  mu the n = 4 directions, or the 3 of space,
//
// is as large as it gets near the links as they are, in double precision. There the divergence of the transformed links
//
//   D(x) = sum_mu [A_mu(x) - A_mu(x - mu)],  A = (U - U^+) / 2i without its trace,
//   theta = 1 / (3 V) sum_x tr D(x) D(x)^+
//
// vanishes. F never falls. Sums, and with them links, do not depend on the number of threads; the links of several
// ranks have the bits of one process after as many iterations.
#pragma once

#include "core/gauge/gauge_store.h"
#include "modules/gauge_fixing/turns/turn_work.h"

#include <memory>

namespace quadrille::gauge_fixing {

enum class Gauge { Landau, Coulomb };

struct GaugeState {
  double functional = 0, theta = 0;  ///< F and theta
};

/// Over several ranks all members are collective.
class GaugeFixing {
 public:
  /// Of `links`, which outlive this.
  GaugeFixing(const GaugeStore& links, Gauge gauge);

  /// The state as it is.
  GaugeState measure();
  /// All even sites relax, and then all odd ones, with `omega` from 1 to below 2 (relaxation.h).
  /// Gives theta before the iteration, and F after it, which cost nothing beside it.
  GaugeState iterate(double omega);
  /// The links in the gauge reached so far.
  std::unique_ptr<GaugeStore> links() { return work_->transformed(); }

 private:
  Seen half_sweep(int parity, double omega);

  const Lattice& lattice_;
  unsigned directions_;
  std::unique_ptr<TurnWork> work_;
  bool knows_odd_ = false;
  double odd_theta_ = 0;  ///< the part of the odd sites in theta
};

}  // namespace quadrille::gauge_fixing
