// Messages between the devices of ranks: by the transport that QUADRILLE_TRANSPORT names, by others for some
// neighbours, and what ends them. NCCL's can be sent by one rank to itself, too.
#include "core/backend/cuda/channels/device_channel.h"
#include "core/backend/cuda/runtime.h"
#include "core/comm/agreement.h"
#include "core/comm/device_links.h"
#include "core/error.h"
#include "tests/ranks/ranks_testing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>

namespace quadrille {
namespace {

using cuda::DeviceChannel;
using cuda::DeviceMessage;
using cuda::DevicePlace;
using testing::Forced;
using ::testing::HasSubstr;
using testing::ranks;

/// NCCL between these ranks, apart from that of other tests; null with the reason.
struct OwnLinks {
  std::unique_ptr<Ranks> own = ranks().numbered(ranks().rank());
  std::shared_ptr<const Communicator> communicator = own->communicator({1, 1, 1, own->size()});
  std::string reason;
  std::shared_ptr<DeviceLinks> links = communicator->device_links(reason);
};

/// Both ways along each divided axis; one rank sends itself all eight.
std::vector<DeviceMessage> both_ways(const Communicator& communicator, std::size_t bytes) {
  std::vector<DeviceMessage> messages;
  for (int d = 0; d < 8; ++d) {
    if (communicator.size() == 1 || communicator.splits(d % 4)) messages.push_back({d, bytes + std::size_t(d)});
  }
  return messages;
}

/// Exchanges `times` times; what has come is checked and then destroyed. Whether all was right.
bool exchanges_right(DeviceChannel& channel, const Communicator& communicator,
                     const std::vector<DeviceMessage>& messages, int times) {
  bool right = true;
  for (int n = 0; n < times; ++n) {
    std::vector<std::vector<std::uint8_t>> sent;
    for (std::size_t k = 0; k < messages.size(); ++k) {
      sent.push_back(testing::random_text(communicator.rank(), messages[k], n));
      QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(channel.outgoing(k), sent.back().data(), messages[k].bytes,
                                           cudaMemcpyDefault, cuda::stream()));
    }
    channel.start(cuda::stream());
    channel.finish(cuda::stream());
    for (std::size_t k = 0; k < messages.size(); ++k) {
      std::vector<std::uint8_t> come(messages[k].bytes, 0x55);
      QUADRILLE_CUDA_CHECK(
          cudaMemcpyAsync(come.data(), channel.incoming(k), come.size(), cudaMemcpyDefault, cuda::stream()));
      QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(cuda::stream()));
      right &= come ==
               testing::random_text(communicator.neighbour(opposite_direction(messages[k].direction)), messages[k], n);
      QUADRILLE_CUDA_CHECK(cudaMemsetAsync(const_cast<void*>(channel.incoming(k)), 0xff, come.size(), cuda::stream()));
    }
  }
  return testing::everywhere(communicator, right);
}

std::vector<Dims> grids() { return ranks().size() == 1 ? std::vector<Dims>{{1, 1, 1, 1}} : testing::some_grids(3); }

