// Fresh memory of the device holds nothing that a test could take for a result.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/runtime.h"

#include <cstdint>

namespace quadrille::testing {

/// NaN in the memory that what comes next takes.
inline void poison_free_memory() {
  constexpr std::int64_t bytes = 64 << 20;
  const cuda::DeviceArray<char> memory(bytes, "a test", "");
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(memory.get(), 0xff, bytes, cuda::stream()));
}

}  // namespace quadrille::testing
