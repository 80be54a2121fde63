// Conjugate gradients for (A + shift_k) x_k = b with all shifts at once, A Hermitian and positive: B. Jegerlehner,
// hep-lat/9612014. One shift: conjugate gradients on A itself.
#pragma once

#include "core/api.h"
#include "core/operator/operator.h"
#include "solvers/groupwise.h"
#include "solvers/reliable_update.h"
#include "solvers/shifted_operator.h"
#include "solvers/solver.h"

#include <memory>
#include <optional>
#include <vector>

namespace quadrille {

class Monitor;

/// One Krylov space serves all shifts: residuals of the larger shifts are multiples zeta_k of the smallest one's. With
/// an inner operator iterations run in its form, with reliable updates of the residual of the smallest shift; what the
/// inner form does to the others, by its rounding times |A| |x_k|, is seen in their true residuals, and those that miss
/// their target are refined one after the other by the same method.
///
/// Traffic of an iteration besides the operator: 8 fields read and 3 written, and for each further shift that has not
/// met its target 4 read and 2 written.
class QUADRILLE_API ShiftedCg {
 public:
  /// `inner`, `delta` as in solvers/methods.h. The operators outlive this object; `shifts` at most in a call of
  /// solve().
  ShiftedCg(const LinearOperator& outer, const LinearOperator* inner, double delta, std::size_t shifts);
  ~ShiftedCg();

  struct Shift {
    double value = 0;   ///< not negative
    double target = 0;  ///< of |b - (A + value) x|
  };
  /// One report for each shift, in their order, residuals absolute and true. Their iterations are those of the common
  /// space in which the shift took part; those of its refinement are in `refining`. Seconds and flops of the common space
  /// are in the first, those of the others are of their refinement.
  struct Report {
    std::vector<SolveReport> shifts;
    std::vector<int> refining;
    int iterations = 0;  ///< all, of the common space and of refinements
    bool converged = true;
  };
  /// `x`, one field for each shift, is overwritten; b is left alone; all fit the outer operator. Shifts ascend
  /// (ErrorCode::invalid_input, as for negative ones).
  Report solve(std::vector<Field>& x, const Field& b, const std::vector<Shift>& shifts, int max_iterations);

  void set_progress(ProgressCallback callback) { progress_ = std::move(callback); }

 private:
  /// What a shift beyond the smallest has.
  struct Further {
    explicit Further(const LinearOperator& iterating, bool inner);

    Field p;                        ///< of Jegerlehner's direction 1 / zeta
    std::optional<Field> gathered;  ///< what x will take, in the inner format
    double distance = 0;            ///< from the smallest shift
    double target = 0, zeta = 1, zeta_before = 1, zeta_next = 1;
    bool active = false;
    int iterations = 0;
  };

  /// Solves for the first `count` shifts; gives the report of the smallest. `fields` are their x.
  SolveReport search(const std::vector<Field*>& fields, const Field& b, const std::vector<Shift>& shifts,
                     const Stopping& stopping);
  void begin_further(const std::vector<Field*>& fields, const std::vector<Shift>& shifts);
  /// x_k += alpha_k p_k, and the new zeta_k; those that have met their targets leave.
  void step_further(const std::vector<Field*>& fields, double alpha, double residual);
  /// p_k = r + beta_k p_k.
  void turn_further(double beta);
  void gather_further(const std::vector<Field*>& fields, bool now);
  /// A new Krylov space, in which all residuals are multiples of the first one.
  void begin_anew(double r2);
  double true_residual(const Field& x, const Field& b, double shift);

  ShiftedOperator outer_;
  std::optional<ShiftedOperator> inner_;
  double delta_;
  GroupwiseSolution solution_;
  const LinearOperator& a_;
  Field p_, q_, r_;
  Field work_, rest_, correction_;  ///< outer format
  std::vector<std::unique_ptr<Further>> further_;
  std::size_t taking_part_ = 0;  ///< of further_
  SolutionGain gain_;
  double alpha_before_ = 1, beta_ = 0;
  int iterations_in_group_ = 0;
  ProgressCallback progress_;
};

}  // namespace quadrille
