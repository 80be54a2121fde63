#include "core/backend/cuda/owned.h"

namespace quadrille::cuda {
namespace {

constexpr const char* device_advice = "end other programs on this GPU";
constexpr const char* host_advice =
    "end other programs, or raise what this one may have (ulimit -v, a container's limit)";

OwnedStream make_stream_of(int priority) {
  cudaStream_t stream = nullptr;
  check_memory(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority), "cudaStreamCreateWithPriority",
               {.what = "a stream, with this process's context on the GPU", .advice = device_advice});
  return OwnedStream(stream);
}

}  // namespace

OwnedEvent make_event() {
  cudaEvent_t event = nullptr;
  check_memory(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags",
               {.what = "an event", .advice = device_advice});
  return OwnedEvent(event);
}

OwnedStream make_stream() { return make_stream_of(0); }

OwnedStream make_urgent_stream() {
  int least = 0, greatest = 0;
  QUADRILLE_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  return make_stream_of(greatest);
}

PinnedMemory make_pinned(std::size_t bytes, unsigned flags, const char* what) {
  void* memory = nullptr;
  check_memory(cudaHostAlloc(&memory, bytes, flags), "cudaHostAlloc",
               {.bytes = bytes, .what = what, .advice = host_advice, .of_host = true});
  return PinnedMemory(static_cast<std::byte*>(memory));
}

bool is_pinned(const void* memory) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

}  // namespace quadrille::cuda
