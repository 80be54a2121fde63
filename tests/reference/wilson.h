// The Wilson operator written out: one dense loop in double, no even-odd, no projection, no vectors.
#pragma once

#include "core/field/host_field.h"

#include <array>

namespace quadrille::reference {

struct WilsonSetup {
  double mass = 0, mu = 0;
  double xi0 = 1, nu = 1;
  std::array<double, 4> boundary{};  ///< theta/pi
  double csw_r = 0, csw_t = 0;       ///< clover coefficients in space, divided by xi0, and with t
  bool exponential = false;          ///< A = d exp(C / d) with C the clover term
  double chemical_potential = 0;
};

/// The DeGrand-Rossi gamma matrices, 0..3 = x, y, z, t, and 4 = gamma_5 = their product.
std::array<std::array<Complex, 4>, 4> gamma(int mu);

/// M psi, or M^dagger psi with M = A - D/2 and A = m + 1 + 3 nu/xi0 + i mu gamma_5, from the definition; hops
/// from t+1 times exp(chemical_potential), from t-1 times its inverse; spins in the
/// DeGrand-Rossi basis.
HostSpinor wilson(const HostLinks& links, const WilsonSetup& setup, const HostSpinor& psi, bool dagger);

/// The same with the clover term, csw_r / xi0 or csw_t times (i/4) sum over mu and nu of sigma_mu nu F_mu nu, added to
/// A: from `leaves`, which may be more precise than the links of the hops.
HostSpinor clover(const HostLinks& links, const HostLinks& leaves, const WilsonSetup& setup, const HostSpinor& psi,
                  bool dagger);

/// A psi of the clover operator, without i mu gamma_5.
HostSpinor clover_site_term(const HostLinks& leaves, const WilsonSetup& setup, const HostSpinor& psi);

/// gamma_5 psi.
HostSpinor gamma5(const HostSpinor& psi);

}  // namespace quadrille::reference
