#include "core/backend/cuda/channels/peer_channel.h"

#include "core/backend/cuda/channels/peer_memory.h"
#include "core/backend/cuda/channels/peer_signal.h"
#include "core/backend/cuda/runtime.h"
#include "core/comm/agreement.h"
#include "core/error.h"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>

namespace quadrille::cuda {
namespace {

constexpr std::size_t line = 256;  ///< bytes between what different ranks write

/// Asks the device to go on with what comes later on `stream` only when each of counters[0..count) is at least
/// `number`.
void wait_on_device(const std::array<unsigned*, most_signals>& counters, std::size_t count, unsigned number,
                    cudaStream_t stream) {
  using Batch = CUresult (*)(CUstream, unsigned, CUstreamBatchMemOpParams*, unsigned);
  static const Batch batch = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
    QUADRILLE_CUDA_CHECK(
        cudaGetDriverEntryPointByVersion("cuStreamBatchMemOp", &function, 12000, cudaEnableDefault, &found));
#else
    QUADRILLE_CUDA_CHECK(cudaGetDriverEntryPoint("cuStreamBatchMemOp", &function, cudaEnableDefault, &found));
#endif
    if (function == nullptr || found != cudaDriverEntryPointSuccess) {
      throw Error(ErrorCode::unsupported, "CUDA: this driver has no cuStreamBatchMemOp");
    }
    return reinterpret_cast<Batch>(function);
  }();
  std::array<CUstreamBatchMemOpParams, most_signals> waits{};
  for (std::size_t k = 0; k < count; ++k) {
    waits[k].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    waits[k].waitValue.address = reinterpret_cast<CUdeviceptr>(counters[k]);
    waits[k].waitValue.value = number;
    waits[k].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  }
  const CUresult status = batch(stream, unsigned(count), waits.data(), 0);
  if (status == CUDA_SUCCESS) return;
  throw Error(ErrorCode::unsupported, fmt::format("CUDA: cuStreamBatchMemOp: error {}", int(status)));
}

/// Memory of this rank that its neighbours write to, and theirs: two places for each message, used in turns, then a
/// counter for each. A message of exchange n + 2 is written when that of n has been read: its sender has waited for
/// this rank's of n + 1, which was sent after that.
struct PeerMemory {
  std::vector<DeviceMessage> messages;
  std::uint64_t name = 0;  ///< the same on all ranks
  Sides sides{};
  std::string reason{};  ///< why some rank has other sides, too
  std::byte* mine = nullptr;
  std::array<std::byte*, 8> theirs{};  ///< by direction of the neighbour
  unsigned exchanges = 0;

  std::size_t slot_bytes() const { return place(messages.size()); }
  std::size_t bytes() const { return 2 * slot_bytes() + messages.size() * line; }
  /// Where message k begins in either slot.
  std::size_t place(std::size_t k) const {
    std::size_t before = 0;
    for (std::size_t i = 0; i < k; ++i) before += aligned(messages[i].bytes);
    return before;
  }
  /// Where message k goes to.
  std::byte* there(std::size_t k) const { return theirs[std::size_t(messages[k].direction)]; }
  std::byte* message(std::byte* memory, std::size_t k, unsigned exchange) const {
    return memory + (exchange % 2) * slot_bytes() + place(k);
  }
  unsigned* counter(std::byte* memory, std::size_t k) const {
    return reinterpret_cast<unsigned*>(memory + 2 * slot_bytes() + k * line);
  }
  bool fits(const std::vector<DeviceMessage>& wanted) const {
    return std::equal(messages.begin(), messages.end(), wanted.begin(), wanted.end(),
                      [](const DeviceMessage& a, const DeviceMessage& b) {
                        return a.direction == b.direction && a.bytes == b.bytes;
                      });
  }
};

class PeerChannel final : public DeviceChannel {
 public:
  PeerChannel(Neighbourhood ranks, PeerMemory memory) : ranks_(std::move(ranks)), memory_(std::move(memory)) {}
  ~PeerChannel() override {
    (void)cudaStreamSynchronize(stream());
    IdleMemory<PeerMemory>::of_process().put(ranks_, std::move(memory_));
  }

  std::string transport() const override { return "peer"; }
  void* outgoing(std::size_t k) override { return memory_.message(memory_.there(k), k, memory_.exchanges + 1); }
  const void* incoming(std::size_t k) override { return memory_.message(memory_.mine, k, memory_.exchanges); }
  void start(cudaStream_t stream) override {
    ++memory_.exchanges;
    std::array<unsigned*, most_signals> counters{};
    std::size_t count = 0;
    for (std::size_t k = 0; k < memory_.messages.size(); ++k) {
      if (leaves(memory_.messages[k], memory_.sides)) counters[count++] = memory_.counter(memory_.there(k), k);
    }
    if (count > 0) signal(counters, int(count), memory_.exchanges, stream);
  }
  void finish(cudaStream_t stream) override {
    std::array<unsigned*, most_signals> counters{};
    std::size_t count = 0;
    for (std::size_t k = 0; k < memory_.messages.size(); ++k) {
      if (comes(memory_.messages[k], memory_.sides)) counters[count++] = memory_.counter(memory_.mine, k);
    }
    if (count > 0) wait_on_device(counters, count, memory_.exchanges, stream);
  }

