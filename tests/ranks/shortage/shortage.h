// Memory that runs out where a test wants it to.
#pragma once

#include "tests/ranks/ranks_testing.h"

#include <gtest/gtest.h>

#include <exception>

namespace quadrille::testing {

/// While it lives, this process is given `pieces` more large pieces of memory and then none: of the host
/// (test_ranks), or of a GPU and of pinned memory (test_gpu_ranks). One of these at a time.
class Shortage {
 public:
  explicit Shortage(int pieces);
  ~Shortage();
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;
};

/// Makes a collective call again and again, in which one rank runs out of memory after one more piece each time
/// (several more in long calls), until it has what it needs: the call must end on all ranks or on none. It takes memory
/// on the first `working` ranks; 0: on all.
template <class Call>
void expect_end_on_all(const Communicator& all, const Call& call, int working = 0) {
  const int poor = int(shared_seed() % std::uint64_t(working > 0 ? working : all.size()));
  for (int pieces = 0;; pieces += 1 + pieces / 8) {
    double failed = 0;
    try {
      std::optional<Shortage> shortage;
      if (all.rank() == poor) shortage.emplace(pieces);
      call();
    } catch (const std::exception&) {
      failed = 1;
    }
    all.sum(&failed, 1);
    ASSERT_TRUE(failed == 0 || failed == all.size())
        << failed << " ranks failed when rank " << poor << " had memory for " << pieces << " pieces";
    if (failed > 0) continue;
    EXPECT_GT(pieces, 0) << "the call takes no memory";
    return;
  }
}

}  // namespace quadrille::testing
