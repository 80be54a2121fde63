// Data on its way between the memories of devices, without the host's: what ranks have where a library like NCCL joins
// them. One device a rank.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace quadrille {

/// Bytes in this rank's device memory that go to another rank, or come from it.
struct DevicePiece {
  int rank;
  void* memory;
  std::size_t bytes;
};

/// Exchanges between all ranks of a communicator, one at a time. Errors, of any rank that one can know of, and what was
/// said in abort() are thrown by every later call.
class DeviceLinks {
 public:
  virtual ~DeviceLinks() = default;
  /// Sends and receives at once, after all work queued on `stream` (a cudaStream_t). Of two ranks the n-th
  /// piece that one sends the other is the n-th that the other receives from it. Returns at once: work on other streams
  /// can be queued meanwhile.
  virtual void start(std::span<const DevicePiece> send, std::span<const DevicePiece> receive, void* stream) = 0;
  /// Returns when the exchange is queued: later work on its stream comes after
  /// it.
  virtual void finish() = 0;
  /// Ends the exchanges that this rank waits in, with anything in their memory, and refuses others.
  virtual void abort(const std::string& reason) = 0;
};

}  // namespace quadrille
