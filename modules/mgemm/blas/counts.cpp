#include "modules/mgemm/blas/counts.h"

#include "modules/mgemm/blas/messages.h"
#include "modules/mgemm/blas/settings.h"

#include <unistd.h>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>

namespace quadrille::preloaded {
namespace {

constexpr int outcomes = 4;
constexpr const char* routines[] = {"dgemm", "sgemm", "zgemm"};

struct Row {
  std::atomic<std::int64_t> calls[outcomes] = {};
  std::atomic<double> seconds = 0;
};
Row rows[std::size(routines)];
std::atomic<double> largest_bound = 0;

std::mutex refusal_mutex;
std::string& last_refusal() {
  static std::string& text = *new std::string;
  return text;
}

void report() {
  const std::lock_guard lock(refusal_mutex);
  say("process " + std::to_string(getpid()) + ": " + (settings().given.empty() ? "no variables" : settings().given));
  std::fprintf(stderr, "%-10s%12s%12s%12s%12s%12s\n", "calls", "split", "whole", "small", "passed on", "seconds");
  for (std::size_t k = 0; k < std::size(routines); ++k) {
    std::fprintf(stderr, "%-10s", routines[k]);
    for (const auto& calls : rows[k].calls) std::fprintf(stderr, "%12lld", static_cast<long long>(calls.load()));
    std::fprintf(stderr, "%12.3f\n", rows[k].seconds.load());
  }
  if (largest_bound > 0) std::fprintf(stderr, "largest error bound of an element of A B: %.3g\n", largest_bound.load());
  if (!last_refusal().empty()) std::fprintf(stderr, "last refused: %s\n", last_refusal().c_str());
}

}  // namespace

void count(Routine routine, Outcome outcome, double seconds) {
  Row& row = rows[int(routine)];
  row.calls[int(outcome)].fetch_add(1, std::memory_order_relaxed);
  if (seconds > 0) row.seconds.fetch_add(seconds, std::memory_order_relaxed);
}

void note_bound(double bound) {
  double before = largest_bound;
  while (bound > before && !largest_bound.compare_exchange_weak(before, bound)) {
  }
}

void note_refusal(const std::string& why) {
  const std::lock_guard lock(refusal_mutex);
  last_refusal() = why;
}

void report_at_exit() { std::atexit(report); }

}  // namespace quadrille::preloaded
