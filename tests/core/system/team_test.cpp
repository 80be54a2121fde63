// The team of threads: every item is done once, whoever calls, nobody waits for a thread that is held up, and waiting
// costs little.
#include "core/system/team.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
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

TEST_F(Team, EveryItemIsDoneOnceWithAnyNumberOfThreads) {
  for (const int threads : {3, 1, 7, 2, 5, 4}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(team::threads(), threads);
    for (const std::int64_t count : {0, 1, 2, 5, 97, 100000}) expect_once(count);
  }
}

TEST_F(Team, CopiesEveryByteAndNoMore) {
  omp_set_num_threads(3);
  for (const std::size_t bytes : {0, 1, 65535, 65536, 65537, (1 << 21) + 3}) {
    std::vector<unsigned char> from(bytes + 1), to(bytes + 2, 0xee);
    for (std::size_t k = 0; k < bytes; ++k) from[k] = static_cast<unsigned char>(k * 2654435761u >> 13);
    team_copy(to.data() + 1, from.data(), bytes);
    EXPECT_EQ(to[0], 0xee);
    EXPECT_EQ(to[bytes + 1], 0xee);
    EXPECT_TRUE(std::equal(from.begin(), from.end() - 1, to.begin() + 1)) << bytes;
  }
}

// Loops that follow each other at once, on more threads than there are cores: threads come late, to loops that are
// over.
TEST_F(Team, ManyShortLoops) {
  for (const int threads : {2, 7}) {
    omp_set_num_threads(threads);
    constexpr std::int64_t count = 40;
    std::vector<std::int64_t> last(count, -1);  // plain memory: what a loop writes is seen by the next one
    for (std::int64_t round = 0; round < 20000; ++round) {
      team_for(count, [&](std::int64_t k) { last[std::size_t(k)] += last[std::size_t(k)] == round - 1 ? 1 : 1000000; });
    }
    EXPECT_EQ(last, std::vector<std::int64_t>(count, 19999)) << threads << " threads";
  }
}

// Other programs may take the core of any thread at any time.
TEST_F(Team, OthersDoThePiecesOfAThreadThatIsHeldUp) {
  omp_set_num_threads(2);
  for (const std::int64_t held_up : {0, 16, 5, 31}) {
    constexpr std::int64_t count = 32;
    std::atomic<int> done{0};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    team_for(count, [&](std::int64_t k) {
      while (k == held_up && done < count - 1 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      EXPECT_TRUE(k != held_up || done == count - 1) << "item " << k << " waits for " << done << " others";
      ++done;
    });
  }
}

TEST_F(Team, AThreadBeginsWithItsOwnPiecesInOrder) {
  omp_set_num_threads(3);
  constexpr std::int64_t count = 300;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<std::int64_t>> begun(3);
    team::share(count, 10, [&](int thread, std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(end - begin, 10);
      begun[std::size_t(thread)].push_back(begin);
    });
    for (std::int64_t me = 0; me < 3; ++me) {
      std::int64_t before = -1;
      std::size_t n = 0;
      const auto& mine = begun[std::size_t(me)];
      for (; n < mine.size() && mine[n] / 100 == me; before = mine[n++]) EXPECT_GT(mine[n], before);
      for (; n < mine.size(); ++n) EXPECT_NE(mine[n] / 100, me) << "its own come first";
    }
  }
}

TEST_F(Team, TheFirstExceptionIsThrownWhenAllHaveEnded) {
  for (const int threads : {1, 2, 5}) {
    omp_set_num_threads(threads);
    for (const std::int64_t bad : {0, 50, 99}) {
      std::atomic<int> at_work{0};
      try {
        team_for_uneven(100, [&](std::int64_t k) {
          ++at_work;
          std::this_thread::yield();
          --at_work;
          if (k >= bad) throw std::out_of_range(std::to_string(k));
        });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::out_of_range& error) {
        EXPECT_GE(std::stoll(error.what()), bad);
      }
      EXPECT_EQ(at_work, 0);
      expect_once(100);
    }
  }
}

TEST_F(Team, EachThreadHasItsOwnScratch) {
  omp_set_num_threads(4);
  std::atomic<int> made{0};
  std::vector<int> calls(1000);
  team_for_with(
      1000, [&] { return ++made, 0; },
      [&](int& in_use, std::int64_t k) {
        EXPECT_EQ(in_use++, 0);
        ++calls[std::size_t(k)];
        --in_use;
      });
  EXPECT_GE(made, 1);
  EXPECT_LE(made, 4);
  EXPECT_EQ(calls, std::vector<int>(1000, 1));
}

TEST_F(Team, WithinItselfAndWithinOpenMpTheWorkIsDoneByTheCaller) {
  omp_set_num_threads(2);
  std::atomic<int> inner{0};
  team_for(2, [&](std::int64_t) {
    EXPECT_EQ(team::threads(), 1);
    const std::thread::id outer = std::this_thread::get_id();
    team_for(10, [&](std::int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      ++inner;
    });
  });
  EXPECT_EQ(inner, 20);
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
    team_for(2, [&](std::int64_t k) {
      if (k == round % 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    });
  }
  EXPECT_LT(cpu_seconds() - before, rounds * 2.5e-3) << "each wait of 10 ms may spin for some tens of microseconds";
}

}  // namespace
}  // namespace quadrille
