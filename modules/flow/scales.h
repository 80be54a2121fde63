// Reference scales of the gradient flow, from its curve t^2 E(t).
#pragma once

#include <optional>
#include <vector>

namespace quadrille::flow {

/// In lattice units; none where the curve does not reach them.
struct Scales {
  std::optional<double> t0;  ///< t^2 E = 0.3: M. Luescher, JHEP 08 (2010) 071; the flow time t0 / a^2
  std::optional<double> w0;  ///< t d/dt (t^2 E) = 0.3: S. Borsanyi et al., JHEP 09 (2012) 010; the length w0 / a
};

/// From E at rising times, four at least, by polynomials through four neighbouring points of t^2 E; at the first
/// crossing from below.
Scales scales(const std::vector<double>& times, const std::vector<double>& energies);

}  // namespace quadrille::flow
