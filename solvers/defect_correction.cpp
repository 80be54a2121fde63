#include "solvers/defect_correction.h"

#include "core/blas/blas.h"
#include "solvers/refinement.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace quadrille {

namespace {

// The inner residual is a statement of the inner format: aiming at half the target, the outer one still meets it.
constexpr double margin = 0.5;

class DefectCorrection final : public Solver {
 public:
  DefectCorrection(const LinearOperator& outer, const LinearOperator& inner, std::unique_ptr<Solver> inner_solver,
                   double delta)
      : outer_(outer),
        inner_(inner),
        inner_solver_(std::move(inner_solver)),
        delta_(delta),
        r_(outer.field_desc()),
        e_(outer.field_desc()),
        inner_r_(inner.field_desc()),
        inner_e_(inner.field_desc()),
        // Half of the reduction that a cycle must reach; of delta = 0.1 nearly a factor of 2.
        refinement_({.gain = 0.5 * (1 + delta),
                     .round = "cycle",
                     .too_little = fmt::format("less than half of what delta = {:.3g} requires", delta),
                     .target = "target"}) {}

  SolveReport solve(Field& x, const Field& b, const Stopping& stopping) override;

 private:
  /// One inner solve of A e = r; its work is added to the report. Gives false when e is of no use.
  bool correct(SolveReport& report, double residual, const Stopping& stopping);

  const LinearOperator& outer_;
  const LinearOperator& inner_;
  std::unique_ptr<Solver> inner_solver_;
  double delta_;
  Field r_, e_, inner_r_, inner_e_;
  SolveReport last_;  // of the latest inner solve
  Refinement refinement_;
  int cycles_ = 0;
};

bool DefectCorrection::correct(SolveReport& report, double residual, const Stopping& stopping) {
  inner_solver_->set_progress(
      progress_ ? [&, done = report.iterations](
                      const Progress&
                          p) { progress_({done + p.iteration, stopping.max_iterations, p.residual, stopping.target}); }
                : ProgressCallback());
  inner_.enter(inner_r_, r_);
  const Stopping inner_stopping{std::max(delta_ * residual, margin * stopping.target),
                                stopping.max_iterations - report.iterations, stopping.patience};
  last_ = inner_solver_->solve(inner_e_, inner_r_, inner_stopping);  // A e = r
  accumulate(report, last_);
  report.restarts = ++cycles_;
  report.patience = last_.patience;
  report.inner_form = last_.outer_form;
  return std::isfinite(last_.residual) && last_.residual < residual;
}

SolveReport DefectCorrection::solve(Field& x, const Field& b, const Stopping& stopping) {
  const auto begin = std::chrono::steady_clock::now();
  SolveReport report;
  reserve_history(report.history, stopping.max_iterations);
  report.outer_form = outer_.form_name();
  cycles_ = 0;
  refinement_.begin();
  blas::zero(x);      // x = 0
  blas::copy(r_, b);  // r = b
  double residual = std::sqrt(blas::norm2(r_));
  report.history.push_back({0, residual, residual});
  report.iterated_residual = residual;
  bool done = true;
  if (!std::isfinite(residual)) {
    report.stop_reason = StopReason::not_finite;
    report.message = "the right-hand side is not finite";
  } else if (residual <= stopping.target) {
    report.stop_reason = StopReason::converged;
  } else {
    done = false;
  }
  while (!done) {
    const double before = residual;
    if (correct(report, residual, stopping)) {
      inner_.leave(e_, inner_e_);
      blas::axpy(1, e_, x);             // x += e
      outer_.apply(r_, x, Dagger::No);  // r = b - A x
      residual = std::sqrt(blas::subtract_norm2(b, r_));
      report.flops += outer_.flops();
    }
    report.history.back().true_residual = residual;
    done = refinement_.ended(report, last_, residual, before, stopping);
  }
  report.converged = report.stop_reason == StopReason::converged;
  report.residual = residual;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace

std::unique_ptr<Solver> make_defect_correction(const LinearOperator& outer, const LinearOperator& inner,
                                               std::unique_ptr<Solver> inner_solver, double delta) {
  return std::make_unique<DefectCorrection>(outer, inner, std::move(inner_solver), delta);
}

}  // namespace quadrille
