// Tight binding with self-consistent charges (Elstner et al., Phys. Rev. B 58, 7260): what of the energy depends on the
// density matrix.
//
//   E(P) = tr(P H0) + 1/2 sum_AB dq_A gamma_AB dq_B,   dq_A = q_A - q0_A,   q_A = sum of (P S)_mm over m in A
//   (Mulliken) H(P) = dE/dP = H0 + 1/2 (V S + S V),               V_A = sum_B gamma_AB dq_B on the diagonal
//
// One electron per occupied orbital, as in density.h. A closed shell of N electrons has half of its charges, its
// neutral charges and its energy here, and twice its gamma.
#pragma once

#include "modules/block_dft/matrix/block_matrix.h"

#include <array>
#include <vector>

namespace quadrille::block_dft {

/// M: matrix_functions.h.
template <class M = BlockMatrix<double>>
struct SccModel {
  M h0, s;                      ///< symmetric; a block is an atom
  BlockMatrix<double> gamma;    ///< symmetric, [atom][atom]: blocks of 1; without blocks H is H0; whole on each rank
  std::vector<double> neutral;  ///< q0 [atom]
  bool charged() const { return gamma.block_count() > 0; }
};

/// Throws ErrorCode::invalid_input for parts whose sizes do not match, and matrices that are not stored as symmetric;
/// ErrorCode::numerical for elements that are not finite.
template <class M>
void require_model(const SccModel<M>& model);

/// q_A of all atoms, on all ranks: P and S are symmetric, P need not have the trace of a density matrix.
template <class M>
std::vector<double> mulliken_charges(const M& p, const M& s);

/// V at these charges.
template <class M>
std::vector<double> charge_potential(const SccModel<M>& model, const std::vector<double>& charges);

/// H at these charges.
template <class M>
M scc_hamiltonian(const SccModel<M>& model, const std::vector<double>& charges);

/// 1/2 sum dq gamma dq.
template <class M>
double charge_energy(const SccModel<M>& model, const std::vector<double>& charges);

/// Where atoms are. `cell`: edges of a box that repeats itself; 0 along an axis: it does not.
struct AtomPositions {
  std::vector<std::array<double, 3>> at;
  std::array<double, 3> cell{};
};

struct ChargeInteraction {
  double hubbard = 1;    ///< U: gamma_AA
  double screening = 0;  ///< a length; 0: gamma_AB = 0 of different atoms
  double cutoff = 0;     ///< gamma_AB = 0 beyond; 0: where exp(-r / screening) is below 1e-12
};

/// gamma_AB = exp(-r / screening) / sqrt(r^2 + U^-2), which is U for r = 0 (Ohno's formula, screened). Errors:
/// ErrorCode::invalid_input for numbers that are negative or not finite, and two atoms at one place.
BlockMatrix<double> charge_interaction(const AtomPositions& positions, const ChargeInteraction& options);

}  // namespace quadrille::block_dft
