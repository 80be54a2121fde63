#include "input/run/stop_signal.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <utility>

namespace quadrille {

namespace {

constexpr std::array<int, 3> signals = {SIGINT, SIGTERM, SIGUSR1};
std::atomic<int> asked{0};
std::atomic<bool> says_so{true};
std::shared_ptr<const Communicator> agreement;  ///< null: of this process alone
thread_local int asked_here = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a handler may touch nothing else");

/// Only what a handler may do.
void note(int signal) {
  constexpr char text[] = "\nquadrille: stopping; a second signal ends it at once\n";
  asked = signal;
  if (says_so) (void)!::write(STDERR_FILENO, text, sizeof text - 1);
}

}  // namespace

StopSignals::StopSignals(bool speaks) {
  asked = 0;
  says_so = speaks;
  for (const int signal : signals) {
    struct sigaction before {
    }, action{};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    action.sa_handler = note;
    action.sa_flags = int(SA_RESETHAND | SA_RESTART);
    sigemptyset(&action.sa_mask);
    (void)sigaction(signal, &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (const int number : signals) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == note) (void)::signal(number, SIG_DFL);
  }
  agreement.reset();
}

void agree_on_signals_over(std::shared_ptr<const Communicator> communicator) {
  if (communicator->size() == 1) return;
  communicator->forget_signals();  // a progress function may have stopped a host's solve on the same ranks
  agreement = std::move(communicator);
}

StopRequests::StopRequests()
    : asked_before_(std::exchange(asked_here, 0)), agreement_before_(std::exchange(agreement, nullptr)) {}
StopRequests::~StopRequests() {
  asked_here = asked_before_;
  if (agreement) agreement->forget_signals();  // a host's ranks go on
  agreement = std::move(agreement_before_);
}

void ask_to_stop() { asked_here = SIGTERM; }

int stop_signal() {
  const int here = asked_here != 0 ? asked_here : asked.load();
  if (!agreement) return here;
  if (here != 0) agreement->raise(here);
  return agreement->agreed_signal();
}

int agreed_stop_signal() {
  (void)stop_signal();  // tells the communicator what has reached this rank
  if (agreement) agreement->agree_on_signals();
  return stop_signal();
}

void stop_if_asked(const std::string& where) {
  if (stop_signal() != 0) throw Stopped(where);
}

}  // namespace quadrille
