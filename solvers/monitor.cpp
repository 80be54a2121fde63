#include "solvers/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrille {

namespace {

constexpr double not_known = std::numeric_limits<double>::quiet_NaN();
// BiCGstab's |r| may rise by orders of magnitude and come back; double precision has lost half its digits here.
constexpr double divergence_factor = 1e6;
constexpr double lost_touch_factor = 2;
// With 0.9 plateaus near a critical mass are as long, and singular systems find more lows.
constexpr double new_low = 0.7;
// A few updates may fail to gain while the recurrence recovers from one another; not as many as this.
constexpr int most_idle_updates = 10;

}  // namespace

Monitor::Monitor(const char* method, const Stopping& stopping, double delta, Precision inner,
                 const ProgressCallback& progress)
    : method_(method),
      stopping_(stopping),
      progress_(progress),
      reliable_(delta, stopping.target, rounding_unit(inner)),
      inner_(inner),
      begin_(std::chrono::steady_clock::now()) {
  reserve_history(report_.history, stopping.max_iterations);
}

void Monitor::start(double residual) {
  first_ = best_true_ = broken_residual_ = residual_ = residual;
  lowest_ = lowest_true_ = {residual, 0};
  record(report_.history, {0, residual, residual});
  reliable_.reset(residual);
  if (!std::isfinite(residual)) {
    stop(StopReason::not_finite, "the right-hand side is not finite");
  } else if (residual <= stopping_.target) {
    stop(StopReason::converged, "");
  } else if (stopping_.max_iterations <= 0) {
    stop(StopReason::max_iterations, "max_iterations is 0");
  }
}

void Monitor::iterated(double residual, double gain, int count) {
  residual_ = residual;
  update_was_last_ = false;
  report_.iterations += count;
  record(report_.history, {report_.iterations, residual, not_known});
  reliable_.observe(residual, gain);
  due_ = reliable_.due();
  update_near_ = reliable_.near(residual, gain);
  if (!std::isfinite(residual)) {
    due_ = false;
    stop(StopReason::not_finite, fmt::format("the residual is not finite at iteration {}", report_.iterations));
  } else if (residual > divergence_factor * first_) {
    due_ = false;
    stop_diverged();
  } else if (!reliable_.enabled() && residual <= stopping_.target) {
    stop(StopReason::converged, "");
  } else if (report_.iterations >= stopping_.max_iterations) {
    stop(StopReason::max_iterations,
         fmt::format("the residual is {:.3g} after {} iterations, the maximum; the target is {:.3g}", residual,
                     report_.iterations, stopping_.target));
  }
  watch_for_stagnation();
  if (progress_) progress_({report_.iterations, stopping_.max_iterations, residual, stopping_.target});
}

bool Monitor::Low::is_above(double latest) const { return latest < new_low * residual; }

void Monitor::watch_for_stagnation() {
  if (lowest_.is_above(residual_)) {
    lowest_ = {residual_, report_.iterations};
    if (late_for_a_low(report_.iterations)) ask_for_update();
    return;
  }
  if (running_ && patience_ > 0 && report_.iterations - lowest_.iteration >= patience_) {
    stop_stagnated(fmt::format("|r| has not fallen by 30 % in the last {} iterations", patience_));
  }
}

bool Monitor::late_for_a_low(int iteration) const {
  return patience_ > 0 && iteration - lowest_true_.iteration > patience_ / 2;
}

double Monitor::asks_below(double method) const {
  if (!reliable_.enabled()) return 0;
  const double late = late_for_a_low(report_.iterations + 1) ? new_low * lowest_.residual : 0;
  return std::max({method, late, reliable_.due_below()});
}

void Monitor::updated(double true_residual) {
  due_ = false;
  update_was_last_ = true;
  lost_touch_ = !(true_residual <= lost_touch_factor * residual_);
  if (lowest_true_.is_above(true_residual)) lowest_true_ = {true_residual, report_.iterations};
  if (lost_touch_) lowest_ = lowest_true_;
  residual_ = true_residual;
  ++report_.reliable_updates;
  report_.history.back().true_residual = true_residual;
  reliable_.reset(true_residual);
  update_near_ = reliable_.near(true_residual, 0);
  if (!std::isfinite(true_residual)) {
    stop(StopReason::not_finite, fmt::format("the true residual is not finite at iteration {}", report_.iterations));
    return;
  }
  if (true_residual <= stopping_.target) {
    stop(StopReason::converged, "");
    return;
  }
  if (true_residual < best_true_) {
    idle_updates_ = 0;
  } else if (lost_touch_) {  // otherwise it is the method's own residual that has grown, and may come back
    ++idle_updates_;
  }
  best_true_ = std::min(best_true_, true_residual);
  if (running_ && idle_updates_ >= most_idle_updates) {
    stop_stagnated(fmt::format("{} reliable updates did not lower the true residual", idle_updates_));
  }
}

bool Monitor::usable(double value, double smallest, const char* what) {
  if (!std::isfinite(value)) {
    stop(StopReason::not_finite, fmt::format("{} is not finite at iteration {}", what, report_.iterations + 1));
    return false;
  }
  if (std::abs(value) > smallest) return true;
  broken_ = fmt::format("{} broke down at iteration {}: {} = {:.3g}", method_, report_.iterations + 1, what, value);
  if (smallest > 0) broken_ += fmt::format(" is below rounding, {:.2g}", smallest);
  return false;
}

bool Monitor::may_begin_anew() {
  if (!running_) return false;
  const bool first_time = breakdowns_ == 0 && report_.iterations > 0;
  if (!first_time && !(residual_ <= 0.5 * broken_residual_)) {
    stop_broken();
    return false;
  }
  ++breakdowns_;
  broken_residual_ = residual_;
  return true;
}

void Monitor::stop_broken() {
  if (running_) stop(StopReason::breakdown, broken_);
}

void Monitor::stop_stagnated(const std::string& why) { stop(StopReason::stagnated, why); }

// A search with nothing left to find, in a singular system, may end by running away.
void Monitor::stop_diverged() {
  const std::string grown = fmt::format("the residual has grown from {:.3g} to {:.3g} at iteration {}", first_,
                                        residual_, report_.iterations);
  const int idle = report_.iterations - lowest_.iteration;
  failed_ = true;
  if (patience_ > 0 && idle > patience_ / 2) {
    stop_stagnated(fmt::format("|r| has not fallen by 30 % in the last {} iterations, and {}", idle, grown));
  } else {
    stop(StopReason::diverged, grown);
  }
}

void Monitor::stop(StopReason reason, std::string message) {
  running_ = false;
  failed_ = failed_ || reason == StopReason::not_finite;
  report_.stop_reason = reason;
  report_.message = std::move(message);
}

SolveReport Monitor::finish(double true_residual) {
  report_.converged = report_.stop_reason == StopReason::converged;
  report_.residual = true_residual;
  if (report_.stop_reason == StopReason::stagnated) {
    report_.cause = report_.message;
    report_.message = stagnated_text(true_residual, report_.iterations, report_.cause);
  }
  report_.iterated_residual = report_.history.back().iterated;
  if (!failed()) report_.history.back().true_residual = true_residual;
  report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  return std::move(report_);
}

}  // namespace quadrille
