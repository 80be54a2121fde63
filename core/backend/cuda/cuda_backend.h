// The CUDA backends: one for each GPU, with a stream for each lane.
#pragma once

#include "core/api.h"
#include "core/backend/backend.h"

#include <string>

namespace quadrille {

/// The backend that this thread works in (UseLane), or else that of the current device. Made at the first call for its
/// device; ErrorCode::unsupported without a usable GPU.
QUADRILLE_API Backend& cuda_backend();
/// That of device `number`, or the same if it is negative. ErrorCode::unsupported where there is none of that number.
QUADRILLE_API Backend& cuda_backend_of(int number);

namespace cuda {

/// 0 where none answers.
QUADRILLE_API int count_devices();

/// Why GPU `number`, or the current one if it is negative, cannot be used ("no CUDA-capable device is detected"); empty
/// when it can.
QUADRILLE_API std::string trouble(int number = -1);

/// Gives what the pool keeps and nobody uses back to the driver, when this thread's work on the device is done.
QUADRILLE_API void trim();

}  // namespace cuda
}  // namespace quadrille
