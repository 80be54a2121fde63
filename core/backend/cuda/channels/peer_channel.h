// The transport "peer": kernels write into the memory of neighbours on the same host.
#pragma once

#include "core/backend/cuda/channels/transport.h"

namespace quadrille::cuda {

/// For the sides with neighbours on this host, where either device can reach the other's memory. Collective.
ChannelPart make_peer_channel(const ChannelRequest& request, std::string& reason);

}  // namespace quadrille::cuda
