// Messages between the devices of neighbouring ranks, exchanged again and again.
//
// Kernels write a message where outgoing() says, which is in the neighbour's memory itself where that can be reached,
// and find what has come at incoming(). A transport is how messages travel:
//   peer    devices of one host that reach each other's memory (CUDA IPC): kernels write into the neighbour's memory,
//           counters in it say when, and no rank of the host's waits
//   nccl    NCCL carries them from device to device, within a host or between hosts; one device a rank
//   pinned  kernels write into memory of the host, MPI carries it on; anywhere, also with several ranks on a device
// Each neighbour has the first of these that it and this rank can use.
#pragma once

#include "core/api.h"
#include "core/comm/communicator.h"

#include <cuda_runtime.h>

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

/// Members are called by all ranks in this order: work that writes to outgoing() is queued on a stream; start() with
/// that stream; other work; finish() with the stream of what then reads at incoming(). What writes for the next
/// exchange is queued on that stream, too, or after it.
class QUADRILLE_API DeviceChannel {
 public:
  virtual ~DeviceChannel() = default;
  /// "peer"; "peer, pinned" where there are several on this rank.
  virtual std::string transport() const = 0;
  /// Where message k of the next exchange is to be written, in memory that kernels of this process can write to;
  /// aligned to 256 bytes.
  virtual void* outgoing(std::size_t k) = 0;
  virtual void start(cudaStream_t stream) = 0;
  virtual void finish(cudaStream_t stream) = 0;
  /// Where message k has come to; until the next start(). Aligned to 256 bytes.
  virtual const void* incoming(std::size_t k) = 0;
};

/// Where a rank works, as far as transports are concerned: texts of at most 255 bytes, the same for ranks that share
/// it.
struct DevicePlace {
  std::string host;    ///< within it devices may reach each other's memory
  std::string device;  ///< among the devices of all hosts, as far as NCCL tells them apart
};

/// The one of this process. The environment variable NCCL_HOSTID counts as it does for NCCL: devices of ranks that have
/// different ones are different ones.
QUADRILLE_API DevicePlace this_place();
/// Those of all ranks. Collective.
QUADRILLE_API std::vector<DevicePlace> places_of_ranks(const Communicator& communicator, const DevicePlace& mine);

/// A line of the log, the first time that it is the same.
QUADRILLE_API void log_once(const std::string& text);

/// By the transport for each neighbour that was said above, or for all the one that QUADRILLE_TRANSPORT names. What was
/// chosen is logged. Of messages with one to a direction there is also one to the opposite. Collective. Errors:
/// ErrorCode::invalid_input for an unknown name, ErrorCode::unsupported with the reason for one that some rank cannot
/// use.
QUADRILLE_API std::unique_ptr<DeviceChannel> make_device_channel(const Communicator& communicator,
                                                                 const std::vector<DeviceMessage>& messages,
                                                                 const DevicePlace& place = this_place());

}  // namespace quadrille::cuda
