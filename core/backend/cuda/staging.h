// Copies between the device and memory of the host that need not be pinned.
#pragma once

#include "core/backend/cuda/owned.h"

#include <cstddef>

namespace quadrille::cuda {

/// Two pinned buffers: one is filled, by all threads, while the other travels. Memory that is pinned needs none.
class Staging {
 public:
  explicit Staging(cudaStream_t stream);

  /// Both return when the bytes are there.
  void in(void* to, const void* host, std::size_t bytes);
  void out(void* host, const void* from, std::size_t bytes);

 private:
  struct Buffer {
    PinnedMemory memory;
    OwnedEvent travelled;
  };

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind way);
  template <class F>
  void for_each_piece(std::size_t bytes, F&& f);

  cudaStream_t stream_;
  Buffer buffers_[2];
};

}  // namespace quadrille::cuda
