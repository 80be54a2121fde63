// Launches, and calls of CUB, on the backend's stream.
#pragma once

#include "core/backend/cuda/runtime.h"
#include "modules/block_dft/cuda/device_matrix.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace quadrille::block_dft {

constexpr int launch_threads = 256;
constexpr unsigned all_lanes = 0xffffffffu;

/// kernel(arguments...) with a thread for each of `items`; nothing for none.
template <class... Parameters, class... Arguments>
void launch_each(std::int64_t items, void (*kernel)(Parameters...), Arguments... arguments) {
  if (items == 0) return;
  kernel<<<unsigned((items + launch_threads - 1) / launch_threads), launch_threads, 0, cuda::stream()>>>(arguments...);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}

/// With a warp for each.
template <class... Parameters, class... Arguments>
void launch_warps(std::int64_t items, void (*kernel)(Parameters...), Arguments... arguments) {
  launch_each(items * 32, kernel, arguments...);
}

/// A call of CUB, call(memory, bytes): asked for its memory first.
template <class Call>
void with_cub_memory(Call call) {
  std::size_t bytes = 0;
  QUADRILLE_CUDA_CHECK(call(nullptr, bytes));
  const auto memory = device_array<std::byte>(std::int64_t(std::max<std::size_t>(1, bytes)));
  QUADRILLE_CUDA_CHECK(call(memory.get(), bytes));
}

__device__ __forceinline__ std::int64_t thread_number() { return std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ std::int64_t warp_number() { return thread_number() / 32; }
__device__ __forceinline__ int lane_number() { return int(threadIdx.x % 32); }

template <class T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(all_lanes, value, distance);
  return value;
}

/// The row of a slot.
__device__ __forceinline__ std::int32_t row_of(const MatrixView& matrix, std::int64_t slot) {
  std::int32_t low = 0, high = matrix.rows;  // first[low] <= slot < first[high]
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (matrix.first[middle] <= slot ? low : high) = middle;
  }
  return low;
}

/// The slot of block (i, j); -1 where there is none.
__device__ __forceinline__ std::int64_t find_slot(const MatrixView& matrix, std::int32_t i, std::int32_t j) {
  std::int64_t low = matrix.first[i], high = matrix.first[i + 1];
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (matrix.column[middle] < j) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < matrix.first[i + 1] && matrix.column[low] == j ? low : -1;
}

}  // namespace quadrille::block_dft
