// The rates of a GPU's memory: the loops, one thread an element of 16 bytes.
#include "core/backend/cuda/runtime.h"
#include "input/bench/memory.h"
#include "input/bench/timing.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

namespace quadrille::bench {
namespace {

constexpr int threads = 256, per_thread = 4;

/// Calls f(i) for the elements of this block, several a thread so that more loads are under way.
template <class F>
__device__ __forceinline__ void for_each(std::int64_t count, F&& f) {
  const std::int64_t first = std::int64_t(blockIdx.x) * threads * per_thread + threadIdx.x;
#pragma unroll
  for (int k = 0; k < per_thread; ++k) {
    if (first + k * threads < count) f(first + k * threads);
  }
}

__global__ void __launch_bounds__(threads) read(const double2* a, double* result, std::int64_t count) {
  double sum = 0;
  for_each(count, [&](std::int64_t i) {
    const double2 v = __ldcs(a + i);
    sum += v.x + v.y;
  });
  if (sum == 1e300) *result = sum;  // never: the loads cannot be left out
}

__global__ void __launch_bounds__(threads) copy(double2* b, const double2* a, std::int64_t count) {
  for_each(count, [&](std::int64_t i) { __stcs(b + i, __ldcs(a + i)); });
}

__global__ void __launch_bounds__(threads)
    triad(double2* c, const double2* a, const double2* b, double s, std::int64_t count) {
  for_each(count, [&](std::int64_t i) {
    const double2 x = __ldcs(a + i), y = __ldcs(b + i);
    __stcs(c + i, make_double2(x.x + s * y.x, x.y + s * y.y));
  });
}

enum class MemoryPass { Read, Copy, Triad };

/// Read: the sum of a; Copy: b = a; Triad: c = a + b / 2. Arrays of `bytes` bytes.
void pass_over(MemoryPass pass, double* a, double* b, double* c, std::int64_t bytes) {
  const std::int64_t count = bytes / std::int64_t(sizeof(double2));
  const unsigned blocks = unsigned((count + threads * per_thread - 1) / (threads * per_thread));
  auto *x = reinterpret_cast<double2*>(a), *y = reinterpret_cast<double2*>(b), *z = reinterpret_cast<double2*>(c);
  switch (pass) {
    case MemoryPass::Read: read<<<blocks, threads, 0, cuda::stream()>>>(x, c, count); break;
    case MemoryPass::Copy: copy<<<blocks, threads, 0, cuda::stream()>>>(y, x, count); break;
    case MemoryPass::Triad: triad<<<blocks, threads, 0, cuda::stream()>>>(z, x, y, 0.5, count); break;
  }
  cuda::check(cudaGetLastError(), "the launch of a memory pass");
}

}  // namespace

MemoryRates memory_rates_cuda(Backend& backend, std::int64_t wanted) {
  const std::int64_t bytes = std::max(wanted, std::int64_t(1) << 30);
  const BackendArray a(backend, std::size_t(bytes)), b(backend, std::size_t(bytes)), c(backend, std::size_t(bytes));
  std::vector<double> numbers(1 << 20);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = double(i % 1000) * 0.1;
  for (double* array : {static_cast<double*>(a), static_cast<double*>(b)}) {
    for (std::int64_t at = 0; at < bytes / 8; at += 1 << 20) {
      backend.copy_in(array + at, numbers.data(), std::size_t(std::min<std::int64_t>(8 << 20, bytes - 8 * at)));
    }
  }
  const auto rate = [&](MemoryPass pass, int arrays) {
    const double seconds = median_seconds([&] { pass_over(pass, a, b, c, bytes); }, [&] { backend.synchronize(); },
                                          [](double seconds) { return seconds; });
    return double(arrays) * double(bytes) / seconds * 1e-9;
  };
  return {rate(MemoryPass::Read, 1), rate(MemoryPass::Copy, 2), rate(MemoryPass::Triad, 3)};
}

}  // namespace quadrille::bench
