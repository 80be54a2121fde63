// The hopping term in extended precision: what every form of it is compared with in the accuracy study.
#pragma once

#include "core/field/host_field.h"

#include <complex>
#include <vector>

namespace quadrille::bench {

using Extended = std::complex<long double>;

/// D psi of codegen/operators/wilson.py, isotropic, antiperiodic in time:
/// sum over mu of (1 - gamma_mu) U_mu(x) psi(x+mu) + (1 + gamma_mu) U_mu(x-mu)^+ psi(x-mu),
/// written out site by site from links and spinors in double, all sums and products in long double, so that its own
/// rounding is not seen beside that of a kernel in double. Order and spin basis (DeGrand-Rossi) are those of psi.
std::vector<Extended> extended_hop(const HostLinks& links, const HostSpinor& psi);

}  // namespace quadrille::bench
