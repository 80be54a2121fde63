// Heatbath and overrelaxation of SU(3) links written out: one link after the other, in double, no vectors. It takes the
// same random numbers as modules/quenched in the same order, so that links can be compared one by one.
#pragma once

#include "core/field/host_field.h"
#include "core/layout/lattice.h"
#include "core/random/random.h"
#include "core/su3/su3.h"

#include <array>

namespace quadrille::reference {

struct GaugeAction {
  double beta = 0;
  double xi0 = 1;
};

/// An SU(2) matrix a0 + i sum_k a_k sigma_k with density exp(alpha a0); `random` is a fresh stream of one site.
std::array<double, 4> draw_su2(double alpha, SiteRandom& random);

/// The sum over planes of weight times staples, so that S = const - (1/3) Re tr(U_mu(x) A).
Matrix3 weighted_staples(const Lattice& lattice, const HostLinks& links, const GaugeAction& action, const Dims& x,
                         int mu);

/// S without its constant: -beta sum_x [sum_spatial Re tr P / (3 xi0) + xi0 sum_temporal Re tr P / 3], from plaquettes.
double gauge_action(const Lattice& lattice, const HostLinks& links, const GaugeAction& action);

/// One sweep of all links in place: directions in turn, in each the even sites and then the odd ones.
void heatbath_sweep(const Lattice& lattice, HostLinks& links, const GaugeAction& action, std::uint64_t seed,
                    std::uint64_t number);
void overrelaxation_sweep(const Lattice& lattice, HostLinks& links, const GaugeAction& action);

}  // namespace quadrille::reference
