// NCCL between the devices of ranks: in libquadrille_ranks.so, beside MPI.
#pragma once

#include "core/comm/communicator.h"
#include "core/comm/device_links.h"

#include <memory>
#include <string>

namespace quadrille {

/// Between the current devices of all ranks, which are different ones. Null, with the reason of the first rank that has
/// one, where NCCL cannot join them. Collective; so is the end of the result, by and large: a rank that comes to it
/// alone waits for the others for some seconds, and then leaves.
std::shared_ptr<DeviceLinks> make_nccl_links(const Communicator& ranks, std::string& reason);

}  // namespace quadrille
