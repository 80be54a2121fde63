// Facts of the current device, and arrays in its memory.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/runtime.h"

#include <cstdint>

namespace quadrille::eigen {

inline int current_device() {
  int device = 0;
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
  return device;
}
inline int device_attribute(cudaDeviceAttr attribute) {
  int value = 0;
  QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, current_device()));
  return value;
}
inline int processors() { return device_attribute(cudaDevAttrMultiProcessorCount); }
/// Bytes of shared memory that a block may have.
inline int shared_memory_limit() { return device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin); }

/// What helps where the memory of a GPU does not suffice for vectors.
constexpr const char* without_vectors = "ask for eigenvalues only, or use --backend cpu";

template <class T>
cuda::DeviceArray<T> device_array(std::int64_t count) {
  return {count, "an eigenproblem", without_vectors};
}
template <class T>
cuda::DeviceArray<T> zeros(std::int64_t count) {
  auto array = device_array<T>(count);
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(array.get(), 0, std::size_t(count) * sizeof(T), cuda::stream()));
  return array;
}

}  // namespace quadrille::eigen
