#include "solvers/defect_correction.h"

#include "core/blas/blas.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace quadrille {

namespace {

// The inner residual is a statement of the inner format: aiming at half the target, the outer one still meets it.
constexpr double margin = 0.5;
constexpr int most_idle_cycles = 2;

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
        inner_e_(inner.field_desc()) {}

  SolveReport solve(Field& x, const Field& b, const Stopping& stopping) override;

 private:
  /// One inner solve of A e = r; its work is added to the report. Gives false when e is of no use.
  bool correct(SolveReport& report, double residual, const Stopping& stopping);
  /// Sets the reason when the last cycle must be the last.
  bool ended(SolveReport& report, double residual, double before, const Stopping& stopping);

  const LinearOperator& outer_;
  const LinearOperator& inner_;
  std::unique_ptr<Solver> inner_solver_;
  double delta_;
  Field r_, e_, inner_r_, inner_e_;
  SolveReport last_;  // of the latest inner solve
  int cycles_ = 0, idle_cycles_ = 0;
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

bool DefectCorrection::ended(SolveReport& report, double residual, double before, const Stopping& stopping) {
  const auto stop = [&](StopReason reason, std::string message) {
    report.stop_reason = reason;
    report.message = std::move(message);
    return true;
  };
  const auto stagnate = [&](std::string cause) {
    report.cause = std::move(cause);
    return stop(StopReason::stagnated, stagnated_text(residual, report.iterations, report.cause));
  };
  if (!std::isfinite(residual)) {
    return stop(StopReason::not_finite,
                report.iterations == 0
                    ? "the right-hand side is not finite"
                    : fmt::format("the true residual is not finite after {} iterations", report.iterations));
  }
  if (residual <= stopping.target) return stop(StopReason::converged, "");
  if (report.iterations >= stopping.max_iterations) {
    return stop(StopReason::max_iterations,
                fmt::format("the residual is {:.3g} after {} iterations, the maximum; the target is {:.3g}", residual,
                            report.iterations, stopping.target));
  }
  // Half of the reduction that a cycle must reach; of delta = 0.1 nearly a factor of 2.
  const bool gained = residual <= 0.5 * (1 + delta_) * before;
  const bool inner_failed =
      last_.stop_reason != StopReason::converged && last_.stop_reason != StopReason::max_iterations;
  if (cycles_ > 0 && inner_failed && (!gained || last_.stop_reason == StopReason::stagnated)) {
    const bool stagnated = last_.stop_reason == StopReason::stagnated;
    const std::string why = fmt::format("cycle {}: {}", cycles_, stagnated ? last_.cause : last_.message);
    // After a cycle that has gained, a restart from x would only repeat what has just failed.
    return cycles_ == 1 && !stagnated ? stop(last_.stop_reason, why) : stagnate(why);
  }
  idle_cycles_ = gained || cycles_ == 0 ? 0 : idle_cycles_ + 1;
  if (idle_cycles_ < most_idle_cycles) return false;
  return stagnate(
      fmt::format("{} cycles in a row reduced the residual by less than half of what delta = {:.3g} requires",
                  idle_cycles_, delta_));
}

SolveReport DefectCorrection::solve(Field& x, const Field& b, const Stopping& stopping) {
  const auto begin = std::chrono::steady_clock::now();
  SolveReport report;
  reserve_history(report.history, stopping.max_iterations);
  report.outer_form = to_string(outer_.form());
  cycles_ = idle_cycles_ = 0;
  blas::zero(x);      // x = 0
  blas::copy(r_, b);  // r = b
  double residual = std::sqrt(blas::norm2(r_)), before = residual;
  report.history.push_back({0, residual, residual});
  report.iterated_residual = residual;
  while (!ended(report, residual, before, stopping)) {
    before = residual;
    if (correct(report, residual, stopping)) {
      inner_.leave(e_, inner_e_);
      blas::axpy(1, e_, x);             // x += e
      outer_.apply(r_, x, Dagger::No);  // r = b - A x
      residual = std::sqrt(blas::subtract_norm2(b, r_));
      report.flops += outer_.flops();
    }
    report.history.back().true_residual = residual;
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
