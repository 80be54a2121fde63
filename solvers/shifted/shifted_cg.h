// Conjugate gradients for (A + shift_k) x_k = b with all shifts at once, A Hermitian and positive: B. Jegerlehner,
// hep-lat/9612014. One shift: conjugate gradients on A itself.
#pragma once

#include "core/api.h"
#include "core/operator/operator.h"
#include "solvers/methods/groupwise.h"
#include "solvers/methods/reliable_update.h"
#include "solvers/shifted/shifted_operator.h"
#include "solvers/solver.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace quadrille {

/// ErrorCode::invalid_input for shifts that do not ascend or are negative; names the shift.
QUADRILLE_API void check_shifts(std::span<const double> shifts);

/// One Krylov space serves all shifts: residuals of the larger shifts are multiples zeta_k of the smallest one's.
///
/// With an inner operator: a reliable update replaces the residual of the smallest shift by the true one, but those of
/// the others are then no longer multiples of it, by what the rounding of the inner form does to x_k: u |A| |x_k| of
/// all that x_k gains in that form. The iterations therefore begin in the outer form and go on in the inner one as soon
/// as this is small beside every target, as the precision of a Krylov method may fall with its residual (J. van den
/// Eshof and G. L. G. Sleijpen, SIAM J. Matrix Anal. Appl. 26 (2004) 125). A shift whose true residual misses its
/// target all the same is refined by the same method.
///
/// Traffic of an iteration besides the operator: 8 fields read and 3 written, and for each further shift that has not
/// met its target 3 read and 2 written.
class QUADRILLE_API ShiftedCg {
 public:
  /// `inner`, `delta` as in solvers/methods/methods.h. The operators outlive this object; `shifts` at most in a call of
  /// solve().
  ShiftedCg(const LinearOperator& outer, const LinearOperator* inner, double delta, std::size_t shifts);

  struct Shift {
    double value = 0;   ///< not negative
    double target = 0;  ///< of |b - (A + value) x|
  };
  /// One report for each shift, in their order, residuals absolute and true. Their iterations are those of the common
  /// space in which the shift took part; those of its refinement are in `refining`. Seconds and flops of the common
  /// space are in the first, those of the others are of their refinement.
  struct Report {
    std::vector<SolveReport> shifts;
    std::vector<int> refining;
    int iterations = 0;        ///< all, of the common space and of refinements
    int outer_iterations = 0;  ///< of the common space, those in the outer form
    bool converged = true;
  };
  /// `x`, one field for each shift, is overwritten; b is left alone; all fit the outer operator. Shifts ascend
  /// (ErrorCode::invalid_input, as for negative ones).
  Report solve(std::vector<Field>& x, const Field& b, const std::vector<Shift>& shifts, int max_iterations);

  void set_progress(ProgressCallback callback) { progress_ = std::move(callback); }

 private:
  /// What iterates in one form: fields of the smallest shift, directions of the others in units of zeta.
  struct Space {
    Space(const LinearOperator& a, std::size_t further);

    ShiftedOperator a;
    Field p, q, r;
    std::vector<Field> further;
  };
  /// What a shift beyond the smallest knows.
  struct Further {
    double distance = 0;  ///< from the smallest shift
    double target = 0, zeta = 1, zeta_before = 1, zeta_next = 1;
    double step = 0;  ///< of x along its direction, not yet taken
    bool active = false;
    int iterations = 0;
  };
  /// One search: a right-hand side and its shifts.
  class Search;

  double true_residual(const Field& x, const Field& b, double shift);
  void refine(Report& report, std::size_t k, Field& x, const Field& b, const Shift& shift, int max_iterations);

  Space outer_;
  std::unique_ptr<Space> inner_;
  double delta_;
  GroupwiseSolution solution_;
  std::vector<Field> gathered_;  ///< what x of further shifts will take, in the inner format
  Field work_, rest_, correction_;
  ProgressCallback progress_;
};

}  // namespace quadrille
