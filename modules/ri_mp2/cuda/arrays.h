// Arrays of this module in the device's memory.
#pragma once

#include "core/backend/cuda/device_array.h"

#include <cstdint>
#include <vector>

namespace quadrille::ri_mp2 {

constexpr const char* device_advice = "use a smaller `memory`, or free memory of the device";

template <class T>
cuda::DeviceArray<T> array(std::int64_t count, const char* what) {
  return {count, what, device_advice};
}

template <class T>
cuda::DeviceArray<T> sent(const std::vector<T>& numbers, const char* what) {
  return cuda::sent(numbers, what, device_advice);
}

}  // namespace quadrille::ri_mp2
