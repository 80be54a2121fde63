// The team of threads: every share is done once, whoever calls, and waiting costs little.
#include "core/system/team.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace quadrille {
namespace {

class Team : public ::testing::Test {
 protected:
  ~Team() override { omp_set_num_threads(before_); }
  int before_ = omp_get_max_threads();
};

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return double(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * double(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

void expect_once(std::int64_t count) {
  std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
  team_for(count, [&](std::int64_t k) { ++calls[std::size_t(k)]; });
  for (std::int64_t k = 0; k < count; ++k) ASSERT_EQ(calls[std::size_t(k)], 1) << k << " of " << count;
}

TEST_F(Team, EveryShareIsDoneOnceWithAnyNumberOfThreads) {
  for (const int threads : {3, 1, 7, 2, 5, 4}) {
    omp_set_num_threads(threads);
    for (const std::int64_t count : {0, 1, 2, 5, 1000}) expect_once(count);
    std::atomic<int> seen{0}, all{0};
    in_team([&](int me, int n) {
      seen += 1 << me;
      all = n;
    });
    EXPECT_EQ(all, threads);
    EXPECT_EQ(seen, (1 << threads) - 1);
  }
}

TEST_F(Team, ManyShortPieces) {
  omp_set_num_threads(3);
  std::int64_t sum = 0;
  std::vector<std::int64_t> mine(3);
  for (int round = 0; round < 20000; ++round) {
    in_team([&](int me, int) { mine[std::size_t(me)] = round + me; });
    for (const std::int64_t x : mine) sum += x;
  }
  EXPECT_EQ(sum, 3 * (std::int64_t(20000) * 19999 / 2) + 3 * 20000);
}

TEST_F(Team, WithinItselfAndWithinOpenMpTheWorkIsDoneByTheCaller) {
  omp_set_num_threads(2);
  std::atomic<int> inner{0};
  in_team([&](int, int) {
    in_team([&](int me, int threads) {
      EXPECT_EQ(me, 0);
      EXPECT_EQ(threads, 1);
      ++inner;
    });
  });
  EXPECT_EQ(inner, 2);
  std::atomic<int> work{0};
#pragma omp parallel num_threads(2)
  team_for(10, [&](std::int64_t) { ++work; });
  EXPECT_EQ(work, 20);
}

TEST_F(Team, SeveralCallersAtOnce) {
  omp_set_num_threads(2);
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> total{0};
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) team_for(7, [&](std::int64_t k) { total += k; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 3 * 500 * 21);
}

TEST_F(Team, AChildProcessHasATeamOfItsOwn) {
  omp_set_num_threads(2);
  expect_once(100);
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> calls{0};
    team_for(100, [&](std::int64_t) { ++calls; });
    _exit(calls == 100 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Where another program has a core, a thread that spins takes it from the one that it waits for. This is time of the
// processor, not of a clock: what else runs does not enter.
TEST_F(Team, WaitingForALateThreadTakesNoProcessorTime) {
  omp_set_num_threads(2);
  expect_once(100);
  constexpr int rounds = 50;
  const double before = cpu_seconds();
  for (int round = 0; round < rounds; ++round) {
    in_team([&](int me, int) {
      if (me == round % 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    });
  }
  EXPECT_LT(cpu_seconds() - before, rounds * 2.5e-3) << "each wait of 10 ms may spin for some tens of microseconds";
}

}  // namespace
}  // namespace quadrille
