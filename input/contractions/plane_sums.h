// Sums over space of numbers that are computed from propagators site by site, with phases of momenta: what the kernels
// of one plane of blocks (core/layout/vector_layout.h) are given. Plain data: compiled for every instruction set.
//
// The phases of a momentum are products of those of x, y and z, so momenta share sums: one over x for each different
// n_x, one over y for each different (n_x, n_y), one over z for each momentum.
#pragma once

#include <cstdint>

namespace quadrille {

/// Where the columns of a propagator are. [parity][column]: blocks of [component][lane].
struct PropagatorBlocks {
  const double* columns[2][12];
  bool rotate;  ///< the sink spins are in the UKQCD basis
};

/// Phases are [re, im].
struct PlanePhases {
  int along_x;      ///< different n_x
  const double* x;  ///< [n_x][block coordinate x]
  int along_xy;     ///< different (n_x, n_y)
  const double* y;  ///< [(n_x, n_y)][block coordinate y]
  const int* x_of;  ///< [(n_x, n_y)]: which n_x
  int momenta;
  const double* z;   ///< [momentum][block coordinate z]
  const int* xy_of;  ///< [momentum]: which (n_x, n_y)
};

/// The blocks at z and t of a sub-lattice of these extents.
struct Plane {
  const int* extents;
  int z, t;
  const PlanePhases* phases;
  int outputs;      ///< complex numbers of a site
  double* sums;     ///< [momentum][output][re, im][lane]: overwritten
  double* scratch;  ///< (1 + along_x + along_xy) sets of outputs, aligned as vectors
};

}  // namespace quadrille
