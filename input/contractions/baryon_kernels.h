// The spin and color contractions of three quarks at one site, compiled once for each instruction set: plain data.
#pragma once

#include "core/simd/of_isa.h"
#include "input/contractions/plane_sums.h"

namespace quadrille {

/// One number of a spin matrix.
struct SpinNumber {
  int row, column;
  double re, im;
};

/// direct and exchange are the numbers d and e of sum A_ab B_a'b' P_c'c [d E(U_aa', D_bb', U_cc') + e E(U_ac', D_bb',
/// U_ca')], with E(X, Y, Z) = eps_ijk eps_i'j'k' X_ii' Y_jj' Z_kk' over colors.
struct BaryonTerm {
  const SpinNumber* sink;  ///< A
  int sink_count;
  const SpinNumber* source;  ///< B
  int source_count;
  const SpinNumber* projector;  ///< P
  int projector_count;
  double direct, exchange;
  int output;  ///< that it is added to
};

struct BaryonProblem {
  const PropagatorBlocks* like;   ///< U
  const PropagatorBlocks* other;  ///< D; the same pointer where it is the same propagator
  const BaryonTerm* terms;
  int term_count;
};

/// Numbers of scratch that a kernel needs: both propagators and P U.
constexpr int baryon_scratch(int lanes) { return 3 * 12 * 24 * lanes; }

/// Null for lanes that the instruction set has no kernels for.
using BaryonKernel = void (*)(const BaryonProblem&, const Plane&, double* scratch);
QUADRILLE_DECLARE_FOR_ISAS(BaryonKernel, baryon_kernel, (int lanes))

}  // namespace quadrille
