#include "core/backend/cuda/peer_channel.h"

#include "core/backend/cuda/peer_signal.h"
#include "core/backend/cuda/runtime.h"
#include "core/error.h"
#include "core/system/host_name.h"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>

namespace quadrille::cuda {
namespace {

constexpr std::size_t line = 256;  ///< bytes between what different ranks write

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + line - 1) / line * line; }

/// What tells hosts from each other, and starts of one.
std::string start_of_host() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return host_name() + " " + boot;
}

/// Asks the device to go on with what comes later on the stream only when each of counters[0..count) is at least
/// `number`.
void wait_on_device(const std::array<unsigned*, most_signals>& counters, std::size_t count, unsigned number) {
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
  const CUresult status = batch(stream(), unsigned(count), waits.data(), 0);
  if (status == CUDA_SUCCESS) return;
  throw Error(ErrorCode::unsupported, fmt::format("CUDA: cuStreamBatchMemOp: error {}", int(status)));
}

/// Memory of this rank that its neighbours write to, and theirs: two places for each message, used in turns, then a
/// counter for each. A message of exchange n + 2 is written when that of n has been read: its sender has waited for
/// this rank's of n + 1, which was sent after that.
struct PeerMemory {
  std::vector<DeviceMessage> messages;
  std::byte* mine = nullptr;
  std::array<std::byte*, most_signals> theirs{};  ///< by message: of the rank that it goes to
  unsigned exchanges = 0;

  std::size_t slot_bytes() const { return place(messages.size()); }
  std::size_t bytes() const { return 2 * slot_bytes() + messages.size() * line; }
  /// Where message k begins in either slot.
  std::size_t place(std::size_t k) const {
    std::size_t before = 0;
    for (std::size_t i = 0; i < k; ++i) before += aligned(messages[i].bytes);
    return before;
  }
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

/// Memory that channels have given back. It is not freed, as neighbours have it mapped: the next channel of the same
/// messages takes it, on all ranks the same one. By grid.
std::map<Dims, std::vector<PeerMemory>>& idle() {
  static auto* const all = new std::map<Dims, std::vector<PeerMemory>>;
  return *all;
}

class PeerChannel final : public DeviceChannel {
 public:
  PeerChannel(const Dims& grid, PeerMemory memory) : grid_(grid), memory_(std::move(memory)) {}
  ~PeerChannel() override {
    (void)cudaStreamSynchronize(stream());
    idle()[grid_].push_back(std::move(memory_));
  }

  std::string transport() const override { return "peer"; }
  void* outgoing(std::size_t k) override { return memory_.message(memory_.theirs[k], k, memory_.exchanges + 1); }
  const void* incoming(std::size_t k) override { return memory_.message(memory_.mine, k, memory_.exchanges); }
  void start() override {
    ++memory_.exchanges;
    std::array<unsigned*, most_signals> counters{};
    for (std::size_t k = 0; k < memory_.messages.size(); ++k) counters[k] = memory_.counter(memory_.theirs[k], k);
    signal(counters, int(memory_.messages.size()), memory_.exchanges);
  }
  void finish() override {
    std::array<unsigned*, most_signals> counters{};
    for (std::size_t k = 0; k < memory_.messages.size(); ++k) counters[k] = memory_.counter(memory_.mine, k);
    wait_on_device(counters, memory_.messages.size(), memory_.exchanges);
  }

 private:
  Dims grid_;
  PeerMemory memory_;
};

/// What a rank tells the others of its memory.
struct Offer {
  char host[256];
  cudaIpcMemHandle_t handle;
  char reason[256];  ///< why it has none
};

void put(char (&to)[256], const std::string& text) {
  std::memset(to, 0, sizeof to);
  text.copy(to, sizeof to - 1);
}

std::string first_reason(const Communicator& communicator, const std::string& mine) {
  char text[256];
  put(text, mine);
  std::vector<char> all(sizeof text * std::size_t(communicator.size()));
  communicator.gather(text, sizeof text, all.data());
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const char* const theirs = all.data() + std::size_t(rank) * sizeof text;
    if (*theirs != 0) return fmt::format("rank {}: {}", rank, theirs);
  }
  return "";
}

/// The rank of the neighbour in a direction.
int neighbour(const Communicator& communicator, int direction) {
  const Dims& grid = communicator.grid();
  Dims to = communicator.coordinates();
  const std::size_t mu = std::size_t(direction % 4);
  to[mu] = (to[mu] + (direction < 4 ? 1 : grid[mu] - 1)) % grid[mu];
  return ((to[3] * grid[2] + to[2]) * grid[1] + to[1]) * grid[0] + to[0];
}

void allocate(PeerMemory& memory, Offer& offer) {
  QUADRILLE_CUDA_CHECK(cudaMalloc(&memory.mine, memory.bytes()));
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(memory.counter(memory.mine, 0), 0, memory.messages.size() * line, stream()));
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(stream()));
  QUADRILLE_CUDA_CHECK(cudaIpcGetMemHandle(&offer.handle, memory.mine));
}

void open(PeerMemory& memory, const Communicator& communicator, const std::vector<Offer>& offers) {
  std::map<int, std::byte*> opened;
  for (std::size_t k = 0; k < memory.messages.size(); ++k) {
    const int rank = neighbour(communicator, memory.messages[k].direction);
    const Offer& theirs = offers[std::size_t(rank)];
    if (std::strcmp(theirs.host, offers[std::size_t(communicator.rank())].host) != 0) {
      throw Error(ErrorCode::unsupported, fmt::format("rank {} is on another host", rank));
    }
    std::byte*& there = opened[rank];
    if (there == nullptr) {
      void* mapped = nullptr;
      QUADRILLE_CUDA_CHECK(cudaIpcOpenMemHandle(&mapped, theirs.handle, cudaIpcMemLazyEnablePeerAccess));
      there = static_cast<std::byte*>(mapped);
    }
    memory.theirs[k] = there;
  }
}

/// "" or why not.
template <class Step>
std::string tried(Step&& step) {
  try {
    step();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

std::unique_ptr<DeviceChannel> make_peer_channel(const Communicator& communicator,
                                                 const std::vector<DeviceMessage>& messages, std::string& reason) {
  std::vector<PeerMemory>& kept = idle()[communicator.grid()];
  const auto found =
      std::find_if(kept.begin(), kept.end(), [&](const PeerMemory& memory) { return memory.fits(messages); });
  if (found != kept.end()) {
    PeerMemory memory = std::move(*found);
    kept.erase(found);
    return std::make_unique<PeerChannel>(communicator.grid(), std::move(memory));
  }
  PeerMemory memory{.messages = messages};
  Offer mine{};
  put(mine.host, start_of_host());
  put(mine.reason, tried([&] { allocate(memory, mine); }));
  std::vector<Offer> offers(std::size_t(communicator.size()));
  communicator.gather(&mine, sizeof mine, offers.data());
  reason = first_reason(communicator, mine.reason);
  if (reason.empty()) reason = first_reason(communicator, tried([&] { open(memory, communicator, offers); }));
  if (reason.empty()) return std::make_unique<PeerChannel>(communicator.grid(), std::move(memory));
  (void)cudaFree(memory.mine);
  return nullptr;
}

}  // namespace quadrille::cuda
