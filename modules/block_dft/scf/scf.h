// The self-consistent loop over a tight-binding model (scc_model.h): density matrix, charges, Hamiltonian, again, with
// mixing; or, without mixing, the energy minimized over density matrices by curvy steps (curvy_steps.h).
#pragma once

#include "modules/block_dft/functions/density.h"
#include "modules/block_dft/scf/curvy_steps.h"
#include "modules/block_dft/scf/scc_model.h"

namespace quadrille::block_dft {

enum class ScfMethod { mixing, curvy };

struct ScfOptions {
  ScfMethod method = ScfMethod::mixing;
  /// Of each density matrix; of curvy steps the first one. By a number of electrons.
  DensityOptions density{};
  /// H <- (1 - mixing) H + mixing H(P). H is linear in the charges: they are what is mixed.
  double mixing = 0.3;
  /// Ends when |E_n - E_{n-1}| and, with mixing, |r gamma r| / 2 of what charges still move by, r, are below eps_scf N.
  double eps_scf = 1e-7;
  int max_iterations = 100;
  CurvyDirection direction = CurvyDirection::conjugate_gradient;
  /// Iteration, energy and its change.
  std::function<void(int, double, double)> progress{};
};

struct ScfIteration {
  double energy = 0, change = 0;       ///< change: E_n - E_{n-1}; not-a-number of the first one
  double charge_change = 0;            ///< the largest |q(P) - q| of an atom, q the charges that H is made of
  double gradient = 0;                 ///< of curvy steps: |S^-1/2 (H P S - S P H) S^-1/2|
  double mu = 0;                       ///< not-a-number where there is none
  FunctionReport report{};             ///< what its products cost
  double occupation = 0, seconds = 0;  ///< occupation: of P
};

/// M: matrix_functions.h.
template <class M = BlockMatrix<double>>
struct Scf {
  M p, h;  ///< h: at the charges of p
  std::vector<double> charges;
  double energy = 0, band_energy = 0, charge_energy = 0;  ///< sum; tr(P H0); of gamma
  double electrons = 0;
  std::optional<double> degenerate_level;  ///< of the last density matrix: density.h
  bool converged = false;
  std::string density_failure;  ///< of a density matrix that has not converged, which ends the loop
  std::vector<ScfIteration> iterations;
};

/// Errors: ErrorCode::invalid_input for mixing outside of (0, 1], an eps_scf that is not above 0 and options without a
/// number of electrons; ErrorCode::numerical for a loop that oscillates, naming a mixing that should do; those of
/// density.h and scc_model.h. A loop that spends max_iterations, or meets a density matrix that does not converge, is
/// reported, not thrown.
template <class M>
Scf<M> self_consistent(const SccModel<M>& model, const ScfOptions& options);

}  // namespace quadrille::block_dft
