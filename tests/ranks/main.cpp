// The tests on several ranks: every rank runs all of them, rank 0 prints.
#include "core/comm/ranks.h"
#include "tests/ranks/ranks_testing.h"

#include <gtest/gtest.h>

#include <cstdio>

extern "C" quadrille::Ranks* quadrille_join_ranks();

namespace quadrille::testing {

namespace {
std::unique_ptr<Ranks> joined;
}

Ranks& ranks() { return *joined; }

}  // namespace quadrille::testing

int main(int argc, char** argv) {
  using namespace quadrille::testing;
  ::testing::InitGoogleTest(&argc, argv);
  joined.reset(quadrille_join_ranks());
  // Failures of other ranks are printed, their successes are not.
  if (ranks().rank() > 0) ::testing::GTEST_FLAG(brief) = true;
  const int failed = RUN_ALL_TESTS();
  if (failed != 0) std::fprintf(stderr, "failures on rank %d\n", ranks().rank());
  const bool met = ranks().meet_at_end(60);
  joined.reset();
  return failed != 0 || !met ? 1 : 0;
}
