// The transport that the environment variable QUADRILLE_TRANSPORT names: peer, nccl or pinned between GPUs
// (core/backend/cuda/channels/device_channel.h), messages between CPUs (host_channel.h). A name of the others does not
// count.
#pragma once

#include "core/api.h"
#include "core/comm/communicator.h"

#include <string>

namespace quadrille {

constexpr const char* transport_variable = "QUADRILLE_TRANSPORT";

/// That of this rank; empty where there is none. Collective. Errors: ErrorCode::invalid_input, with the names that
/// there are, for an unknown one of any rank.
QUADRILLE_API std::string named_transport(const Communicator& ranks);
/// That of rank 0, on all ranks. Collective. Errors: as above, for rank 0's.
QUADRILLE_API std::string shared_transport(const Communicator& ranks);

}  // namespace quadrille
