#include "core/system/team.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace quadrille::team {
namespace {

/// Longer than what a solver does between two kernels, and than the unevenness of their shares; 1/60 of the time slice
/// that a scheduler gives.
constexpr std::chrono::microseconds spin_time{50};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// How a thread waits for values to change: it spins for spin_time, then sleeps. Where spinning has been in vain
/// lately, since others have the cores, it spins for about a microsecond only, and tries the whole time now and then.
class Patience {
 public:
  template <class T>
  void await_change(const std::atomic<T>& value, T old) {
    const bool whole = vain_ < most_vain / 2 || ++waits_ % try_again == 0;
    const bool changed = spin(value, old, whole ? spin_time : std::chrono::microseconds{0});
    if (whole) vain_ = std::clamp(vain_ + (changed ? -1 : 1), 0, most_vain);
    if (!changed) value.wait(old, std::memory_order_acquire);
  }

 private:
  static constexpr int most_vain = 8;
  static constexpr unsigned try_again = 64;

  template <class T>
  static bool spin(const std::atomic<T>& value, T old, std::chrono::microseconds time) {
    const auto began = std::chrono::steady_clock::now();
    do {
      for (int k = 0; k < 32; ++k) {
        if (value.load(std::memory_order_acquire) != old) return true;
        relax();
      }
    } while (std::chrono::steady_clock::now() - began < time);
    return false;
  }

  int vain_ = 0;  ///< waits that ended asleep, less those that did not
  unsigned waits_ = 0;
};

/// True on a thread that is at work for a team.
thread_local bool at_work = false;

class Team {
 public:
  /// False when the team is at work for another thread.
  bool run(int threads, Work work, void* body) {
    const std::unique_lock<std::mutex> alone(busy_, std::try_to_lock);
    if (!alone.owns_lock()) return false;
    if (threads > int(workers_) + 1) grow(threads);
    work_ = work;
    body_ = body;
    left_.store(threads - 1, std::memory_order_relaxed);
    ++round_;
    call_.store(round_ << thread_bits | std::uint32_t(threads), std::memory_order_release);
    call_.notify_all();
    share(work, body, 0, threads);
    for (int left = left_.load(std::memory_order_acquire); left != 0; left = left_.load(std::memory_order_acquire)) {
      patience_.await_change(left_, left);
    }
    return true;
  }

 private:
  static constexpr int thread_bits = 11;

  static void share(Work work, void* body, int me, int threads) {
    at_work = true;
    work(body, me, threads);
    at_work = false;
  }

  /// The cores that OpenMP has bound its threads to; empty when it binds none.
  static std::vector<cpu_set_t> cores_of(int threads) {
    if (omp_get_proc_bind() == omp_proc_bind_false) return {};
    std::vector<cpu_set_t> cores(static_cast<std::size_t>(threads));
    for (cpu_set_t& one : cores) sched_getaffinity(0, sizeof one, &one);
#pragma omp parallel num_threads(threads)
    sched_getaffinity(0, sizeof(cpu_set_t), &cores[std::size_t(omp_get_thread_num())]);
    return cores;
  }

  void grow(int threads) {
    const std::vector<cpu_set_t> cores = cores_of(threads);
    while (int(workers_) < threads - 1) {
      const int me = int(++workers_);
      // Ends with the process: it sleeps while there is no work.
      std::thread worker([this, me, seen = call_.load(std::memory_order_relaxed)] { serve(me, seen); });
      if (!cores.empty()) {
        pthread_setaffinity_np(worker.native_handle(), sizeof(cpu_set_t), &cores[std::size_t(me)]);
      }
      worker.detach();
    }
  }

  [[noreturn]] void serve(int me, std::uint32_t seen) {
    Patience patience;
    for (;;) {
      patience.await_change(call_, seen);
      seen = call_.load(std::memory_order_acquire);
      const int threads = int(seen & ((1u << thread_bits) - 1));
      if (me >= threads) continue;  // not for this one, which may be over by now
      share(work_, body_, me, threads);
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
    }
  }

  std::mutex busy_;
  Patience patience_;  ///< of the thread that calls
  std::size_t workers_ = 0;
  std::uint32_t round_ = 0;
  Work work_ = nullptr;
  void* body_ = nullptr;
  alignas(64) std::atomic<std::uint32_t> call_{0};  ///< a number that changes, and the threads that are wanted
  alignas(64) std::atomic<int> left_{0};            ///< of them, still at work
};

std::atomic<Team*> the_team{nullptr};

/// Of this process: a child of fork() has no threads but its own, and makes a new team. Never freed, as its threads
/// wait in it until the process ends.
Team& here() {
  static const int once = pthread_atfork(nullptr, nullptr, [] { the_team = nullptr; });
  (void)once;
  Team* team = the_team.load();
  if (team == nullptr) {
    Team* fresh = new Team;
    if (the_team.compare_exchange_strong(team, fresh)) return *fresh;
    delete fresh;
  }
  return *team;
}

}  // namespace

void run(Work work, void* body) {
  const int threads = at_work || omp_in_parallel() != 0 ? 1 : std::min(omp_get_max_threads(), 2047);
  if (threads == 1) return work(body, 0, 1);
  if (here().run(threads, work, body)) return;
#pragma omp parallel
  work(body, omp_get_thread_num(), omp_get_num_threads());
}

}  // namespace quadrille::team
