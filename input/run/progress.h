// A progress line on a terminal.
#pragma once

#include "solvers/solver.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace quadrille {

/// Hears of the progress of work in place of a terminal: solve (from 0) of `solves`, iteration, residual. Of work that
/// is no solve `solves` is 0, and the residual what is left to do, from 1 to 0.
using ProgressListener = std::function<void(std::size_t solve, std::size_t solves, int iteration, double residual)>;

/// While it lives, the work of this thread shows no lines; `listener`, unless empty, hears of it instead.
class HearProgress {
 public:
  explicit HearProgress(ProgressListener listener);
  ~HearProgress();
  HearProgress(const HearProgress&) = delete;
  HearProgress& operator=(const HearProgress&) = delete;

 private:
  ProgressListener listener_;
  const ProgressListener* before_;
};

/// One line on standard error that is overwritten in place: solve, iteration, residual, target and time left; or the
/// state of other work. Says nothing unless standard error is a terminal, or
/// somebody hears (HearProgress).
class ProgressLine {
 public:
  ProgressLine(std::string task, int solves);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool active() const { return active_; }
  void begin_solve() { begin_solves(1); }
  /// So many at once: the line shows the one that is farthest from its target.
  void begin_solves(int at_once);
  void update(const Progress& progress);
  /// For work that is no solve: `state`, and the time left when `fraction` of it is done.
  void update(const std::string& state, double fraction);

 private:
  using Clock = std::chrono::steady_clock;
  void show(const std::string& text);

  std::string task_;
  int solves_;
  int solve_ = 0, last_ = 0;       ///< at work, from 1
  std::vector<double> residuals_;  ///< of these
  const ProgressListener* listener_;
  bool active_;
  double first_residual_ = 0;
  Clock::time_point began_, solve_began_, shown_;
  std::size_t width_ = 0;  ///< of the text now on the line
};

/// Seconds until a solve ends, from how far it came in `elapsed` seconds with a residual falling exponentially from
/// `first` to `now` on its way to `target`; negative when nothing can be said.
double seconds_left(double first, double now, double target, double elapsed);

/// "8 s", "3 min 20 s", "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace quadrille
