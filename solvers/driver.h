// Solves the full system M x = b to a relative residual, measured in double with the links as they are in the file.
#pragma once

#include "core/api.h"
#include "core/operator/operator.h"
#include "solvers/joined_operator.h"
#include "solvers/registry.h"
#include "solvers/solver.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace quadrille {

class Multigrid;

/// |b| of a right-hand side. `scratch`, like b, is overwritten. Errors: ErrorCode::numerical for a b that is not
/// finite, or so large or so small that |b|^2, or the square of the residual at `tolerance`, is beyond the range of
/// double.
QUADRILLE_API double norm_of_rhs(const Field& b, double tolerance, Field& scratch);

/// Owns the operators of all forms and every workspace, so that many right-hand sides cost one setup. Those of one call
/// are solved at once, each by its own Krylov space in memory of its own: they share the links that an operator reads.
/// What is found for one, to the last bit, and its report do not depend on the others, but for a deflation space: that
/// is what earlier ones have left in it. Until it is full, they are solved one after the other.
///
/// The solver of the reduced system is given the absolute target tolerance * |b|, and a right-hand side that a power of
/// two has brought near 1 where it was far from it: sloppy formats hold those of any size. Where the full
/// residual still misses it, the driver restarts from x with what remains (M e = b - M x, x += e) until it is met,
/// max_iterations is spent, the solver stagnates, or two restarts in a row gain less than a factor of 2. What a restart
/// finds is added only when its own solve lowered the residual.
///
/// Scheme uniform holds x in spec.precision throughout: single and half end where x itself cannot be better, and need a
/// b for which x is in their range.
/// Multigrid is set up with the solver; where it does not work, `fallback` decides.
///
/// The other schemes hold x in double; the outer operator has spec.reconstruct numbers per link.
class QUADRILLE_API SystemSolver {
 public:
  /// `system` is in double with 18 numbers in the original gauge, and outlives the solver. Forms that it cannot be
  /// converted to throw what converted() throws. `deflation`: the space that an earlier solver of the same system and
  /// spec has left (tolerance and limit of iterations may differ); null: a fresh one, where the spec asks for one.
  SystemSolver(const LinearSystem& system, const SolverSpec& spec, std::shared_ptr<DeflationSpace> deflation = nullptr);
  ~SystemSolver();
  SystemSolver(const SystemSolver&) = delete;
  SystemSolver& operator=(const SystemSolver&) = delete;

  enum class Start {
    zero,
    given  ///< x holds a guess x0: what remains is b - M x0 in double; the target is still tolerance * |b|
  };
  /// x and b are fields of system.full_desc(); x is overwritten, b is left alone. The residuals of the report and of
  /// its history are relative to |b|; its residual is |b - M x| / |b| of the x handed back. b = 0 gives x = 0,
  /// converged. A b that is not finite, or that is too large or too small for its square to be a double, and a guess
  /// that is not finite, are ErrorCode::numerical.
  SolveReport solve(Field& x, const Field& b, Start start = Start::zero);
  /// As many at once as are given, x[i] for b[i]. The seconds of a report are an equal share of those of the call. An
  /// error of one is thrown when the others are solved.
  std::vector<SolveReport> solve(std::span<Field* const> x, std::span<const Field* const> b, Start start = Start::zero);

  /// Makes the workspaces for so many right-hand sides at once, at least one, which solve() would do otherwise.
  void reserve(int count);
  /// What a further right-hand side takes of the backend's memory, beside x and b; one is there from the start.
  std::size_t bytes_of_one() const { return bytes_of_one_; }

  /// Called after every iteration with relative residuals; an empty function turns it off.
  void set_progress(ProgressCallback callback) { progress_ = std::move(callback); }
  /// Of the solves that follow, in place of that of the spec.
  void set_tolerance(double tolerance) { spec_.tolerance = tolerance; }
  /// Of the solves that follow: iterations without progress that a method allows at least.
  void set_patience(int iterations) { patience_ = iterations; }
  const SolverSpec& spec() const { return spec_; }
  /// Null where the spec asks for none.
  const std::shared_ptr<DeflationSpace>& deflation() const { return deflation_; }
  /// Null for other types, and where multigrid has given way to BiCGstab: then spec() has that.
  const Multigrid* multigrid() const { return multigrid_.get(); }

 private:
  class Work;

  /// The multigrid of a spec that asks for one; or the spec becomes one for BiCGstab, and the log says why.
  void set_up_multigrid();

  const LinearSystem& outer() const { return outer_ ? *outer_ : system_; }

  const LinearSystem& system_;
  SolverSpec spec_;
  std::unique_ptr<LinearSystem> outer_;   // when its form is not the system's
  std::unique_ptr<GaugeOperator> inner_;  // when the scheme has one
  Meeting meeting_;
  JoinedOperator joined_outer_;
  std::optional<JoinedOperator> joined_inner_;
  std::shared_ptr<DeflationSpace> deflation_;   // null: none
  std::shared_ptr<const Multigrid> multigrid_;  // null: none
  std::shared_ptr<const LinearOperator> joined_multigrid_;
  std::vector<std::unique_ptr<Work>> work_;  // of a right-hand side each
  std::size_t bytes_of_one_ = 0;
  int patience_ = 0;
  ProgressCallback progress_;
};

}  // namespace quadrille
