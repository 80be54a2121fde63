// Shifted normal equations of a reduced system, as jobs and hosts solve them: residuals relative to |b|, b of any size.
#pragma once

#include "core/api.h"
#include "core/operator/normal_operator.h"
#include "core/operator/operator.h"
#include "solvers/registry.h"
#include "solvers/shifted/shifted_cg.h"

#include <memory>
#include <vector>

namespace quadrille {

/// ErrorCode::invalid_input for a spec whose method or scheme ShiftedSolver does not have.
QUADRILLE_API void check_shifted_method(const SolverSpec& spec);

/// (S^+ S + shift_k) x_k = b for the reduced operator S of a system, in the scheme and the precisions of a spec
/// (uniform or reliable), by ShiftedCg.
class QUADRILLE_API ShiftedSolver {
 public:
  /// `system` is in double with 18 numbers in the original gauge. Shifts ascend and are not negative (solve() throws
  /// what ShiftedCg throws).
  ShiftedSolver(const LinearSystem& system, const SolverSpec& spec, std::vector<double> shifts);

  ShiftedSolver(const ShiftedSolver&) = delete;

  /// Other values of as many shifts.
  void set_shifts(std::vector<double> shifts) { shifts_ = std::move(shifts); }
  /// Of the next solve.
  void set_tolerance(double tolerance) { spec_.tolerance = tolerance; }
  /// Of b and of every x_k.
  const FieldDesc& field_desc() const { return outer_.field_desc(); }
  const std::vector<double>& shifts() const { return shifts_; }
  /// x_k are overwritten, b is left alone. Residuals of the reports are relative to |b|, those at the end true. b = 0
  /// gives x_k = 0. For a b that is not finite, or whose square is no double, what norm_of_rhs() throws.
  ShiftedCg::Report solve(std::vector<Field>& x, const Field& b);

  /// Called after every iteration with residuals relative to |b|.
  void set_progress(ProgressCallback callback) { solver_.set_progress(std::move(callback)); }

 private:
  SolverSpec spec_;
  std::vector<double> shifts_;
  std::unique_ptr<LinearSystem> system_;
  NormalOperator outer_;
  std::unique_ptr<GaugeOperator> inner_;
  ShiftedCg solver_;
  Field scaled_;
};

}  // namespace quadrille
