// What the memories of the device give to kernels, and the link to the host.
#include "core/backend/cuda/owned.h"
#include "modules/block_dft/matrix/cuda/launch.cuh"

#include <algorithm>
#include <utility>

namespace quadrille::block_dft {
namespace {

constexpr int threads = 512, blocks_of_processor = 4, in_flight = 8;

/// Reads all of `numbers` `rounds` times; the sum keeps the loads from being left out.
__global__ void __launch_bounds__(threads)
    read_numbers(const double2* numbers, std::int64_t count, int rounds, double* sum) {
  const std::int64_t stride = std::int64_t(gridDim.x) * blockDim.x;
  double of_thread = 0;
  for (int round = 0; round < rounds; ++round) {
    for (std::int64_t k = thread_number(); k < count; k += in_flight * stride) {
      double2 read[in_flight];
#pragma unroll
      for (int n = 0; n < in_flight; ++n) {
        read[n] = k + n * stride < count ? __ldcg(numbers + k + n * stride) : double2{0, 0};
      }
#pragma unroll
      for (int n = 0; n < in_flight; ++n) of_thread += read[n].x + read[n].y;
    }
  }
  if (of_thread == 0.5) *sum = of_thread;
}

/// Of work on the backend's stream.
template <class Work>
double least_seconds(int repeats, Work work) {
  cudaEvent_t began = nullptr, ended = nullptr;
  QUADRILLE_CUDA_CHECK(cudaEventCreate(&began));
  QUADRILLE_CUDA_CHECK(cudaEventCreate(&ended));
  float least = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    QUADRILLE_CUDA_CHECK(cudaEventRecord(began, cuda::stream()));
    work();
    QUADRILLE_CUDA_CHECK(cudaEventRecord(ended, cuda::stream()));
    QUADRILLE_CUDA_CHECK(cudaEventSynchronize(ended));
    float milliseconds = 0;
    QUADRILLE_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, began, ended));
    least = repeat == 0 ? milliseconds : std::min(least, milliseconds);
  }
  cudaEventDestroy(began);
  cudaEventDestroy(ended);
  return 1e-3 * double(least);
}

double rate_of(std::int64_t bytes, int rounds) {
  constexpr int repeats = 5;
  const std::int64_t count = bytes / std::int64_t(sizeof(double2));
  const auto numbers = device_array<double2>(count);
  const auto sum = device_array<double>(1);
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(numbers.get(), 0, std::size_t(bytes), cuda::stream()));
  int device = 0, processors = 0;
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
  QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  return double(bytes) * rounds / least_seconds(repeats, [&] {
           read_numbers<<<unsigned(processors * blocks_of_processor), threads, 0, cuda::stream()>>>(
               numbers.get(), count, rounds, sum.get());
         });
}

/// Of a copy, the fastest of a few.
double copy_rate(cudaMemcpyKind kind) {
  constexpr int repeats = 3;
  constexpr std::int64_t bytes = std::int64_t(1) << 30;
  const auto there = device_array<std::byte>(bytes);
  const cuda::PinnedMemory here = cuda::make_pinned(bytes, cudaHostAllocDefault, "measuring the link to the GPU");
  void *to = there.get(), *from = here.get();
  if (kind == cudaMemcpyDeviceToHost) std::swap(to, from);
  return double(bytes) /
         least_seconds(repeats, [&] { QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, kind, cuda::stream())); });
}

}  // namespace

DeviceLinkRates device_link_rates() { return {copy_rate(cudaMemcpyHostToDevice), copy_rate(cudaMemcpyDeviceToHost)}; }

DeviceMemoryRates device_memory_rates() {
  int device = 0, cache = 0;
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
  QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device));
  constexpr int cache_rounds = 100, times_cache = 64;
  return {rate_of(std::int64_t(cache) * times_cache, 1), rate_of(cache / 4, cache_rounds)};
}

}  // namespace quadrille::block_dft
