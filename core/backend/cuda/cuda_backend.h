// The CUDA backend: one GPU, one stream.
#pragma once

#include "core/backend/backend.h"

#include <string>

namespace quadrille {

/// The backend of the current device, made at the first call. ErrorCode::unsupported without a usable GPU.
Backend& cuda_backend();

namespace cuda {

/// Why no GPU can be used ("no CUDA-capable device is detected"); empty when one answers.
std::string trouble();

}  // namespace cuda
}  // namespace quadrille
