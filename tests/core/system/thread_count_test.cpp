#include "core/system/thread_count.h"

#include "core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace quadrille {
namespace {

TEST(ThreadCount, HasALimit) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(most_threads);
  EXPECT_EQ(default_threads(), most_threads);
  omp_set_num_threads(100000);
  try {
    (void)default_threads();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_STREQ(error.what(), "OMP_NUM_THREADS: '100000' is not a whole number from 1 to 1024");
  }
  omp_set_num_threads(before);
}

int threads_of_a_loop() {
  std::atomic<int> count{0};
#pragma omp parallel
  ++count;
  return count;
}

TEST(ThreadCount, OfACallEndsWithIt) {
  const int before = omp_get_max_threads();
  {
    const CallThreads two(2);
    EXPECT_EQ(threads_of_a_loop(), 2);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
}

TEST(ThreadCount, IsOneInAChildOfFork) {
  {
    const CallThreads two(2);
    EXPECT_EQ(threads_of_a_loop(), 2);
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends a child that hangs
    const CallThreads two(2);
    _exit(threads_of_a_loop() == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const CallThreads two(2);
  EXPECT_EQ(threads_of_a_loop(), 2) << "the parent keeps its threads";
}

}  // namespace
}  // namespace quadrille
