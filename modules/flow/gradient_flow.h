// The gradient flow of the Wilson or the Symanzik action. M. Luescher, JHEP 08 (2010) 071, arXiv:1006.4518.
//
//   dV(x,mu)/dt = - g0^2 {d_(x,mu) S(V)} V(x,mu),  V at t = 0: the links
//
// integrated by the third-order Runge-Kutta scheme of its appendix C, in double precision. Flow time is in units of the
// lattice spacing squared. The bits of the links do not depend on the number of threads nor on the grid of ranks.
#pragma once

#include "core/gauge/gauge_store.h"
#include "modules/flow/steps/link_steps.h"

#include <memory>
#include <string>

namespace quadrille::flow {

/// What is measured of links. Energies are the density E = F^a F^a / 4, an average over the sites.
struct FlowPoint {
  double plaquette = 0;         ///< Re tr P / 3
  double energy_plaquette = 0;  ///< 2 sum of Re tr(1 - P) over the six planes
  double energy_clover = 0;     ///< of the clover field strength (core/gauge/clover_leaves.h)
  double charge = 0;            ///< topological, of the same
};

/// The action whose gradient the links follow: c0 sum of Re tr(1 - P) over plaquettes + c1 that over rectangles of 1 x
/// 2 links, c0 = 1 - 8 c1; c1 = 0: Wilson's plaquette action.
struct FlowAction {
  double c1 = 0;
};
/// M. Luescher and P. Weisz, Commun. Math. Phys. 97 (1985) 59, at tree level.
constexpr FlowAction symanzik_action{-1.0 / 12};

/// Over several ranks all members are collective.
class GradientFlow {
 public:
  /// From `links`, whose lattice outlives this.
  explicit GradientFlow(const GaugeStore& links, const FlowAction& action = {});

  /// One step of the integrator; its error is of the fourth order of `epsilon`.
  void step(double epsilon);
  FlowPoint measure();
  /// Exactly as they are: a flow that starts from them goes on with the same bits.
  GaugeStore links() { return GaugeStore(steps_->links()); }
  std::string architecture() const { return steps_->architecture(); }

 private:
  std::unique_ptr<LinkSteps> steps_;
  FlowAction action_;
};

}  // namespace quadrille::flow