TEST(RankDeviceChannel, MessagesComeFromTheOppositeNeighbour) {
  for (const Dims& grid : grids()) {
    const auto communicator = ranks().communicator(grid);
    for (const auto& [bytes, times] : {std::pair<std::size_t, int>{100'003, 100}, {1 << 20, 20}, {10'000'000, 5}}) {
      const auto messages = both_ways(*communicator, bytes);
      // Two at once, of which the second takes turns with the first, and another in the memory that one has given back.
      const auto other = cuda::make_device_channel(*communicator, messages);
      const auto channel = cuda::make_device_channel(*communicator, messages);
      EXPECT_TRUE(exchanges_right(*channel, *communicator, messages, times)) << grid_text(grid) << ", " << bytes;
      EXPECT_TRUE(exchanges_right(*other, *communicator, messages, 2)) << grid_text(grid) << ", " << bytes;
      EXPECT_TRUE(exchanges_right(*channel, *communicator, messages, 2)) << grid_text(grid) << ", " << bytes;
    }
    const auto messages = both_ways(*communicator, 4096);
    for (int again = 0; again < 3; ++again) {
      const auto channel = cuda::make_device_channel(*communicator, messages);
      EXPECT_TRUE(exchanges_right(*channel, *communicator, messages, 3 + again)) << grid_text(grid);
    }
  }
}

/// As if each rank, or each two, had a host of their own: neighbours on it are reached by its memory, others are not.
TEST(RankDeviceChannel, EachNeighbourHasItsTransport) {
  if (ranks().size() < 2) GTEST_SKIP() << "one rank has no neighbours";
  const Forced none(nullptr);
  for (const Dims& grid : grids()) {
    const auto communicator = ranks().communicator(grid);
    std::string reason;
    const bool has_nccl = !testing::ranks_share_gpus() && communicator->device_links(reason) != nullptr;
    const std::string far = has_nccl ? "nccl" : "pinned";
    for (const int on_host : {1, 2, 2}) {  // the last with memory that the one before has given back
      const auto host_of = [&](int rank) { return fmt::format("host {} with {}", rank / on_host, on_host); };
      const auto messages = both_ways(*communicator, 250'000);
      bool has_near = false, has_far = false;
      for (const DeviceMessage& message : messages) {
        const bool near = host_of(communicator->neighbour(message.direction)) == host_of(communicator->rank());
        (near ? has_near : has_far) = true;
      }
      const auto channel = cuda::make_device_channel(*communicator, messages,
                                                     {host_of(communicator->rank()), cuda::this_place().device});
      EXPECT_EQ(channel->transport(), !has_far ? "peer" : has_near ? "peer, " + far : far) << grid_text(grid);
      EXPECT_TRUE(exchanges_right(*channel, *communicator, messages, 20)) << grid_text(grid) << ", " << on_host;
    }
  }
}

/// The error with which all ranks are refused a channel.
std::string refusal(const Communicator& communicator, const DevicePlace& place) {
  try {
    (void)cuda::make_device_channel(communicator, both_ways(communicator, 1000), place);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    return error.what();
  }
  return "";
}

TEST(RankDeviceChannel, NcclIsRefusedToRanksOnOneDevice) {
  if (ranks().size() < 2) GTEST_SKIP() << "one rank";
  const Forced nccl("nccl");
  const std::string said = refusal(*testing::all_ranks(), {cuda::this_place().host, "one GPU"});
  EXPECT_THAT(said, HasSubstr("QUADRILLE_TRANSPORT=nccl: this transport cannot be used: nccl: ranks 0 and 1 share a "
                              "GPU, and NCCL needs one for each"));
}

TEST(RankDeviceChannel, PeerIsRefusedToRanksOnOtherHosts) {
  if (ranks().size() < 2) GTEST_SKIP() << "one rank";
  const Forced peer("peer");
  const auto all = testing::all_ranks();
  const std::string said = refusal(*all, {"host " + std::to_string(all->rank()), cuda::this_place().device});
  EXPECT_THAT(said, HasSubstr("this transport cannot be used: peer: rank 0: rank 1 is on another host"));
}

/// What NCCL finds itself, on all ranks and in time.
TEST(RankDeviceChannel, NcclsOwnRefusalIsAnError) {
  if (!testing::ranks_share_gpus()) GTEST_SKIP() << "each rank has a GPU";
  const Forced nccl("nccl");
  const std::unique_ptr<Ranks> own = ranks().numbered(ranks().rank());
  const auto communicator = own->communicator({1, 1, 1, own->size()});
  const std::string said = refusal(*communicator, {"a host", "GPU " + std::to_string(own->rank())});
  EXPECT_THAT(said, HasSubstr("nccl: rank 0: NCCL: "));
}

TEST(RankDeviceChannel, LinksThatHaveEndedSayWhy) {
  if (testing::ranks_share_gpus()) GTEST_SKIP() << "ranks share a GPU";
  OwnLinks own;
  ASSERT_NE(own.links, nullptr) << own.reason;
  const Forced nccl("nccl");
  const auto messages = both_ways(*own.communicator, 1000);
  const auto channel = cuda::make_device_channel(*own.communicator, messages);
  EXPECT_TRUE(exchanges_right(*channel, *own.communicator, messages, 3));
  own.links->abort("the test ends them");
  own.links->abort("again");
  try {
    channel->start(cuda::stream());
    ADD_FAILURE() << "an exchange after the end";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "NCCL: the test ends them");
  }
}

TEST(RankDeviceChannel, AnExchangeThatIsGivenUpLeavesTheDeviceFree) {
  if (testing::ranks_share_gpus()) GTEST_SKIP() << "ranks share a GPU";
  OwnLinks own;
  ASSERT_NE(own.links, nullptr) << own.reason;
  const Forced nccl("nccl");
  const auto messages = both_ways(*own.communicator, 1 << 20);
  auto channel = cuda::make_device_channel(*own.communicator, messages);
  EXPECT_TRUE(exchanges_right(*channel, *own.communicator, messages, 3));
  const auto begun = std::chrono::steady_clock::now();
  // Of several ranks the first waits for what never comes.
  if (own.communicator->rank() == 0) channel->start(cuda::stream());
  channel.reset();
  QUADRILLE_CUDA_CHECK(cudaDeviceSynchronize());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
  own.communicator->barrier();
}

}  // namespace
}  // namespace quadrille
