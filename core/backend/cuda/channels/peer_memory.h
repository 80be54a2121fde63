// Memory of devices that ranks of one host reach by CUDA IPC, and that a process keeps for the next that want the same.
#pragma once

#include "core/api.h"
#include "core/backend/cuda/channels/transport.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::cuda {

/// What a rank tells the others of its memory.
struct PeerOffer {
  bool is_there = false;
  cudaIpcMemHandle_t handle{};
};

/// `bytes` bytes beside the backend's pool, filled with 0, that `offer` then offers.
std::byte* offered_memory(std::size_t bytes, PeerOffer& offer);
/// Another rank's memory here; closed by cudaIpcCloseMemHandle.
QUADRILLE_API std::byte* opened(const PeerOffer& offer);
/// One number for all ranks, which no other call has given. Collective.
std::uint64_t new_name(const Communicator& communicator);

using Neighbourhood = std::pair<Dims, std::vector<std::string>>;  ///< a grid, and where its ranks work

inline Neighbourhood neighbourhood(const Communicator& communicator, const std::vector<DevicePlace>& places) {
  Neighbourhood ranks{communicator.grid(), {}};
  for (const DevicePlace& place : places) ranks.second.push_back(place.host + " " + place.device);
  return ranks;
}

/// Memory that has been given back. It is not freed, as other ranks have it mapped: whoever next wants the same takes
/// it, on all ranks the same one, which threads give back in any order. `Memory` has a `name`.
template <class Memory>
class IdleMemory {
 public:
  static IdleMemory& of_process() {
    static auto* const the = new IdleMemory;
    return *the;
  }
  void put(const Neighbourhood& ranks, Memory memory) {
    const std::lock_guard lock(mutex_);
    all_[ranks].push_back(std::move(memory));
  }
  /// What rank 0 has that `fits`, where all have it; else what `make` gives. Collective.
  template <class Fits, class Make>
  Memory take_or(const Communicator& communicator, const Neighbourhood& ranks, const Fits& fits, const Make& make) {
    std::optional<Memory> memory;
    std::uint64_t name = 0;
    if (communicator.rank() == 0) {
      memory = take(ranks, fits);
      if (memory) name = memory->name;
    }
    communicator.broadcast(&name, sizeof name, 0);
    if (communicator.rank() > 0) memory = take(ranks, [&](const Memory& kept) { return kept.name == name; });
    double lacks = memory ? 0 : 1;
    communicator.maximum(&lacks, 1);
    if (lacks == 0) return std::move(*memory);
    if (memory) put(ranks, std::move(*memory));
    return make();
  }

 private:
  template <class Fits>
  std::optional<Memory> take(const Neighbourhood& ranks, const Fits& fits) {
    const std::lock_guard lock(mutex_);
    std::vector<Memory>& kept = all_[ranks];
    const auto found = std::find_if(kept.begin(), kept.end(), fits);
    if (found == kept.end()) return std::nullopt;
    std::optional<Memory> memory(std::move(*found));
    kept.erase(found);
    return memory;
  }

  std::mutex mutex_;
  std::map<Neighbourhood, std::vector<Memory>> all_;
};

}  // namespace quadrille::cuda
