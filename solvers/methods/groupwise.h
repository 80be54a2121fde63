// The solution of a Krylov method whose iterations run on an inner operator: in another precision, another gauge.
//
// Updates of the solution are gathered in the inner format in a partial solution, small beside x, and added to x in the
// outer precision group by group (H. A. van der Vorst and Q. Ye, SIAM J. Sci. Comput. 22 (2000) 835): x loses nothing
// to the inner format. At the same time the iterated residual is replaced by the true one, which is not computed as
// b - A x: that carries an error of rounding times |A| |x|, late in a solve large beside r, and a method that lives on
// orthogonality pays for it at every update. With d what was added to x since the last update it is r' - A d, r' the
// residual of that update (Sleijpen and van der Vorst, Computing 56 (1996) 141). b - A x judges convergence.
#pragma once

#include "core/operator/operator.h"

#include <optional>

namespace quadrille {

class Monitor;
struct SolveReport;

/// Iterations in one group in half precision. The partial solution of many is so much larger than what one adds that 15
/// bits lose it, and the iterated residual with it: near a critical mass CG takes ten times as many iterations without
/// this, and hardly more than in double with it. In single and double a group may last until the reliable update.
constexpr int iterations_of_half_group = 16;

class GroupwiseSolution {
 public:
  /// inner = nullptr: the outer operator iterates. Without an inner operator and without `updates`, x itself takes
  /// every update and only one more field (the workspace of the true residual) is made. The operators outlive this
  /// object.
  GroupwiseSolution(const LinearOperator& outer, const LinearOperator* inner, bool updates);

  /// The operator that iterates.
  const LinearOperator& iterating() const { return inner_ ? *inner_ : outer_; }
  /// Where an iteration adds: the partial solution, or x.
  Field& target(Field& x) { return partial_ ? *partial_ : x; }

  /// x = 0, partial solution = 0, r = b in the inner format. x, r overwritten. Gives |b|^2.
  double start(Field& x, const Field& b, Field& r);
  /// The same from an x that is there, which stays, and its true residual in the outer format. Gives the square of its
  /// norm.
  double go_on(const Field& residual, Field& r);
  /// Called after every iteration that has added to target(): ends a group when rounding in the inner format asks for
  /// it. Leaves r alone.
  void gather();
  /// x += all that was gathered; r = the true residual in the inner format. Gives |r|^2 of the outer format, which is
  /// |b - A x|^2 to the last digit where it says that `target` is met.
  double update(Field& x, const Field& b, Field& r, double target);

  /// Of the outer format, after update(), where there is an inner operator or there are updates.
  const Field& residual() const { return *residual_; }

  /// Ends a solve: adds what is still in the partial solution unless the iterates failed, and completes the report with
  /// the true residual of x.
  SolveReport finish(Monitor& monitor, Field& x, const Field& b, double applications);

 private:
  double true_residual(const Field& x, const Field& b);
  /// group += partial solution; partial solution = 0.
  void end_group();

  const LinearOperator& outer_;
  const LinearOperator* inner_;
  Field work_;                                // outer format
  std::optional<Field> partial_;              // inner format
  std::optional<Field> gathered_, residual_;  // outer format: d and r' above
  double known_residual_ = 0;
  bool residual_computed_ = true;  // known_residual_ is |b - A x|, not the recurrence's
  double outer_applications_ = 0;
  int iterations_in_group_ = 0;
};

}  // namespace quadrille
