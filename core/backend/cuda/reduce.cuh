// Deterministic sums over a grid of blocks of `threads` threads, a power of two from 64 on: a binary tree over the
// threads of each block, then the last block to finish adds the blocks' sums: thread i those of the blocks i,
// i + threads, ..., and again a tree.
#pragma once

#include "core/backend/cuda/runtime.h"

namespace quadrille::cuda {

/// The sum over the threads of a block, in thread 0.
template <int threads>
__device__ __forceinline__ double sum_over_block(double value, double* of_warps) {
  constexpr int warps = threads / 32;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warps[threadIdx.x % warps];
#pragma unroll
  for (int distance = warps / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  __syncthreads();  // of_warps may be used again
  return value;
}

/// Sums mine[0..count) over all threads of the grid, once in a kernel; finish_reduction() gives them to the host.
template <int count, int threads>
__device__ __forceinline__ void reduce(const double* mine, const Reduction& reduction) {
  __shared__ double of_warps[threads / 32];
  __shared__ bool last;
  const unsigned blocks = gridDim.x;
  for (int s = 0; s < count; ++s) {
    const double sum = sum_over_block<threads>(mine[s], of_warps);
    if (threadIdx.x == 0) reduction.partial[s * blocks + blockIdx.x] = sum;
  }
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(reduction.blocks_done, 1u) == blocks - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int s = 0; s < count; ++s) {
    double sum = 0;
    for (unsigned block = threadIdx.x; block < blocks; block += threads) {
      sum += __ldcg(reduction.partial + s * blocks + block);
    }
    sum = sum_over_block<threads>(sum, of_warps);
    if (threadIdx.x == 0) reduction.result[s] = sum;
  }
  if (threadIdx.x == 0) {
    *reduction.blocks_done = 0;
    __threadfence_system();
    *reduction.arrived = reduction.ticket;
  }
}

}  // namespace quadrille::cuda
