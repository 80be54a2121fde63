// What every linear solver takes and tells.
#pragma once

#include "core/api.h"
#include "core/field/field.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace quadrille {

/// When a solver stops. Residuals are norms |b - A x| of the solver's own system, not relative to |b|.
struct Stopping {
  double target = 0;
  int max_iterations = 0;
  int patience = 0;  ///< iterations without progress that a method allows at least, which others may have needed
};

struct HistoryEntry {
  int iteration = 0;
  double iterated = 0;       ///< |r| of the solver's recurrence
  double true_residual = 0;  ///< |b - A x| where it was computed; NaN elsewhere
};

enum class StopReason {
  converged,
  max_iterations,
  breakdown,   ///< a denominator of the method vanished
  diverged,    ///< |r| grew beyond 1e6 times its first value
  not_finite,  ///< NaN or infinity in the residual or in an inner product
  stagnated,   ///< true residuals no longer fall: the limit of the precision
};

/// "converged", "max_iterations", ...
QUADRILLE_API std::string to_string(StopReason reason);

/// What a solve did. From a Solver all residuals are absolute norms; from a SystemSolver they are relative to |b|.
struct SolveReport {
  int iterations = 0;        ///< of the Krylov method, restarts included
  int reliable_updates = 0;  ///< replacements of the iterated residual by the true one
  int restarts = 0;          ///< Krylov spaces begun anew; cycles of defect correction
  bool converged = false;
  StopReason stop_reason = StopReason::max_iterations;
  int patience = 0;              ///< iterations without progress that were allowed; 0: the method does not count them
  std::string message;           ///< why it stopped, with the iteration; empty when converged
  std::string cause;             ///< the same without residual and iteration, of a solve that stagnated
  double residual = 0;           ///< true, of the x that is handed back
  double iterated_residual = 0;  ///< of the recurrence, at the last iteration
  std::vector<HistoryEntry> history;
  double seconds = 0;
  double flops = 0;                      ///< of operator applications, by the standard count
  std::string outer_form;                ///< "double 18"
  std::string inner_form;                ///< "half 12 temporal gauge"; empty when there is no inner operator
  std::optional<int> deflation_vectors;  ///< in the space in which it began; none where there is no space
};

struct Progress {
  int iteration = 0;
  int max_iterations = 0;
  double residual = 0;  ///< iterated
  double target = 0;    ///< in the same units
  int rhs = 0;          ///< which of several right-hand sides at once
};
using ProgressCallback = std::function<void(const Progress&)>;

/// A method for A x = b. It refers to its operators, which must outlive it, and owns its workspace: solve() may be
/// called many times, and an iteration allocates nothing.
class QUADRILLE_API Solver {
 public:
  virtual ~Solver() = default;

  /// Solves A x = b from x = 0: x is overwritten, b is left alone. Both fit the outer operator's field_desc().
  /// Not converging is a report, not an exception; x is then the last iterate. When it diverged or became not finite,
  /// updates still in the inner precision are dropped.
  virtual SolveReport solve(Field& x, const Field& b, const Stopping& stopping) = 0;

  /// Called after every iteration; an empty function turns it off.
  void set_progress(ProgressCallback callback) { progress_ = std::move(callback); }

 protected:
  ProgressCallback progress_;
};

/// "stagnated at 0.119 after 341 iterations: CAUSE".
std::string stagnated_text(double residual, int iterations, const std::string& cause);

/// Memory for the history of one solve: an entry an iteration, up to 16,384.
QUADRILLE_API void reserve_history(std::vector<HistoryEntry>& history, int max_iterations);

/// Adds an entry and allocates nothing: when the reserved memory is full, every second old entry without a true
/// residual gives way (or every second one, when all have it).
QUADRILLE_API void record(std::vector<HistoryEntry>& history, const HistoryEntry& entry);

/// Adds what a further solve (a restart, an inner solve) did to the report of the whole: iterations, updates, flops and
/// history, its residuals multiplied by `scale`.
QUADRILLE_API void accumulate(SolveReport& total, const SolveReport& part, double scale = 1);

}  // namespace quadrille
