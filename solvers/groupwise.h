// The solution of a Krylov method whose iterations run on an inner operator: in another precision, another gauge.
//
// Updates of the solution are gathered in the inner format in a partial solution, small beside x, and added to x in the
// outer precision group by group (H. A. van der Vorst and Q. Ye, SIAM J. Sci. Comput. 22 (2000) 835): x loses nothing
// to the inner format. At the same time the iterated residual is replaced by the true one.
#pragma once

#include "core/operator.h"

#include <optional>

namespace quadrille {

class Monitor;
struct SolveReport;

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
  /// Called after every iteration that has added to target(): ends a group, x += partial solution, when rounding in the
  /// inner format asks for it. Leaves r alone.
  void gather(Field& x);
  /// x += partial solution; partial solution = 0; r = b - A x with the outer operator, in the inner format.
  /// Gives |b - A x|^2 of the outer format.
  double update(Field& x, const Field& b, Field& r);

  /// Ends a solve: adds what is still in the partial solution unless the iterates failed, and completes the report with
  /// the true residual of x.
  SolveReport finish(Monitor& monitor, Field& x, const Field& b, double applications);

 private:
  double true_residual(const Field& x, const Field& b);
  void add_partial(Field& x);

  const LinearOperator& outer_;
  const LinearOperator* inner_;
  Field work_;                    // outer format
  std::optional<Field> partial_;  // inner format
  double known_residual_ = 0;
  double outer_applications_ = 0;
  int gathered_ = 0;  // iterations in the partial solution
};

}  // namespace quadrille
