// The transport "peer": kernels write into the memory of neighbours on the same host.
#pragma once

#include "core/backend/cuda/device_channel.h"

namespace quadrille::cuda {

/// Null, with the reason of the first rank that has one, where some rank cannot reach its neighbours so. Collective.
std::unique_ptr<DeviceChannel> make_peer_channel(const Communicator& communicator,
                                                 const std::vector<DeviceMessage>& messages, std::string& reason);

}  // namespace quadrille::cuda
