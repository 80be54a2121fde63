#include "solvers/solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille {

std::string to_string(StopReason reason) {
  switch (reason) {
    case StopReason::converged: return "converged";
    case StopReason::max_iterations: return "max_iterations";
    case StopReason::breakdown: return "breakdown";
    case StopReason::diverged: return "diverged";
    case StopReason::not_finite: return "not_finite";
    case StopReason::stagnated: return "stagnated";
  }
  return "unknown";
}

std::string stagnated_text(double residual, int iterations, const std::string& cause) {
  return fmt::format("stagnated at {:.3g} after {} iterations: {}", residual, iterations, cause);
}

void reserve_history(std::vector<HistoryEntry>& history, int max_iterations) {
  constexpr int most = 16384;
  history.reserve(std::size_t(std::clamp(max_iterations, 1, most - 1)) + 1);
}

void record(std::vector<HistoryEntry>& history, const HistoryEntry& entry) {
  if (history.size() == history.capacity()) {
    std::size_t kept = 0, without = 0;
    for (const HistoryEntry& old : history) {
      if (!std::isnan(old.true_residual) || without++ % 2 == 0) history[kept++] = old;
    }
    // All were true residuals: then those give way.
    for (std::size_t i = 0; kept == history.size() && 2 * i < kept; ++i) history[i] = history[2 * i];
    history.resize(kept == history.size() ? (kept + 1) / 2 : kept);
  }
  history.push_back(entry);
}

void accumulate(SolveReport& total, const SolveReport& part, double scale) {
  for (HistoryEntry entry : part.history) {
    // A part begins with the residual it was given, which the whole knows as its last entry.
    if (entry.iteration == 0 && !total.history.empty()) continue;
    entry.iteration += total.iterations;
    entry.iterated *= scale;
    entry.true_residual *= scale;
    total.history.push_back(entry);
  }
  total.iterations += part.iterations;
  total.reliable_updates += part.reliable_updates;
  total.restarts += part.restarts;
  total.flops += part.flops;
  total.iterated_residual = part.iterated_residual * scale;
}

}  // namespace quadrille
