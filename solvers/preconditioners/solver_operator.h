// A solver as an operator: y = A^-1 x, as accurately as it is told.
#pragma once

#include "core/blas/blas.h"
#include "core/error.h"
#include "core/operator/operator.h"
#include "solvers/solver.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>

namespace quadrille {

/// One application is a solve to |x - A y| <= tolerance |x| or for so many iterations, whichever comes first; not
/// converging is no error. It allocates the history of that solve.
class SolverOperator final : public LinearOperator {
 public:
  /// `a` is the outer operator of `solver` and outlives this object.
  SolverOperator(const LinearOperator& a, std::unique_ptr<Solver> solver, double tolerance, int max_iterations)
      : a_(a), solver_(std::move(solver)), tolerance_(tolerance), max_iterations_(max_iterations) {}

  const FieldDesc& field_desc() const override { return a_.field_desc(); }
  /// ErrorCode::unsupported with the dagger: the solver is one for A.
  void apply(Field& y, const Field& x, Dagger dagger) const override {
    if (dagger == Dagger::Yes) throw Error(ErrorCode::unsupported, "a solver for A gives no inverse of A^dagger");
    flops_ = solver_->solve(y, x, {tolerance_ * std::sqrt(blas::norm2(x)), max_iterations_}).flops;
  }
  /// Of the last application.
  double flops() const override { return flops_; }
  std::string form_name() const override { return a_.form_name(); }
  void enter(Field& mine, const Field& original) const override { a_.enter(mine, original); }
  void leave(Field& original, const Field& mine) const override { a_.leave(original, mine); }

 private:
  const LinearOperator& a_;
  std::unique_ptr<Solver> solver_;
  double tolerance_;
  int max_iterations_;
  mutable double flops_ = 0;
};

}  // namespace quadrille
