// Host memory through which data travels to and from a backend while both go on working.
#pragma once

#include "core/api.h"

#include <cstddef>

namespace quadrille {

/// A piece of host memory and a place of the same size that the backend's kernels see: on the CPU the same memory, so
/// that nothing travels and nothing waits. Calls are executed in their order, as all work of a
/// backend (core/backend/backend.h). The end of its life waits for what is under way.
///
/// Errors of a device surface in any of these calls.
class QUADRILLE_API TransferBuffer {
 public:
  TransferBuffer() = default;
  TransferBuffer(const TransferBuffer&) = delete;
  TransferBuffer& operator=(const TransferBuffer&) = delete;
  virtual ~TransferBuffer() = default;

  /// The host's side, aligned to 64; its bytes are at first whatever they are. Not to be written between send() and the
  /// next wait(), nor read between fetch() and wait(). Kernels may write a few of them too, and record_use() follows.
  virtual std::byte* host() = 0;
  /// The backend's side.
  virtual void* device() = 0;

  /// The first `bytes` bytes go from host() to device(); returns at once and marks.
  virtual void send(std::size_t bytes) = 0;
  /// The first `bytes` bytes come from device() to host(); returns at once and marks.
  virtual void fetch(std::size_t bytes) = 0;
  /// The work queued so far uses this buffer.
  virtual void record_use() = 0;
  /// Returns when all work before the last mark is done.
  virtual void wait() = 0;
};

}  // namespace quadrille
