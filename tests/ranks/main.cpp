// The tests on several ranks: every rank runs all of them, rank 0 prints. On GPUs the ranks of a host use them in turn;
// with QUADRILLE_TRANSPORT=nccl, which needs one for each rank, the program ends with 77 where ranks share one. With
// --hosts-apart NCCL takes each rank for one on another host: it goes through the network, and ranks may share a GPU.
#include "core/comm/ranks.h"
#include "tests/ranks/ranks_testing.h"
#ifdef QUADRILLE_TEST_GPU
#include "core/backend/cuda/channels/device_channel.h"
#endif

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

extern "C" quadrille::Ranks* quadrille_join_ranks();

namespace quadrille::testing {

namespace {
std::unique_ptr<Ranks> joined;
}

Ranks& ranks() { return *joined; }

#ifdef QUADRILLE_TEST_GPU
bool ranks_share_gpus() {
  std::array<char, 128> mine{};
  cuda::this_place().device.copy(mine.data(), mine.size() - 1);
  std::vector<std::array<char, 128>> all(std::size_t(ranks().size()));
  all_ranks()->gather(mine.data(), mine.size(), all.data());
  return std::set(all.begin(), all.end()).size() < all.size();
}
#endif

}  // namespace quadrille::testing

int main(int argc, char** argv) {
  using namespace quadrille::testing;
  ::testing::InitGoogleTest(&argc, argv);
  joined.reset(quadrille_join_ranks());
#ifdef QUADRILLE_TEST_GPU
  if (argc == 2 && std::string_view(argv[1]) == "--hosts-apart")
    ::setenv("NCCL_HOSTID", ("rank " + std::to_string(ranks().rank())).c_str(), 1);
  const quadrille::UseLane on_its_device(
      quadrille::find_backend("cuda", quadrille::device_in_turn(ranks().local_rank())), nullptr);
  const char* const transport = std::getenv("QUADRILLE_TRANSPORT");
  if (transport != nullptr && std::string_view(transport) == "nccl" && ranks_share_gpus()) {
    if (ranks().rank() == 0) std::printf("skipped: NCCL needs a GPU for each of %d ranks\n", ranks().size());
    joined.reset();
    return 77;
  }
#endif
  // Failures of other ranks are printed, their successes are not.
  if (ranks().rank() > 0) ::testing::GTEST_FLAG(brief) = true;
  const int failed = RUN_ALL_TESTS();
  if (failed != 0) std::fprintf(stderr, "failures on rank %d\n", ranks().rank());
  const bool met = ranks().sync_at_end(60);
  joined.reset();
  return failed != 0 || !met ? 1 : 0;
}
