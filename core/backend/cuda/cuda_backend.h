// The CUDA backend: one GPU, and a stream for each lane.
#pragma once

#include "core/api.h"
#include "core/backend/backend.h"

#include <string>

namespace quadrille {

/// The backend of the current device, made at the first call. ErrorCode::unsupported without a usable GPU.
QUADRILLE_API Backend& cuda_backend();
/// The same; when it is not made yet, of device `number`; ErrorCode::unsupported where there is none of that
/// number.
QUADRILLE_API Backend& cuda_backend_of(int number);

namespace cuda {

/// 0 where none answers.
QUADRILLE_API int count_devices();

/// Why no GPU can be used ("no CUDA-capable device is detected"); empty when one answers.
QUADRILLE_API std::string trouble();

}  // namespace cuda
}  // namespace quadrille
