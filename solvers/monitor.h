// The scalars of a running solve that all Krylov methods share: stopping, breakdown, divergence, history, progress.
#pragma once

#include "solvers/methods/reliable_update.h"
#include "solvers/solver.h"

#include <algorithm>
#include <chrono>

namespace quadrille {

class Monitor {
 public:
  /// `method`: its name in messages. `progress` outlives the monitor. delta = 0: convergence is judged on the iterated
  /// residual, since no other is known. `inner`: the precision that iterates.
  Monitor(const char* method, const Stopping& stopping, double delta, Precision inner,
          const ProgressCallback& progress);

  /// From now on the solve has stagnated when |r| has no new minimum, by 30 %, in this many iterations, or as many as
  /// Stopping allows. A late minimum triggers a reliable update; it counts only if the true residual confirms it, else
  /// the latest minimum of the true residual does.
  void expect_progress(int iterations) { report_.patience = patience_ = std::max(iterations, stopping_.patience); }
  /// |b|, before the first iteration.
  void start(double residual);
  bool running() const { return running_; }
  /// The iterates are not worth keeping: not finite or diverged.
  bool failed() const { return failed_; }
  double target() const { return stopping_.target; }

  /// One more iteration has ended with this iterated |r|, or `count` of which only the last one knows it. Stops the
  /// solve when it should. `gain`: |A| |d| of methods/reliable_update.h, 0 where the method does not know it.
  void iterated(double residual, double gain = 0, int count = 1);
  int iterations() const { return report_.iterations; }
  /// Whether the iteration that has just ended asks for a reliable update (also when it was the last one allowed).
  bool update_due() const { return due_; }
  /// After the next iteration none will be, unless |r| is no larger than this. `method`: the method will want none
  /// above that.
  double asks_below(double method) const;
  /// Whether the next iteration may well ask for one, too.
  bool update_near() const { return update_near_; }
  /// The method wants one now.
  void ask_for_update() { due_ = due_ || (reliable_.enabled() && !failed()); }
  /// It needs none yet: the iterated residual is as good as a true one.
  void needs_no_update() { due_ = false, reliable_.reset(residual_); }
  /// The update is done, and gave this true residual.
  void updated(double true_residual);
  /// At the last update the true residual was more than twice the iterated one: below what the inner format resolves,
  /// or after a peak, the recurrence no longer says anything about the true residual. A new Krylov space should begin.
  bool lost_touch() const { return lost_touch_; }

  /// False when `value` is not finite, which stops the solve, or when |value| <= smallest: a breakdown, for which the
  /// caller asks for may_begin_anew() or stops with stop_broken(). `what` names the quantity in the message; `smallest`
  /// is what rounding does to it.
  bool usable(double value, double smallest, const char* what);
  /// After a breakdown: true when a new Krylov space may do better (the first breakdown, or |r| has halved since the
  /// last one). Otherwise the solve has stopped.
  bool may_begin_anew();
  /// A new Krylov space has begun.
  void began_anew() { ++report_.restarts; }
  void stop_broken();
  /// Nothing can lower the residual further; `why` completes the message.
  void stop_stagnated(const std::string& why);

  /// Nothing was iterated since the last update, or since the start.
  bool update_was_last() const { return update_was_last_; }
  void count_flops(double flops) { report_.flops += flops; }
  SolveReport finish(double true_residual);

 private:
  void stop(StopReason reason, std::string message);
  void watch_for_stagnation();
  /// |r| has grown beyond all bounds.
  void stop_diverged();
  /// Whether a new minimum of |r| in this iteration triggers an update.
  bool late_for_a_low(int iteration) const;

  /// A value of |r| with the iteration at which it was found.
  struct Low {
    double residual = 0;
    int iteration = 0;
    /// Whether `latest` is lower by 30 %.
    bool is_above(double latest) const;
  };

  const char* method_;
  Stopping stopping_;
  const ProgressCallback& progress_;
  ReliableUpdate reliable_;
  Precision inner_;
  SolveReport report_;
  std::chrono::steady_clock::time_point begin_;
  std::string broken_;
  double first_ = 0;            // |r| at the start
  double best_true_ = 0;        // smallest true residual
  double broken_residual_ = 0;  // |r| at the last breakdown
  double residual_ = 0;
  Low lowest_, lowest_true_;  // of the iterated |r|, true where touch was lost; of the true one
  int patience_ = 0;
  int breakdowns_ = 0;
  int idle_updates_ = 0;  // updates in a row that lost touch and did not lower the true residual
  bool running_ = true, failed_ = false, due_ = false, update_near_ = false;
  bool update_was_last_ = true, lost_touch_ = false;
};

}  // namespace quadrille
