// Messages between ranks through memory that they share, and through MPI.
#include "core/comm/host_channel.h"
#include "core/comm/agreement.h"
#include "core/error.h"
#include "tests/ranks/ranks_testing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace quadrille {
namespace {

using testing::Forced;
using testing::random_text;
using testing::ranks;

std::vector<HostMessage> both_ways(const Communicator& communicator, std::size_t bytes) {
  std::vector<HostMessage> messages;
  for (int d = 0; d < 8; ++d) {
    if (communicator.splits(d % 4)) messages.push_back({d, bytes + std::size_t(d % 4)});
  }
  return messages;
}

/// Exchanges `times` times; what has come is read late on some ranks, checked, and destroyed. Whether all was right.
bool exchanges_right(HostChannel& channel, const Communicator& communicator, const std::vector<HostMessage>& messages,
                     int times) {
  bool right = true;
  for (int n = 0; n < times; ++n) {
    for (std::size_t k = 0; k < messages.size(); ++k) {
      const auto sent = random_text(communicator.rank(), messages[k], n);
      std::memcpy(channel.outgoing(k), sent.data(), sent.size());
    }
    channel.start();
    channel.finish();
    if ((communicator.rank() + n) % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    for (std::size_t k = 0; k < messages.size(); ++k) {
      const int from = communicator.neighbour(opposite_direction(messages[k].direction));
      const auto expected = random_text(from, messages[k], n);
      right &= std::memcmp(channel.incoming(k), expected.data(), expected.size()) == 0;
      std::memset(channel.incoming(k), 0xff, expected.size());
    }
  }
  return testing::everywhere(communicator, right);
}

TEST(RankHostChannel, MessagesComeFromTheOppositeNeighbour) {
  for (const Dims& grid : testing::some_grids(3)) {
    const auto communicator = ranks().communicator(grid);
    for (const std::size_t bytes : {1, 1003, 1 << 20}) {
      const auto messages = both_ways(*communicator, bytes);
      HostChannel channel(*communicator, messages), other(*communicator, messages);
      EXPECT_EQ(channel.shared(), int(messages.size())) << "the ranks of this test are on one host";
      EXPECT_TRUE(exchanges_right(channel, *communicator, messages, 10)) << grid_text(grid) << ", " << bytes;
      EXPECT_TRUE(exchanges_right(other, *communicator, messages, 3)) << grid_text(grid) << ", " << bytes;
      EXPECT_TRUE(exchanges_right(channel, *communicator, messages, 3)) << grid_text(grid) << ", " << bytes;
    }
  }
}

/// As if some ranks could not be reached: those of them send and get messages of MPI.
TEST(RankHostChannel, NeighboursThatShareNoMemoryGetMessages) {
  for (const bool all : {true, false}) {
    const Forced messages_only(all || ranks().rank() == 0 ? "messages" : nullptr);
    for (const Dims& grid : testing::some_grids(3)) {
      const auto communicator = ranks().communicator(grid);
      const auto messages = both_ways(*communicator, 100'003);
      HostChannel channel(*communicator, messages);
      int expected = 0;
      for (const HostMessage& message : messages)
        expected += !all && communicator->neighbour(message.direction) != 0 ? 1 : 0;
      EXPECT_EQ(channel.shared(), expected) << grid_text(grid);
      EXPECT_TRUE(exchanges_right(channel, *communicator, messages, 10)) << grid_text(grid);
    }
  }
}

TEST(RankHostChannel, AnUnknownTransportIsRefused) {
  const auto communicator = testing::all_ranks();
  const int bad = communicator->size() - 1;
  const auto said = [&]() -> std::string {
    try {
      const HostChannel channel(*communicator, both_ways(*communicator, 8));
    } catch (const Error& error) {
      return error.message();
    } catch (const FailedElsewhere& elsewhere) {
      return elsewhere.what();
    }
    return "";
  };
  const std::string error =
      "QUADRILLE_TRANSPORT: unknown transport 'mesages'; the transports are peer, nccl, pinned, messages";
  {
    const Forced everywhere("mesages");
    EXPECT_EQ(said(), error);
  }
  {
    const Forced on_one(ranks().rank() == bad ? "mesages" : nullptr);
    EXPECT_EQ(said(), ranks().rank() == bad ? error : "rank " + std::to_string(bad) + " has failed");
  }
  const Forced between_gpus("pinned");
  EXPECT_EQ(said(), "");
}

}  // namespace
}  // namespace quadrille