 private:
  Neighbourhood ranks_;
  PeerMemory memory_;
};

/// The memory of neighbours, as far as this rank reaches it, by rank.
class Reached {
 public:
  Reached(const ChannelRequest& request, const std::vector<PeerOffer>& offers) : request_(request) {
    const Communicator& ranks = request.communicator;
    for (int d = 0; d < 8; ++d) {
      const int rank = ranks.neighbour(d);
      if (!request.sides[std::size_t(d)] || memory_.count(rank) > 0) continue;
      std::byte*& there = memory_[rank];
      if (!is_near(request, d)) {
        note(fmt::format("rank {} is on another host", rank));
      } else if (!offers[std::size_t(rank)].is_there) {
        note(fmt::format("rank {} has no memory that others could reach", rank));
      } else {
        note(trouble_with([&] { there = opened(offers[std::size_t(rank)]); }));
      }
    }
  }
  static bool is_near(const ChannelRequest& request, int direction) {
    const auto host = [&](int rank) -> const std::string& { return request.places[std::size_t(rank)].host; };
    return host(request.communicator.neighbour(direction)) == host(request.communicator.rank());
  }

  const std::string& reason() const { return reason_; }
  /// Those whose neighbours reach this rank's memory, too. Collective.
  Sides agreed() const {
    const Communicator& ranks = request_.communicator;
    Sides mine{}, both{};
    for (int d = 0; d < 8; ++d) mine[std::size_t(d)] = request_.sides[std::size_t(d)] && memory(d) != nullptr;
    std::vector<Sides> all(std::size_t(ranks.size()));
    ranks.gather(&mine, sizeof mine, all.data());
    for (int d = 0; d < 8; ++d) {
      const Sides& theirs = all[std::size_t(ranks.neighbour(d))];
      both[std::size_t(d)] = mine[std::size_t(d)] && theirs[std::size_t(opposite_direction(d))];
    }
    return both;
  }
  std::byte* memory(int direction) const {
    const auto found = memory_.find(request_.communicator.neighbour(direction));
    return found == memory_.end() ? nullptr : found->second;
  }
  /// Lets go of what is reached over no side. Collective, so that its owners may free it then.
  void keep_only(const Sides& sides) {
    for (int d = 0; d < 8; ++d) {
      std::byte* const there = memory(d);
      if (!request_.sides[std::size_t(d)] || sides[std::size_t(d)] || there == nullptr) continue;
      (void)cudaIpcCloseMemHandle(there);
      memory_[request_.communicator.neighbour(d)] = nullptr;
    }
    request_.communicator.barrier();
  }

 private:
  void note(const std::string& reason) {
    if (reason_.empty()) reason_ = reason;
  }

  const ChannelRequest& request_;
  std::map<int, std::byte*> memory_;
  std::string reason_;
};

PeerMemory joined_memory(const ChannelRequest& request) {
  const Communicator& ranks = request.communicator;
  PeerMemory memory{.messages = request.messages, .name = new_name(ranks)};
  PeerOffer mine;
  std::string trouble;
  bool has_near = false;
  for (int d = 0; d < 8; ++d) has_near |= request.sides[std::size_t(d)] && Reached::is_near(request, d);
  if (has_near) trouble = trouble_with([&] { memory.mine = offered_memory(memory.bytes(), mine); });
  std::vector<PeerOffer> offers(std::size_t(ranks.size()));
  ranks.gather(&mine, sizeof mine, offers.data());
  Reached reached(request, offers);
  memory.reason = first_reason(ranks, trouble.empty() ? reached.reason() : trouble);
  memory.sides = reached.agreed();
  reached.keep_only(memory.sides);
  for (int d = 0; d < 8; ++d) memory.theirs[std::size_t(d)] = reached.memory(d);
  if (!any(memory.sides)) {
    (void)cudaFree(memory.mine);
    memory.mine = nullptr;
  }
  return memory;
}

}  // namespace

ChannelPart make_peer_channel(const ChannelRequest& request, std::string& reason) {
  const Neighbourhood ranks = neighbourhood(request.communicator, request.places);
  PeerMemory memory = IdleMemory<PeerMemory>::of_process().take_or(
      request.communicator, ranks, [&](const PeerMemory& kept) { return kept.fits(request.messages); },
      [&] { return joined_memory(request); });
  reason = memory.reason;
  const Sides sides = memory.sides;
  if (!any_anywhere(request.communicator, sides)) return {};
  return {std::make_unique<PeerChannel>(ranks, std::move(memory)), sides};
}

}  // namespace quadrille::cuda
