#include "core/backend/cuda/channels/rank_sums.h"

#include "core/backend/cuda/channels/device_channel.h"
#include "core/backend/cuda/channels/peer_memory.h"
#include "core/backend/cuda/runtime.h"
#include "core/comm/agreement.h"
#include "core/comm/transport_name.h"
#include "core/system/log.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::cuda {
namespace {

constexpr std::size_t box_line = 256;  ///< bytes between the count and what other ranks write
constexpr std::size_t box_words = 2 * std::size_t(most_boxes * most_box_words);

struct BoxMemory {
  std::uint64_t name = 0;  ///< the same on all ranks
  std::string reason{};    ///< why some rank does not reach another's
  RankBoxes boxes{};
};

class PeerSums final : public RankSums {
 public:
  PeerSums(Neighbourhood ranks, BoxMemory memory) : ranks_(std::move(ranks)), memory_(std::move(memory)) {}
  ~PeerSums() override {
    (void)cudaStreamSynchronize(stream());
    IdleMemory<BoxMemory>::of_process().put(ranks_, std::move(memory_));
  }
  const RankBoxes& boxes() const override { return memory_.boxes; }

 private:
  Neighbourhood ranks_;
  BoxMemory memory_;
};

RankBoxes::Word* words_of(std::byte* memory) { return reinterpret_cast<RankBoxes::Word*>(memory + box_line); }

BoxMemory joined_boxes(const Communicator& ranks) {
  BoxMemory memory{.name = new_name(ranks)};
  RankBoxes& boxes = memory.boxes;
  boxes.ranks = ranks.size();
  boxes.rank = ranks.rank();
  PeerOffer mine;
  std::byte* here = nullptr;
  std::string trouble =
      trouble_with([&] { here = offered_memory(box_line + box_words * sizeof(RankBoxes::Word), mine); });
  std::vector<PeerOffer> offers(std::size_t(ranks.size()));
  ranks.gather(&mine, sizeof mine, offers.data());
  boxes.done = reinterpret_cast<unsigned*>(here);
  for (int rank = 0; rank < ranks.size() && trouble.empty(); ++rank) {
    if (rank == ranks.rank()) {
      boxes.of[rank] = words_of(here);
    } else if (offers[std::size_t(rank)].is_there) {
      trouble = trouble_with([&] { boxes.of[rank] = words_of(opened(offers[std::size_t(rank)])); });
    }
  }
  memory.reason = first_reason(ranks, trouble);
  return memory;
}

/// Why kernels cannot form the sums of these ranks; empty where they may be able to.
std::string obstacle(const Communicator& communicator, const std::vector<DevicePlace>& places) {
  if (communicator.size() > most_boxes) return "there are more than " + std::to_string(most_boxes) + " ranks";
  std::set<std::string> hosts, devices;
  for (const DevicePlace& place : places) {
    hosts.insert(place.host);
    devices.insert(place.device);
  }
  if (hosts.size() > 1) return "the ranks are on several hosts";
  if (devices.size() < places.size()) return "ranks share a GPU";
  const std::string wanted = shared_transport(communicator);
  return wanted == "nccl" || wanted == "pinned" ? "the transport is " + wanted : "";
}

}  // namespace

std::unique_ptr<RankSums> make_rank_sums(const Communicator& communicator) {
  const std::vector<DevicePlace> places = places_of_ranks(communicator, this_place());
  std::string reason = obstacle(communicator, places);
  if (reason.empty()) {
    const Neighbourhood ranks = neighbourhood(communicator, places);
    BoxMemory memory = IdleMemory<BoxMemory>::of_process().take_or(
        communicator, ranks, [](const BoxMemory&) { return true; }, [&] { return joined_boxes(communicator); });
    reason = memory.reason;
    if (reason.empty()) return std::make_unique<PeerSums>(ranks, std::move(memory));
    IdleMemory<BoxMemory>::of_process().put(ranks, std::move(memory));
  }
  log_once("sums over ranks are formed by the hosts: " + reason);
  return nullptr;
}

}  // namespace quadrille::cuda
