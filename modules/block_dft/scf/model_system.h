// Made Hamiltonians and overlaps: insulators whose matrix elements fall off exponentially.
#pragma once

#include "modules/block_dft/scf/scc_model.h"

#include <cstdint>

namespace quadrille::block_dft {

struct ModelSystem {
  BlockMatrix<double> h, s;  ///< symmetric
  double electrons = 0;      ///< one per orbital below the gap, which is around 0
  AtomPositions positions;
  std::vector<double> neutral;  ///< electrons of each neutral atom
};

struct ModelOptions {
  BlockSizes sizes;       ///< orbitals of each atom
  double decay = 1.5;     ///< elements between atoms at a distance d are random times exp(-decay d)
  double cutoff = 4;      ///< no elements beyond this distance
  double coupling = 0.5;  ///< the largest sum of |H_pq| over a row's elements between atoms
  double polarity = 0;    ///< neutral atoms have random numbers of [-1, 1) times this more electrons than levels below
  std::uint64_t seed = 1;
};

/// Atoms on the sites of a periodic cubic lattice of spacing 1, the smallest that has enough of them. Of b orbitals of
/// an atom (b + 1) / 2, rounded down, have a level in [-1.1, -0.9], the others in [0.9, 1.1]. Elements between atoms
/// are scaled so that, by Gershgorin, H of coupling 0.5 has no eigenvalue in (-0.4, 0.4) and those of S are in
/// [0.6, 1.4]: so the number of eigenvalues of H c = e S c below 0 is known (Sylvester), and none is nearer to 0 than
/// 0.28. With a coupling above 0.9 the gap is no longer certain. Ranks of a grid, that of the sizes, make their blocks
/// of the same matrices; collective.
ModelSystem model_system(const ModelOptions& options);

}  // namespace quadrille::block_dft
