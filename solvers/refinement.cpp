#include "solvers/refinement.h"

#include <fmt/format.h>

#include <cmath>

namespace quadrille {

namespace {

constexpr int most_idle = 2;  // rounds

}  // namespace

bool Refinement::ended(SolveReport& report, const SolveReport& last, double residual, double before,
                       const Stopping& stopping) {
  const auto stop = [&](StopReason reason, std::string message) {
    report.stop_reason = reason;
    report.message = std::move(message);
    return true;
  };
  const auto stagnate = [&](std::string cause) {
    report.cause = std::move(cause);
    return stop(StopReason::stagnated, stagnated_text(residual, report.iterations, report.cause));
  };
  const bool first = ++rounds_ == 1, gained = residual <= rules_.gain * before;
  if (residual <= stopping.target) return stop(StopReason::converged, "");
  if (!std::isfinite(residual) || last.stop_reason == StopReason::not_finite) {
    return stop(StopReason::not_finite,
                last.stop_reason == StopReason::not_finite
                    ? last.message
                    : fmt::format("the true residual is not finite after {} iterations", report.iterations));
  }
  if (report.iterations >= stopping.max_iterations) {
    return stop(StopReason::max_iterations,
                fmt::format("the residual is {:.3g} after {} iterations, the maximum; the {} is {:.3g}", residual,
                            report.iterations, rules_.target, stopping.target));
  }
  if (last.stop_reason == StopReason::stagnated) return stagnate(last.cause);
  const bool broken = last.stop_reason == StopReason::breakdown || last.stop_reason == StopReason::diverged;
  if (broken && !gained) {
    // After a round that has gained, another from the same x would only repeat what has just failed.
    return first ? stop(last.stop_reason, last.message)
                 : stagnate(fmt::format("{} {}: {}", rules_.round, rounds_, last.message));
  }
  idle_ = gained || first ? 0 : idle_ + 1;
  if (idle_ < most_idle) return false;
  return stagnate(fmt::format("{} {}s in a row reduced the residual by {}", idle_, rules_.round, rules_.too_little));
}

}  // namespace quadrille
