// Deterministic sums over a grid of blocks of `threads` threads, a power of two from 64 on: a binary tree over the
// threads of each block, then the last block to finish adds the blocks' sums: thread i those of the blocks i,
// i + threads, ..., and again a tree.
#pragma once

#include "core/backend/cuda/channels/rank_boxes.h"
#include "core/backend/cuda/runtime.h"

namespace quadrille::cuda {

/// The sums over the threads of a block, in all of them; all together, since each step waits for the one before.
template <int count, int threads>
__device__ __forceinline__ void sum_over_block(double* values, double (*of_warps)[threads / 32]) {
  constexpr int warps = threads / 32;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
#pragma unroll
    for (int s = 0; s < count; ++s) values[s] += __shfl_xor_sync(0xffffffffu, values[s], distance);
  }
  if (threadIdx.x % 32 == 0) {
#pragma unroll
    for (int s = 0; s < count; ++s) of_warps[s][threadIdx.x / 32] = values[s];
  }
  __syncthreads();
#pragma unroll
  for (int s = 0; s < count; ++s) values[s] = of_warps[s][threadIdx.x % warps];
#pragma unroll
  for (int distance = warps / 2; distance > 0; distance /= 2) {
#pragma unroll
    for (int s = 0; s < count; ++s) values[s] += __shfl_xor_sync(0xffffffffu, values[s], distance);
  }
  __syncthreads();  // of_warps may be used again
}
template <int threads>
__device__ __forceinline__ double sum_over_block(double value, double* of_warps) {
  sum_over_block<1, threads>(&value, reinterpret_cast<double(*)[threads / 32]>(of_warps));
  return value;
}

/// Makes sums[0..count), which all threads of a block have, those over all ranks, added in the order of ranks.
template <int count, int threads>
__device__ __forceinline__ void sum_over_ranks(double* sums, const RankBoxes& boxes) {
  constexpr int words = 2 * count;
  static_assert(words <= most_box_words);
  __shared__ double mine[count], all[most_boxes][count];
  if (threadIdx.x == 0) {
#pragma unroll
    for (int s = 0; s < count; ++s) mine[s] = sums[s];
  }
  __syncthreads();
  const unsigned number = *boxes.done + 1, turn = number % 2;
  const auto place = [&](int sender, int word) { return (int(turn) * most_boxes + sender) * most_box_words + word; };
  for (int k = int(threadIdx.x); k < boxes.ranks * words; k += threads) {
    const int other = k / words, word = k % words;
    const unsigned half = reinterpret_cast<const unsigned*>(mine)[word];
    *static_cast<volatile RankBoxes::Word*>(boxes.of[other] + place(boxes.rank, word)) =
        RankBoxes::Word(number) << 32 | half;
    const volatile RankBoxes::Word* const box = boxes.of[boxes.rank] + place(other, word);
    RankBoxes::Word come;
    do {
      come = *box;
    } while (unsigned(come >> 32) != number);
    reinterpret_cast<unsigned*>(all[other])[word] = unsigned(come);
  }
  __syncthreads();
#pragma unroll
  for (int s = 0; s < count; ++s) {
    sums[s] = all[0][s];
    for (int rank = 1; rank < boxes.ranks; ++rank) sums[s] += all[rank][s];
  }
  if (threadIdx.x == 0) *boxes.done = number;
}

/// Sums mine[0..count) over all threads of a grid of blocks along x alone, once in a kernel. Calls join(sums) in all threads of one block,
/// which all have them, and then arrive(sums) in one thread. `block`: this block's place in the sum.
template <int count, int threads, class Join, class Arrive>
__device__ __forceinline__ void reduce(const double* mine, const Reduction& reduction, unsigned block, Join&& join,
                                       Arrive&& arrive) {
  __shared__ double of_warps[count][threads / 32];
  __shared__ bool last;
  const unsigned blocks = gridDim.x;
  double sums[count];
#pragma unroll
  for (int s = 0; s < count; ++s) sums[s] = mine[s];
  sum_over_block<count, threads>(sums, of_warps);
  if (threadIdx.x == 0) {
#pragma unroll
    for (int s = 0; s < count; ++s) reduction.partial[s * blocks + block] = sums[s];
    __threadfence();
    last = atomicAdd(reduction.blocks_done, 1u) == blocks - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
#pragma unroll
  for (int s = 0; s < count; ++s) sums[s] = 0;
  for (unsigned b = threadIdx.x; b < blocks; b += threads) {
#pragma unroll
    for (int s = 0; s < count; ++s) sums[s] += __ldcg(reduction.partial + s * blocks + b);
  }
  sum_over_block<count, threads>(sums, of_warps);
  join(sums);
  if (threadIdx.x == 0) {
    *reduction.blocks_done = 0;
    arrive(sums);
  }
}

/// Lets finish_reduction() give the sums to the host.
template <int count>
__device__ __forceinline__ void show(const double* sums, const Reduction& reduction) {
  for (int s = 0; s < count; ++s) reduction.result[s] = sums[s];
  __threadfence_system();
  *reduction.arrived = reduction.ticket;
}
template <int count, int threads>
__device__ __forceinline__ void reduce(const double* mine, const Reduction& reduction, unsigned block = blockIdx.x) {
  reduce<count, threads>(
      mine, reduction, block, [](double*) {}, [&](const double* sums) { show<count>(sums, reduction); });
}

}  // namespace quadrille::cuda
