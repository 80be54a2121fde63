// The systems of equations that a host may ask a solver for: M, its adjoint, its even-odd preconditioned form on either
// parity, and the normal equations of both.
#pragma once

#include "dirac/preconditioned.h"
#include "input/capi/quadrille.h"
#include "solvers/driver.h"

#include <memory>
#include <optional>
#include <string>

namespace quadrille::capi {

/// A system by its word, on fields of `subset`.
struct SystemChoice {
  bool even_odd = false;  ///< A - H A^-1 H on the sites of one parity
  bool adjoint = false;
  bool normal = false;  ///< of M^+ M
  Subset subset = Subset::Full;
};

/// y = P x for a choice, in double; y and x are of its subset. `scratch` are full fields.
void apply(const DiracOperator& dirac, const SystemChoice& choice, Field& y, const Field& x, Field& scratch,
           Field& scratch2);

/// Solves all of them with what one SystemSolver is made of. The adjoint's solver is made on first use.
///
/// With b zero on the other parity, the solution of M x = b on a parity solves the preconditioned system there. M^+ M x
/// = b is M^+ y = b, then M x = y. A solve whose residual is not that of the requested system goes on until that one is
/// met.
class Systems {
 public:
  Systems(std::shared_ptr<const DiracOperator> dirac, const EvenOddSystem& system, const SolverSpec& spec);

  /// x and b are full fields of which the parities of `choice` count; the others of b are overwritten by zero, those of
  /// x hold anything. The residual of the report is that of the system, |b - P x| / |b|, in double. With Start::given x
  /// holds a guess.
  SolveReport solve(const SystemChoice& choice, Field& x, Field& b, SystemSolver::Start start);

  void set_progress(ProgressCallback callback) { progress_ = std::move(callback); }
  const SolverSpec& spec() const { return spec_; }
  SystemSolver& direct() { return direct_; }

 private:
  struct Adjoint {
    std::shared_ptr<const DiracOperator> dirac;
    EvenOddSystem system;
    SystemSolver solver;
    Adjoint(const std::shared_ptr<const DiracOperator>& of, const SolverSpec& spec);
  };
  struct Residual {
    Field value, scratch, scratch2;
    explicit Residual(const FieldDesc& desc) : value(desc), scratch(desc), scratch2(desc) {}
  };
  struct Normal {
    Field y, correction, guess;
    explicit Normal(const FieldDesc& desc) : y(desc), correction(desc), guess(desc) {}
  };

  Adjoint& adjoint();
  SolveReport solve_one(bool adjoint, Field& x, const Field& b, SystemSolver::Start start, double tolerance);
  SolveReport solve_normal(const SystemChoice& choice, Field& x, Field& b, SystemSolver::Start start);
  SolveReport solve_odd(const SystemChoice& choice, Field& x, Field& b, SystemSolver::Start start);
  /// Made when they are first needed.
  Residual& residual_like(const Field& x);
  Normal& normal_like(const Field& x);
  /// residual_->value = b - P x on the parities of the choice, zero elsewhere; gives its norm.
  double true_residual(const SystemChoice& choice, const Field& x, const Field& b);
  /// Makes the report that of the requested system.
  void conclude(SolveReport& report, double residual, double b_norm) const;

  std::shared_ptr<const DiracOperator> dirac_;
  SolverSpec spec_;
  SystemSolver direct_;
  std::unique_ptr<Adjoint> adjoint_;
  std::unique_ptr<Residual> residual_;
  std::unique_ptr<Normal> normal_;
  ProgressCallback progress_;
};

}  // namespace quadrille::capi
