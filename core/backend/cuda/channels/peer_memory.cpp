#include "core/backend/cuda/channels/peer_memory.h"

#include "core/backend/cuda/runtime.h"

#include <random>

namespace quadrille::cuda {

std::byte* offered_memory(std::size_t bytes, PeerOffer& offer) {
  std::byte* memory = nullptr;
  QUADRILLE_CUDA_CHECK(cudaMalloc(&memory, bytes));
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(memory, 0, bytes, stream()));
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(stream()));
  QUADRILLE_CUDA_CHECK(cudaIpcGetMemHandle(&offer.handle, memory));
  offer.is_there = true;
  return memory;
}

std::byte* opened(const PeerOffer& offer) {
  void* mapped = nullptr;
  QUADRILLE_CUDA_CHECK(cudaIpcOpenMemHandle(&mapped, offer.handle, cudaIpcMemLazyEnablePeerAccess));
  return static_cast<std::byte*>(mapped);
}

std::uint64_t new_name(const Communicator& communicator) {
  std::random_device random;
  std::uint64_t name = std::uint64_t(random()) << 32 | random();
  communicator.broadcast(&name, sizeof name, 0);
  return name;
}

}  // namespace quadrille::cuda
