// Events, streams and pinned memory, given back at the end of their lives.
#pragma once

#include "core/api.h"
#include "core/backend/cuda/runtime.h"

#include <cstddef>
#include <memory>

namespace quadrille::cuda {

struct Release {
  void operator()(cudaEvent_t event) const { (void)cudaEventDestroy(event); }
  void operator()(cudaStream_t stream) const { (void)cudaStreamDestroy(stream); }
  void operator()(std::byte* pinned) const { (void)cudaFreeHost(pinned); }
};
using OwnedEvent = std::unique_ptr<CUevent_st, Release>;
using OwnedStream = std::unique_ptr<CUstream_st, Release>;
using PinnedMemory = std::unique_ptr<std::byte, Release>;

// Where there is no memory for them, the error says so as that of check_memory() does.

/// Without times.
QUADRILLE_API OwnedEvent make_event();
/// One that does not wait for the default stream.
QUADRILLE_API OwnedStream make_stream();
/// Another, whose kernels go before those of other streams where both could run.
QUADRILLE_API OwnedStream make_urgent_stream();
/// `flags` of cudaHostAlloc; `what` needs it. Its bytes are left as they are.
QUADRILLE_API PinnedMemory make_pinned(std::size_t bytes, unsigned flags, const char* what);
/// Whether the driver knows the memory as pinned.
QUADRILLE_API bool is_pinned(const void* memory);

}  // namespace quadrille::cuda
