// SIGINT, SIGTERM and SIGUSR1 while a job runs: its tasks end at the next iteration or sweep and keep what they have.
// mpirun sends SIGKILL about a second after the first two; SIGUSR1, which it forwards, leaves the time that is needed.
#pragma once

#include "core/comm/communicator.h"

#include <exception>
#include <memory>
#include <string>

namespace quadrille {

/// While it lives, the first of these signals only makes stop_signal() say so, with a line on standard error if it
/// `speaks`; a second one ends the program as usual. A signal that was ignored before (nohup) stays ignored.
class StopSignals {
 public:
  explicit StopSignals(bool speaks = true);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
};
/// From now on, until that ends, stop_signal() is what the ranks knew at their last sum: the same on all.
void agree_on_signals_over(std::shared_ptr<const Communicator> communicator);

/// The signal that has asked the job to stop, on this thread SIGTERM after ask_to_stop(); 0 when none has.
int stop_signal();
/// The same as all ranks know it at this call, which all of them make.
int agreed_stop_signal();

/// While it lives, ask_to_stop() ends the work of this thread as a signal would; it installs no handler. Requests for
/// the work that this is a part of (a job of a callback) wait.
class StopRequests {
 public:
  StopRequests();
  ~StopRequests();
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;

 private:
  int asked_before_;
  std::shared_ptr<const Communicator> agreement_before_;
};
void ask_to_stop();

/// A task has ended early because stop_signal() said so. What it has kept is in the output folder.
class Stopped : public std::exception {
 public:
  /// `where` it ended: "after sweep 157".
  explicit Stopped(const std::string& where)
      : text_("stopped " + where + "; run again to continue"), signal_(stop_signal()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  /// The exit status: 130 for SIGINT, 143 for SIGTERM, 138 for SIGUSR1, as shells have it.
  int exit_status() const { return 128 + signal_; }

 private:
  std::string text_;
  int signal_;
};

/// Throws Stopped after a signal.
void stop_if_asked(const std::string& where);

}  // namespace quadrille
