#include "core/system/team.h"

#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace quadrille::team {
namespace {

/// Longer than what a solver does between two kernels, and than the unevenness of their pieces; 1/60 of the time slice
/// that a scheduler gives.
constexpr std::chrono::microseconds spin_time{50};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

/// A value that threads wait for. std::atomic::wait gives way by sched_yield before it sleeps: beside a busy program
/// that is a time slice each, and systems may count the forfeited time as used.
class Signal {
 public:
  std::uint32_t load() const { return value_.load(std::memory_order_acquire); }
  void store(std::uint32_t value) {
    value_.store(value, std::memory_order_seq_cst);
    wake();
  }
  /// When only the caller changes it from now on, or by this call alone.
  void store_quietly(std::uint32_t value) { value_.store(value, std::memory_order_relaxed); }
  /// Wakes where the difference is 0.
  void subtract(std::uint32_t amount) {
    if (value_.fetch_sub(amount, std::memory_order_seq_cst) == amount) wake();
  }
  /// Returns when the value is another one, or earlier.
  void sleep(std::uint32_t old) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  void wake() {
    if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
    syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
  }

  alignas(64) std::atomic<std::uint32_t> value_{0};
  std::atomic<int> sleepers_{0};
};

/// How a thread waits for values to change: it spins for spin_time, then sleeps. Where spinning has been in vain
/// lately, since others have the cores, it spins for about a microsecond only, and tries the whole time now and then.
class Patience {
 public:
  void await_change(Signal& value, std::uint32_t old) {
    const bool whole = vain_ < most_vain / 2 || ++waits_ % try_again == 0;
    const bool changed = spin(value, old, whole ? spin_time : std::chrono::microseconds{0});
    if (whole) vain_ = std::clamp(vain_ + (changed ? -1 : 1), 0, most_vain);
    if (changed) return;
    while (value.load() == old) value.sleep(old);
  }

 private:
  static constexpr int most_vain = 8;
  static constexpr unsigned try_again = 64;

