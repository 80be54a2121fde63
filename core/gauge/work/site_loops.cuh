// Loops over items on the GPU, one thread per item. `Loops` of core/gauge/work/link_work_of.h.
#pragma once

#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/reduce.cuh"
#include "core/gauge/max_loc.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace quadrille {

namespace site_loops {

constexpr int threads = 128;
constexpr int chunk = 1024;        ///< items of a partial sum
constexpr int worst_blocks = 512;  ///< at most, of a search

template <class Body>
__global__ void __launch_bounds__(threads) run_items(const __grid_constant__ Body body, std::int64_t count) {
  const std::int64_t item = std::int64_t(blockIdx.x) * threads + threadIdx.x;
  if (item < count) body(item);
}

template <int N, class Body>
__global__ void __launch_bounds__(threads) sum_items(const __grid_constant__ Body body, std::int64_t count,
                                                     const __grid_constant__ cuda::Reduction reduction) {
  const std::int64_t begin = std::int64_t(blockIdx.x) * chunk, end = begin + chunk < count ? begin + chunk : count;
  double sums[N] = {};
  for (std::int64_t item = begin + threadIdx.x; item < end; item += threads) body(item, sums);
  cuda::reduce<N, threads>(sums, reduction);
}

/// The worst of each block, [block][N].
template <int N, class Body>
__global__ void __launch_bounds__(threads)
    search_items(const __grid_constant__ Body body, std::int64_t count, MaxLoc* of_blocks) {
  __shared__ MaxLoc all[threads];
  MaxLoc mine[N];
  for (std::int64_t item = std::int64_t(blockIdx.x) * threads + threadIdx.x; item < count;
       item += std::int64_t(gridDim.x) * threads) {
    body(item, mine);
  }
  for (int n = 0; n < N; ++n) {
    all[threadIdx.x] = mine[n];
    for (int half = threads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (int(threadIdx.x) < half) {
        all[threadIdx.x].reduce(all[threadIdx.x + half].value, all[threadIdx.x + half].item);
      }
    }
    if (threadIdx.x == 0) of_blocks[blockIdx.x * N + n] = all[0];
    __syncthreads();
  }
}

inline std::int64_t blocks_for(std::int64_t count, std::int64_t of_block) { return (count + of_block - 1) / of_block; }

}  // namespace site_loops

struct DeviceLoops {
  template <class View, class F>
  static void with_layout(const View&, F&& f) {
    f(std::true_type{});
  }
  template <class Body>
  static void run(std::int64_t count, const Body& body) {
    site_loops::run_items<<<unsigned(site_loops::blocks_for(count, site_loops::threads)), site_loops::threads, 0,
                            cuda::stream()>>>(body, count);
    cuda::check(cudaGetLastError(), "the launch of work on sites");
  }
  template <int N, class Body>
  static std::array<double, N> sums(std::int64_t count, const Body& body) {
    const std::int64_t blocks = site_loops::blocks_for(count, site_loops::chunk);
    const cuda::Reduction reduction = cuda::begin_reduction(std::size_t(blocks), N);
    site_loops::sum_items<N><<<unsigned(blocks), site_loops::threads, 0, cuda::stream()>>>(body, count, reduction);
    cuda::check(cudaGetLastError(), "the launch of sums over sites");
    std::array<double, N> sums{};
    cuda::finish_reduction(reduction, sums.data(), N);
    return sums;
  }
  template <int N, class Body>
  static std::array<MaxLoc, N> worst(std::int64_t count, const Body& body) {
    const std::int64_t blocks =
        std::min<std::int64_t>(site_loops::worst_blocks, site_loops::blocks_for(count, site_loops::threads));
    const cuda::DeviceArray<MaxLoc> of_blocks(blocks * N, "a search", "use a smaller lattice");
    site_loops::search_items<N>
        <<<unsigned(blocks), site_loops::threads, 0, cuda::stream()>>>(body, count, of_blocks.get());
    cuda::check(cudaGetLastError(), "the launch of a search in sites");
    std::array<MaxLoc, N> all{};
    const std::vector<MaxLoc> found = cuda::fetched(of_blocks.get(), of_blocks.count());
    for (std::size_t k = 0; k < found.size(); ++k) all[k % N].reduce(found[k].value, found[k].item);
    return all;
  }
};

}  // namespace quadrille
