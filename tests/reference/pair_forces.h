// Forces, energy and virial of Lennard-Jones and Coulomb pairs, one pair after the other in double precision.
#pragma once

#include "modules/md/pairs/forces.h"

#include <array>
#include <vector>

namespace quadrille::reference {

struct PairTotals {
  std::vector<double> forces;  ///< [particle][x, y, z]
  double energy = 0;
  std::array<double, 9> virial{};
};

/// As PairForces defines them; the method of the options is not read.
PairTotals pair_forces(const md::System& system, const md::ForceOptions& options);

}  // namespace quadrille::reference
