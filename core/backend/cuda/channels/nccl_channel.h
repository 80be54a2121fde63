// The transport "nccl": NCCL carries messages from device to device.
#pragma once

#include "core/backend/cuda/channels/transport.h"

namespace quadrille::cuda {

/// For all sides that are wanted, or none where two ranks share a device or NCCL does not work. Collective.
ChannelPart make_nccl_channel(const ChannelRequest& request, std::string& reason);

}  // namespace quadrille::cuda
