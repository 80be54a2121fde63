// The Wilson operator written out: one dense loop in double, no even-odd, no projection, no vectors.
#pragma once

#include "core/field/host_field.h"

#include <array>

namespace quadrille::reference {

struct WilsonSetup {
  double mass = 0;
  double xi0 = 1, nu = 1;
  std::array<double, 4> boundary{};  ///< theta/pi
};

/// The DeGrand-Rossi gamma matrices, 0..3 = x, y, z, t, and 4 = gamma_5 = their product.
std::array<std::array<Complex, 4>, 4> gamma(int mu);

/// M psi, or M^dagger psi, from the definition; spins in the DeGrand-Rossi basis.
HostSpinor wilson(const HostLinks& links, const WilsonSetup& setup, const HostSpinor& psi, bool dagger);

/// gamma_5 psi.
HostSpinor gamma5(const HostSpinor& psi);

}  // namespace quadrille::reference
