// The Krylov methods, one function each. A new one adds a line here and in registry.cpp.
#pragma once

#include "core/operator/operator.h"
#include "solvers/deflation/deflation_space.h"
#include "solvers/solver.h"

#include <memory>

namespace quadrille {

/// What a method is made from. Both operators outlive the solver.
struct SolverParts {
  const LinearOperator& outer;
  /// Iterates, in its own format and gauge; null: `outer` does everything (uniform).
  const LinearOperator* inner = nullptr;
  /// In (0, 1): of reliable updates. 0: none, and convergence is judged on the iterated residual.
  double delta = 0;
  /// An approximate inverse of the operator that iterates, on its fields, for the methods that take one; it may be
  /// another map in each application.
  std::shared_ptr<const LinearOperator> preconditioner = nullptr;
  /// Of the outer operator, shared by all solvers that are to gain by each other's solves, for the methods that take
  /// one.
  std::shared_ptr<DeflationSpace> deflation = nullptr;

  const LinearOperator& iterating() const { return inner ? *inner : outer; }
};

std::unique_ptr<Solver> make_cg(const SolverParts& parts);
std::unique_ptr<Solver> make_bicgstab(const SolverParts& parts);
/// `l`: degree of the minimal-residual polynomials, 1 to 8.
std::unique_ptr<Solver> make_bicgstab_l(const SolverParts& parts, int l);
/// `restart_length`: directions that are kept, at least 1. Takes a preconditioner.
std::unique_ptr<Solver> make_gcr(const SolverParts& parts, int restart_length);

/// `omega`: relaxation, in (0, 2).
std::unique_ptr<Solver> make_mr(const SolverParts& parts, double omega);

/// The delta that BiCGstab uses in place of this one.
double bicgstab_delta(double delta, Precision inner);

}  // namespace quadrille
