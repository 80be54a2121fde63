// SIGINT and SIGTERM while a job runs: its tasks end at the next iteration or sweep and keep what they have.
#pragma once

#include <exception>
#include <string>

namespace quadrille {

/// While it lives, the first SIGINT or SIGTERM only makes stop_signal() say so, with a line on standard error; a second
/// one ends the program as usual. A signal that was ignored before (nohup) stays ignored.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
};

/// The signal that has asked the job to stop, on this thread SIGTERM after ask_to_stop(); 0 when none has.
int stop_signal();

/// While it lives, ask_to_stop() ends the work of this thread as a signal would; it installs no handler.
class StopRequests {
 public:
  StopRequests();
  ~StopRequests();
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;
};
void ask_to_stop();

/// A task has ended early because stop_signal() said so. What it has kept is in the output folder.
class Stopped : public std::exception {
 public:
  /// `where` it ended: "after sweep 157".
  explicit Stopped(const std::string& where) : text_("stopped " + where + "; run again to continue") {}
  const char* what() const noexcept override { return text_.c_str(); }
  /// The exit status: 130 for SIGINT, 143 for SIGTERM, as shells have it.
  static int exit_status() { return 128 + stop_signal(); }

 private:
  std::string text_;
};

/// Throws Stopped when a signal has asked for it.
void stop_if_asked(const std::string& where);

}  // namespace quadrille