  static bool spin(const Signal& value, std::uint32_t old, std::chrono::microseconds time) {
    const auto began = std::chrono::steady_clock::now();
    do {
      for (int k = 0; k < 32; ++k) {
        if (value.load() != old) return true;
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

constexpr int thread_bits = 10;  ///< of a ticket: the threads that share its loop
constexpr int most_threads = (1 << thread_bits) - 1;
constexpr std::int64_t most_pieces = 0xffff;  ///< of a share

int threads_of(std::uint32_t ticket) { return int(ticket & std::uint32_t(most_threads)); }

/// One loop after the other: a share of its pieces for each thread. Pieces are taken by changing the word of a share,
/// which names the loop: who succeeds holds up this loop, so that all else about it may be read; who comes too late
/// (its core was lost meanwhile) finds another ticket or no piece, and does nothing.
class Loop {
 public:
  explicit Loop(int most) : shares_(static_cast<std::size_t>(most)) {}

  /// Only when the last loop has ended. `ticket`: another one than the last, with the number of threads in its last
  /// bits, each of which gets at least one piece.
  void open(std::uint32_t ticket, std::int64_t count, std::int64_t pieces_per_thread, Work work, void* body) {
    threads_ = threads_of(ticket);
    count_ = count;
    const std::int64_t mine = std::min({(count + threads_ - 1) / threads_, pieces_per_thread, most_pieces});
    pieces_ = threads_ * mine;
    work_ = work;
    body_ = body;
    failed_.store(false, std::memory_order_relaxed);
    left_.store_quietly(std::uint32_t(pieces_));
    for (int s = 0; s < threads_; ++s) {
      shares_[std::size_t(s)].pieces.store({ticket, 0, std::uint16_t(mine)}, std::memory_order_release);
    }
  }

  /// Does the share of thread `me`, in order, then what nobody has begun of others, from their ends.
  void help(std::uint32_t ticket, int me) {
    at_work = true;
    const int threads = threads_of(ticket);
    for (int k = 0; k < threads; ++k) {
      const int s = me + k < threads ? me + k : me + k - threads;
      std::uint32_t done = 0;
      for (std::int64_t piece = 0; take(ticket, s, k == 0, piece); ++done) perform(me, piece);
      if (done > 0) left_.subtract(done);
    }
    at_work = false;
  }

  /// Returns when all pieces are done; throws what the first of those that failed has thrown.
  void end(Patience& patience) {
    for (std::uint32_t left = left_.load(); left != 0; left = left_.load()) patience.await_change(left_, left);
    if (failed_.load(std::memory_order_relaxed)) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  /// Pieces [begin, end) of a share that nobody has begun.
  struct Pieces {
    std::uint32_t ticket;
    std::uint16_t begin, end;
  };
  struct alignas(64) Share {
    std::atomic<Pieces> pieces{Pieces{}};
  };

  bool take(std::uint32_t ticket, int s, bool first, std::int64_t& piece) {
    std::atomic<Pieces>& share = shares_[std::size_t(s)].pieces;
    Pieces old = share.load(std::memory_order_relaxed), now;
    do {
      if (old.ticket != ticket || old.begin == old.end) return false;
      now = old;
      piece = first ? now.begin++ : --now.end;
    } while (!share.compare_exchange_weak(old, now, std::memory_order_acquire, std::memory_order_relaxed));
    piece += s * (pieces_ / threads_);
    return true;
  }

  void perform(int me, std::int64_t piece) {
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      const std::int64_t begin = count_ * piece / pieces_, end = count_ * (piece + 1) / pieces_;
      if (begin < end) work_(body_, me, begin, end);
    } catch (...) {
      const std::lock_guard<std::mutex> alone(failing_);
      if (!failure_) failure_ = std::current_exception();
      failed_.store(true, std::memory_order_relaxed);
    }
  }

  int threads_ = 0;
  std::int64_t count_ = 0, pieces_ = 0;
  Work work_ = nullptr;
  void* body_ = nullptr;
  std::mutex failing_;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  std::vector<Share> shares_;
  Signal left_;  ///< pieces that are not done
};

class Team {
 public:
  /// False when the team is at work for another thread.
  bool run(int threads, std::int64_t count, std::int64_t pieces_per_thread, Work work, void* body) {
    const std::unique_lock<std::mutex> alone(busy_, std::try_to_lock);
    if (!alone.owns_lock()) return false;
    if (threads > int(workers_) + 1) grow(threads);
    const std::uint32_t ticket = ++round_ << thread_bits | std::uint32_t(threads);
    loop_.open(ticket, count, pieces_per_thread, work, body);
    call_.store(ticket);
    loop_.help(ticket, 0);
    loop_.end(patience_);
    return true;
  }

 private:
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
      std::thread worker([this, me, seen = call_.load()] { serve(me, seen); });
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
      seen = call_.load();
      if (me < threads_of(seen)) loop_.help(seen, me);
    }
  }

  std::mutex busy_;
  Patience patience_;  ///< of the thread that calls
  std::size_t workers_ = 0;
  std::uint32_t round_ = 0;
  Loop loop_{most_threads};
  Signal call_;  ///< the ticket of the loop that is open
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

void run_in_openmp(int threads, std::int64_t count, std::int64_t pieces_per_thread, Work work, void* body) {
  const std::uint32_t ticket = std::uint32_t(1) << thread_bits | std::uint32_t(threads);
  Loop loop(threads);
  loop.open(ticket, count, pieces_per_thread, work, body);
#pragma omp parallel num_threads(threads)
  loop.help(ticket, omp_get_thread_num());
  Patience none;
  loop.end(none);
}

}  // namespace

int threads() { return at_work || omp_in_parallel() != 0 ? 1 : std::min(omp_get_max_threads(), most_threads); }

void run(std::int64_t count, std::int64_t pieces_per_thread, Work work, void* body) {
  if (count <= 0) return;
  const int wanted = int(std::min<std::int64_t>(threads(), count));
  if (wanted == 1) return work(body, 0, 0, count);
  if (here().run(wanted, count, pieces_per_thread, work, body)) return;
  run_in_openmp(wanted, count, pieces_per_thread, work, body);
}

}  // namespace quadrille::team

namespace quadrille {

void team_copy(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t page = std::size_t(1) << 16;
  team_ranges(std::int64_t((bytes + page - 1) / page), [&](std::int64_t first, std::int64_t last) {
    const std::size_t begin = std::size_t(first) * page, end = std::min(std::size_t(last) * page, bytes);
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin, end - begin);
  });
}

}  // namespace quadrille
