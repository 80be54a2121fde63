// The systems of equations that a host may ask a solver for: M, its adjoint, its even-odd preconditioned form on either
// parity, and the normal equations of both.
#pragma once

#include "dirac/systems/even_odd.h"
#include "input/capi/quadrille.h"
#include "solvers/driver.h"
#include "solvers/shifted/shifted_solver.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

/// Solves all of them, each with a SystemSolver that is made on first use, but for that of M, which is there at once.
///
/// With b zero on the other parity, the solution of M x = b on a parity solves the preconditioned system there, and the
/// residual of M x = b is that of this system where the solver keeps that parity. M^+ M x = b is M^+ y = b, then M x =
/// y, which goes on until its own residual is met; but CG solves N^+ N x = b on one parity at once.
class Systems {
 public:
  Systems(std::shared_ptr<const DiracOperator> dirac, const SolverSpec& spec);

  /// x and b are full fields of which the parities of `choice` count; the others of b are overwritten by zero, those of
  /// x hold anything. The residual of the report is that of the system, |b - P x| / |b|, in double. With Start::given x
  /// holds a guess.
  SolveReport solve(const SystemChoice& choice, Field& x, Field& b, SystemSolver::Start start);
  /// The same for many: at once, but for the products M^+ M and N^+ N.
  std::vector<SolveReport> solve(const SystemChoice& choice, std::span<Field> x, std::span<Field> b,
                                 SystemSolver::Start start);
  /// What solves many at once for such a choice; null where they are solved one after the other.
  SystemSolver* solver_of_many(const SystemChoice& choice) {
    return choice.normal ? nullptr : &one(choice, choice.adjoint).solver;
  }

  void set_progress(ProgressCallback callback) { progress_ = std::move(callback); }
  const SolverSpec& spec() const { return spec_; }
  /// In which the solver works on a system of `choice`.
  EvenOddForm form_of(const SystemChoice& choice) const;
  /// That of M.
  SystemSolver& direct() { return one({}, false).solver; }

 private:
  struct One {
    EvenOddSystem system;
    SystemSolver solver;
    One(std::shared_ptr<const DiracOperator> dirac, const SolverSpec& spec)
        : system(std::move(dirac), spec.preconditioning), solver(system, spec) {}
  };
  struct Residual {
    Field value, scratch, scratch2;
    explicit Residual(const FieldDesc& desc) : value(desc), scratch(desc), scratch2(desc) {}
  };
  struct Normal {
    Field y, correction, guess;
    explicit Normal(const FieldDesc& desc) : y(desc), correction(desc), guess(desc) {}
  };
  struct AtOnce {
    ShiftedSolver solver;
    std::vector<Field> x;
    Field b;
    AtOnce(const EvenOddSystem& system, const SolverSpec& spec) : solver(system, spec, {0}), b(solver.field_desc()) {
      x.emplace_back(solver.field_desc());
    }
  };

  One& one(const SystemChoice& choice, bool adjoint);
  SolveReport solve_one(const SystemChoice& choice, bool adjoint, Field& x, const Field& b, SystemSolver::Start start,
                        double tolerance);
  /// Clears what does not count of b; of a guess, gives the other sites those that leave nothing there.
  void begin(const SystemChoice& choice, Field& x, Field& b, SystemSolver::Start start) const;
  SolveReport solve_normal(const SystemChoice& choice, Field& x, Field& b, SystemSolver::Start start);
  /// x += e with P e = r, until |b - P x| is at most `target`; residual_->value holds r = b - P x, of norm `residual`,
  /// which becomes that of the new x.
  SolveReport correct_in_two(const SystemChoice& choice, Field& x, const Field& b, double target, double& residual);
  SolveReport correct_at_once(const SystemChoice& choice, Field& x, const Field& b, double target, double& residual);
  /// Whether by CG on N^+ N.
  bool at_once(const SystemChoice& choice) const;
  /// Made when they are first needed.
  Residual& residual_like(const Field& x);
  Normal& normal_like(const Field& x);
  /// residual_->value = b - P x on the parities of the choice, zero elsewhere; gives its norm.
  double true_residual(const SystemChoice& choice, const Field& x, const Field& b);
  /// Makes the report that of the requested system.
  void conclude(SolveReport& report, double residual, double b_norm) const;

  std::shared_ptr<const DiracOperator> dirac_;
  SolverSpec spec_;
  std::unique_ptr<One> ones_[2][2];  ///< of M and of M^+, by the parity kept
  std::unique_ptr<Residual> residual_;
  std::unique_ptr<Normal> normal_;
  std::unique_ptr<AtOnce> at_once_[2];  ///< by parity
  ProgressCallback progress_;
};

}  // namespace quadrille::capi
