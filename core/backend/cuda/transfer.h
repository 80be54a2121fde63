// Buffers of the CUDA backend for data on their way.
#pragma once

#include "core/backend/transfer_buffer.h"

#include <cstddef>
#include <memory>

namespace quadrille::cuda {

/// Pinned host memory with memory of the backend's pool beside it; its copies go onto the backend's stream.
/// Throws ErrorCode::unsupported with the bytes needed and free when there is no memory.
std::unique_ptr<TransferBuffer> make_transfer_buffer(std::size_t bytes);

}  // namespace quadrille::cuda
