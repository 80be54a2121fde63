// The transport "pinned": kernels write into memory of the host, MPI carries it on.
#pragma once

#include "core/backend/cuda/channels/transport.h"

namespace quadrille::cuda {

/// For all sides that are wanted. Collective.
ChannelPart make_pinned_channel(const ChannelRequest& request, std::string& reason);

}  // namespace quadrille::cuda
