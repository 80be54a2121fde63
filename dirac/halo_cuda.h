// Projected half spinors on their way between ranks, for hopping kernels on a GPU.
#pragma once

#include "core/backend/cuda/device_channel.h"
#include "dirac/cuda/hop_args.h"
#include "dirac/hop_kernel.h"

#include <memory>
#include <string>
#include <vector>

namespace quadrille {

/// Ghost zones of one hopping term: of each hop that leads to another rank the half spinors of a face, in the grouped
/// layout by GroupedSite::face_index(), one section of 12 numbers per site, in half precision then a norm for each.
///
/// Messages travel while the inner sites are worked on: start(), ask for them, finish(), ask for the sites at edges.
class CudaHalo {
 public:
  explicit CudaHalo(const HopSetup& setup);

  /// Packs what other ranks need of `x` for a result of parity `p`, and sends it. Collective, as finish() is.
  void start(const Field& x, Parity p, Dagger dagger);
  /// What is asked for from now on finds the ghosts that it describes.
  void finish(dirac::CudaEdges& edges);
  std::string transport() const { return channel_->transport(); }

 private:
  struct Face {
    int direction;        ///< of the hop
    int sites;            ///< of one parity
    std::size_t numbers;  ///< bytes before the norms
  };

  HopSetup setup_;
  dirac::CudaPackKernel pack_;
  std::vector<Face> faces_;
  std::unique_ptr<cuda::DeviceChannel> channel_;
};

}  // namespace quadrille
