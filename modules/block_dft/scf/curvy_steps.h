// The energy of an SccModel minimized over density matrices by curvy steps (Helgaker et al., Chem. Phys. Lett. 327,
// 397; Shao et al., J. Chem. Phys. 118, 6144), in the basis of the atoms, which is not orthogonal:
//
//   P(t) = e^(-t D S) P e^(t S D) = sum_k t^k / k! C_k,   C_0 = P,   C_k+1 = [C_k, D]_S = C_k S D - D S C_k
//
// with D antisymmetric (equations 7 to 9 of the paper), which keeps P symmetric, idempotent and its trace. Energy and
// charges are polynomials in t whose coefficients are traces of the C_k: the search for the best t takes no product.
#pragma once

#include "modules/block_dft/functions/matrix_functions.h"
#include "modules/block_dft/scf/scc_model.h"

namespace quadrille::block_dft {

enum class CurvyDirection { steepest_descent, conjugate_gradient };

/// What a step did.
struct CurvyStep {
  double gradient = 0;      ///< |S^-1/2 G S^-1/2|, Frobenius, before the step
  double slope = 0, t = 0;  ///< dE/dt at t = 0, t of the step
  int terms = 0;            ///< of the series
  FunctionReport report{};
};

/// M: matrix_functions.h.
template <class M = BlockMatrix<double>>
class CurvySteps {
 public:
  /// `p` is idempotent; `inverse_root` is S^-1/2.
  CurvySteps(const SccModel<M>& model, M p, const M& inverse_root, CurvyDirection direction, FunctionOptions options);

  /// One step along S^-1 G S^-1, G = H P S - S P H the gradient (equation 10), or, of conjugate gradients
  /// (Polak-Ribiere), along that plus a share of the step before; then one of McWeeny's purification for what filters
  /// left out. S^-1 on both sides makes the step the same in any basis of the same orbitals.
  CurvyStep step();

  const M& p() const { return p_; }
  const std::vector<double>& charges() const { return charges_; }
  /// tr(P H0) + the energy of charges.
  double energy() const;

 private:
  struct Series;
  M gradient(FunctionReport& report) const;
  FunctionOptions relative_to(double size) const;
  void extend(Series& series, const M& sd, FunctionReport& report) const;

  const SccModel<M>& model_;
  M p_, inverse_;
  CurvyDirection direction_;
  FunctionOptions options_;
  std::vector<double> charges_;
  M last_gradient_, last_direction_;
  double last_square_ = 0;  ///< of the last gradient with S^-1 as the metric
};

}  // namespace quadrille::block_dft
