// Launches, and calls of CUB, on the backend's stream.
#pragma once

#include "core/backend/cuda/runtime.h"
#include "modules/block_dft/matrix/cuda/device_matrix.h"

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

/// A call of CUB, call(memory, bytes): first for the size of its memory.
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

/// work(item, lane, lanes) by a warp for each item.
template <class Work>
__global__ void do_work(std::int64_t items, Work work) {
  if (warp_number() < items) work(warp_number(), lane_number(), 32);
}
template <class Work>
void launch_work(std::int64_t items, const Work& work) {
  launch_warps(items, do_work<Work>, items, work);
}

/// sums[item] = the sum over lanes, in a fixed order, of work(item, lane, lanes).
template <class Work>
__global__ void add_up_work(std::int64_t items, Work work, double* sums) {
  if (warp_number() >= items) return;
  const double sum = warp_sum(work(warp_number(), lane_number(), 32));
  if (lane_number() == 0) sums[warp_number()] = sum;
}
template <class Work>
DeviceArray<double> sums_of_work(std::int64_t items, const Work& work) {
  auto sums = device_array<double>(items);
  launch_warps(items, add_up_work<Work>, items, work, sums.get());
  return sums;
}

}  // namespace quadrille::block_dft
