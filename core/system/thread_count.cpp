#include "core/system/thread_count.h"

#include "core/error.h"

#include <fmt/format.h>
#include <omp.h>
#include <pthread.h>

#include <atomic>

namespace quadrille {
namespace {

std::atomic<bool> several_used{false}, threads_are_lost{false};

void watch_forks() {
  static const int once = pthread_atfork(nullptr, nullptr, [] { threads_are_lost = threads_are_lost || several_used; });
  (void)once;
}

}  // namespace

int default_threads() {
  const int count = omp_get_max_threads();
  if (count <= most_threads) return count;
  throw Error(ErrorCode::invalid_input,
              fmt::format("OMP_NUM_THREADS: '{}' is not a whole number from 1 to {}", count, most_threads));
}

CallThreads::CallThreads(int count) : before_(omp_get_max_threads()) {
  watch_forks();
  if (threads_are_lost) count = 1;
  if (count > 1) several_used = true;
  omp_set_num_threads(count);
}

CallThreads::~CallThreads() { omp_set_num_threads(before_); }

}  // namespace quadrille
