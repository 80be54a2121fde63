// Messages between the devices of neighbouring ranks, exchanged again and again.
//
// Kernels write a message where outgoing() says, which is in the neighbour's memory itself where that can be reached,
// and find what has come at incoming(). A transport is how messages travel:
//   peer    devices of one host that reach each other's memory (CUDA IPC): kernels write into the neighbour's memory,
//           counters in it say when, and no rank of the host's waits
//   pinned  kernels write into memory of the host, MPI carries it on; anywhere, also with several ranks on a device
#pragma once

#include "core/comm/communicator.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace quadrille::cuda {

/// A message to the neighbour in `direction` of `bytes` bytes; as many come from the opposite one. As Message, but
/// for where it lies.
struct DeviceMessage {
  int direction;
  std::size_t bytes;
};

/// Members are collective, and are called in this order: work that writes to outgoing() is asked for on the stream;
/// start(); other work; finish(); work that reads at incoming().
class DeviceChannel {
 public:
  virtual ~DeviceChannel() = default;
  /// "peer"
  virtual std::string transport() const = 0;
  /// Where message k of the next exchange is to be written, in memory that kernels of this process can write to;
  /// aligned to 256 bytes.
  virtual void* outgoing(std::size_t k) = 0;
  virtual void start() = 0;
  virtual void finish() = 0;
  /// Where message k has come to; until the exchange after the next begins. Aligned to 256 bytes.
  virtual const void* incoming(std::size_t k) = 0;
};

/// By the first transport that all ranks can use, or the one that the environment variable QUADRILLE_TRANSPORT names.
/// Collective. Errors: ErrorCode::invalid_input for an unknown name, ErrorCode::unsupported with the reason for one
/// that some rank cannot use.
std::unique_ptr<DeviceChannel> make_device_channel(const Communicator& communicator,
                                                   const std::vector<DeviceMessage>& messages);

}  // namespace quadrille::cuda
