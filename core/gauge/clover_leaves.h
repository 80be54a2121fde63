// The four plaquettes around a site in one plane, of which field strengths are made.
#pragma once

#include "core/api.h"
#include "core/field/field.h"
#include "core/gauge/gauge_store.h"

namespace quadrille {

/// Q_mu nu(x) = P(x) + [P(x-mu)] + [P(x-nu)] + [P(x-mu-nu)], with P(x) = U_mu(x) U_nu(x+mu) U_mu(x+nu)^+ U_nu(x)^+ and
/// [...] carried along the links to x: the sum of the four plaquettes of a plane that begin and end at x, all in the
/// sense from mu to nu. F_mu nu = (Q - Q^+) / 8 is the field strength of the clover action (B. Sheikholeslami, R.
/// Wohlert, Nucl. Phys. B 259 (1985) 572). Works on a copy of the links of its making, on their backend; members are
/// collective.
class QUADRILLE_API CloverLeaves {
 public:
  explicit CloverLeaves(const GaugeStore& gauge);

  /// One matrix a site (as hop 0 of a field of links in double with 18 numbers), until the next call.
  const Field& plane(int mu, int nu);

 private:
  friend struct FieldStrengths;
  void form(Field& plane, int mu, int nu);

  Field links_, plane_, scratch_;
};

/// Sums over the whole lattice of what field strengths of the clover action, without their traces, give.
struct QUADRILLE_API FieldStrengths {
  /// sum_x sum_{mu < nu} - tr F_mu nu F_mu nu = sum_x F^a F^a / 4, the gauge action density times g^2.
  double energy = 0;
  /// The topological charge - 1 / (32 pi^2) sum_x eps_mu nu rho sigma tr F_mu nu F_rho sigma with eps_xyzt = 1.
  double charge = 0;

  /// Collective.
  static FieldStrengths of(const GaugeStore& gauge);
};

}  // namespace quadrille
