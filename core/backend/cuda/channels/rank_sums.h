// Sums over ranks that kernels form themselves.
#pragma once

#include "core/backend/backend.h"
#include "core/backend/cuda/channels/rank_boxes.h"

#include <memory>

namespace quadrille {
class Communicator;
}

namespace quadrille::cuda {

/// Boxes in the devices' memories. One kernel at a time has sums in them, on all ranks the same one.
class RankSums : public JoinedSums {
 public:
  virtual const RankBoxes& boxes() const = 0;
};

/// Where the ranks are on one host, have a device each and reach each other's memory, unless QUADRILLE_TRANSPORT names
/// another way; else null, with a line in the log. A kernel waits for those of the other ranks, which could not run
/// meanwhile if ranks shared a device. Collective.
std::unique_ptr<RankSums> make_rank_sums(const Communicator& communicator);

}  // namespace quadrille::cuda
