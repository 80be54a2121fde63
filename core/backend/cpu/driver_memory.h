// What the CUDA driver knows of an address, for a backend that is built without CUDA.
#pragma once

#include "core/backend/backend.h"

namespace quadrille {

/// The place of memory that others have allocated: device where the CUDA driver of this process says so, both for
/// managed memory, otherwise host. Without a loaded driver there is no memory of a device.
MemoryPlace place_by_driver(const void* memory);

}  // namespace quadrille
