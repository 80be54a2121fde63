// Solves the full system M x = b to a relative residual, measured in double with the links as they are in the file.
#pragma once

#include "core/api.h"
#include "core/operator/operator.h"
#include "solvers/refinement.h"
#include "solvers/registry.h"
#include "solvers/solver.h"

#include <memory>
#include <optional>

namespace quadrille {

/// |b| of a right-hand side. `scratch`, like b, is overwritten. Errors: ErrorCode::numerical for a b that is not
/// finite, or so large or so small that |b|^2, or the square of the residual at `tolerance`, is beyond the range of
/// double.
QUADRILLE_API double norm_of_rhs(const Field& b, double tolerance, Field& scratch);

/// Owns the operators of all forms and every workspace, so that many right-hand sides cost one setup.
///
/// The solver of the reduced system is given the absolute target tolerance * |b|, and a right-hand side that a power of
/// two has brought near 1 where it was far from it: sloppy formats hold those of any size. Where the full
/// residual still misses it, the driver restarts from x with what remains (M e = b - M x, x += e) until it is met,
/// max_iterations is spent, the solver stagnates, or two restarts in a row gain less than a factor of 2. What a restart
/// finds is added only when its own solve lowered the residual.
///
/// Scheme uniform holds x in spec.precision throughout: single and half end where x itself cannot be better, and need a
/// b for which x is in their range.
/// The other schemes hold x in double; the outer operator has spec.reconstruct numbers per link.
class QUADRILLE_API SystemSolver {
 public:
  /// `system` is in double with 18 numbers in the original gauge, and outlives the solver. Forms that it cannot be
  /// converted to throw what converted() throws.
  SystemSolver(const LinearSystem& system, const SolverSpec& spec);

  /// x and b are fields of system.full_desc(); x is overwritten, b is left alone. The residuals of the report and of
  /// its history are relative to |b|; its residual is |b - M x| / |b| of the x handed back. b = 0 gives x = 0,
  /// converged. A b that is not finite, or that is too large or too small for its square to be a double, is
  /// ErrorCode::numerical.
  SolveReport solve(Field& x, const Field& b) { return solve(x, b, Start::zero); }

  enum class Start {
    zero,
    given  ///< x holds a guess x0: what remains is b - M x0 in double; the target is still tolerance * |b|
  };
  /// A guess that is not finite is ErrorCode::numerical.
  SolveReport solve(Field& x, const Field& b, Start start);

  /// Called after every iteration with relative residuals; an empty function turns it off.
  void set_progress(ProgressCallback callback) { progress_ = std::move(callback); }
  /// Of the solves that follow, in place of that of the spec.
  void set_tolerance(double tolerance) { spec_.tolerance = tolerance; }
  /// Of the solves that follow: iterations without progress that a method allows at least.
  void set_patience(int iterations) { patience_ = iterations; }
  const SolverSpec& spec() const { return spec_; }

 private:
  const LinearSystem& outer() const { return outer_ ? *outer_ : system_; }
  /// Solves M e = rhs for what remains, and adds it to x. Gives the full residual |b - M x|.
  double attempt(SolveReport& report, Field& x, const Field& b, double b_norm, double residual);
  /// x as the solve begins with it, and residual_ = b - M x; gives its norm.
  double begin(Field& x, const Field& b, double b_norm, Start start);
  /// What else may converge, after a solve that was lost; empty for any other.
  std::string way_out(const SolveReport& report) const;
  void watch(const SolveReport& report, double b_norm);

  const LinearSystem& system_;
  SolverSpec spec_;
  std::unique_ptr<LinearSystem> outer_;   // when its form is not the system's
  std::unique_ptr<GaugeOperator> inner_;  // when the scheme has one
  std::unique_ptr<Solver> solver_;
  Field residual_, correction_;                 // full lattice, double
  Field rhs_, reduced_;                         // of the outer reduced operator
  std::optional<Field> low_x_, low_b_, low_e_;  // full lattice, uniform in another precision
  SolveReport last_;                            // of the latest attempt
  Refinement refinement_{{.round = "restart", .too_little = "less than a factor of 2", .target = "tolerance"}};
  int patience_ = 0;
  ProgressCallback progress_;
};

}  // namespace quadrille
