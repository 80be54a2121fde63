// Projected half spinors on their way between ranks, for hopping kernels on a GPU.
#pragma once

#include "core/backend/cuda/channels/device_channel.h"
#include "core/backend/cuda/owned.h"
#include "dirac/cuda/hop_args.h"
#include "dirac/hop_kernel.h"

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

namespace quadrille {

/// Ghost zones of one hopping term: of each hop that leads to another rank and each call of a list the half spinors of
/// a face, in the grouped layout by GroupedSite::face_index(), one section of 12 numbers per site, in half precision
/// then a norm for each.
///
/// Packing, messages and the sites at edges have a stream of their own, before that of the inner sites, so that they go
/// on beside these: start(); ask for the inner sites; finish(); ask for the sites at edges on stream(); join().
class CudaHalo {
 public:
  explicit CudaHalo(const HopSetup& setup);
  ~CudaHalo();

  /// Packs what other ranks need of every x of a list of at most dirac::most_calls, and sends it, one message a face:
  /// after all work queued so far. Collective, as finish() is; the first list of a length may make its messages.
  void start(const HopCall& call);
  /// Later work on stream() finds the ghosts that it describes.
  void finish(dirac::CudaEdges& edges);
  cudaStream_t stream() const { return stream_.get(); }
  /// Later work of this thread waits for all work queued on stream().
  void join();

 private:
  struct Face {
    int direction;               ///< of the hop
    int sites;                   ///< of one parity
    std::size_t numbers, bytes;  ///< of a call: bytes before the norms, and all
  };
  /// Whose messages have room for so many calls.
  cuda::DeviceChannel& channel_for(std::size_t calls);

  HopSetup setup_;
  dirac::CudaPackKernel pack_;
  std::vector<Face> faces_;
  cuda::OwnedStream stream_;
  cuda::OwnedEvent asked_, done_;
  std::map<std::size_t, std::unique_ptr<cuda::DeviceChannel>> channels_;  ///< by the calls that they have room for
  cuda::DeviceChannel* channel_ = nullptr;                                ///< of the list that came last
};

}  // namespace quadrille
