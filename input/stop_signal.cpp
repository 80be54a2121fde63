#include "input/stop_signal.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace quadrille {

namespace {

constexpr std::array<int, 2> signals = {SIGINT, SIGTERM};
std::atomic<int> asked{0};
thread_local int asked_here = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a handler may touch nothing else");

/// Only what a handler may do.
void note(int signal) {
  constexpr char text[] = "\nquadrille: stopping; once more to end at once\n";
  asked = signal;
  (void)!::write(STDERR_FILENO, text, sizeof text - 1);
}

}  // namespace

StopSignals::StopSignals() {
  asked = 0;
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
}

StopRequests::StopRequests() { asked_here = 0; }
StopRequests::~StopRequests() { asked_here = 0; }

void ask_to_stop() { asked_here = SIGTERM; }

int stop_signal() { return asked_here != 0 ? asked_here : asked.load(); }

void stop_if_asked(const std::string& where) {
  if (stop_signal() != 0) throw Stopped(where);
}

}  // namespace quadrille
