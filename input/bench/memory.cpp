#include "input/bench/memory.h"

#include "core/backend/backend.h"
#include "core/simd/isa.h"
#include "input/bench/memory_cuda.h"
#include "input/bench/memory_kernels.h"
#include "input/bench/timing.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

namespace quadrille::bench {
namespace {

MemoryKernels kernels() {
  switch (active_isa()) {
#ifdef QUADRILLE_HAVE_AVX512
    case Isa::Avx512: return memory_kernels_avx512();
#endif
#ifdef QUADRILLE_HAVE_AVX2
    case Isa::Avx2: return memory_kernels_avx2();
#endif
    default: return memory_kernels_generic();
  }
}

class Array {
 public:
  Array(Backend& backend, std::size_t bytes)
      : backend_(backend), bytes_(bytes), data_(static_cast<double*>(backend.allocate(bytes))) {}
  ~Array() { backend_.release(data_, bytes_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  operator double*() const { return data_; }

 private:
  Backend& backend_;
  std::size_t bytes_;
  double* data_;
};

#ifdef QUADRILLE_HAVE_CUDA
MemoryRates cuda_rates(Backend& backend, std::int64_t wanted) {
  const std::int64_t bytes = std::max(wanted, std::int64_t(1) << 30);
  const Array a(backend, std::size_t(bytes)), b(backend, std::size_t(bytes)), c(backend, std::size_t(bytes));
  std::vector<double> numbers(1 << 20);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = double(i % 1000) * 0.1;
  for (double* array : {static_cast<double*>(a), static_cast<double*>(b)}) {
    for (std::int64_t at = 0; at < bytes / 8; at += 1 << 20) {
      backend.copy_in(array + at, numbers.data(), std::size_t(std::min<std::int64_t>(8 << 20, bytes - 8 * at)));
    }
  }
  const auto rate = [&](MemoryPass pass, int arrays) {
    const double seconds = median_seconds([&] { cuda_memory_pass(pass, a, b, c, bytes); },
                                          [&] { backend.synchronize(); }, [](double seconds) { return seconds; });
    return double(arrays) * double(bytes) / seconds * 1e-9;
  };
  return {rate(MemoryPass::Read, 1), rate(MemoryPass::Copy, 2), rate(MemoryPass::Triad, 3)};
}
#endif

MemoryRates cpu_rates(std::int64_t bytes) {
  const MemoryKernels kernel = kernels();
  Backend& backend = cpu_backend();
  const Array a(backend, std::size_t(bytes)), b(backend, std::size_t(bytes)), c(backend, std::size_t(bytes));
  const std::int64_t rows = bytes / std::int64_t(64 * sizeof(double));
  // Calls part(first, numbers) on every thread for its share of the arrays.
  const auto on_all_threads = [&](auto&& part) {
#pragma omp parallel
    {
      const std::int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
      const std::int64_t begin = rows * me / threads * 64, end = rows * (me + 1) / threads * 64;
      part(begin, end - begin);
    }
  };
  const auto rate = [&](int arrays, double seconds) { return double(arrays) * double(bytes) / seconds * 1e-9; };
  on_all_threads([&](std::int64_t first, std::int64_t n) {
    for (std::int64_t i = first; i < first + n; ++i) {
      a[i] = double(i % 1000) * 0.1;
      b[i] = 1;
    }
  });
  MemoryRates rates;
  std::atomic<double> keep = 0;  // the sums are used: the loop cannot be left out
  for (const auto read : kernel.read) {
    const auto all = [&](std::int64_t i, std::int64_t n) { keep.store(read(a + i, n), std::memory_order_relaxed); };
    rates.read = std::max(rates.read, rate(1, median_seconds([&] { on_all_threads(all); })));
  }
  for (int past_caches = 0; past_caches < 2; ++past_caches) {
    rates.copy = std::max(rates.copy, rate(2, median_seconds([&] {
                                             on_all_threads([&](std::int64_t i, std::int64_t n) {
                                               kernel.copy[past_caches](b + i, a + i, n);
                                             });
                                           })));
    rates.triad = std::max(rates.triad, rate(3, median_seconds([&] {
                                               on_all_threads([&](std::int64_t i, std::int64_t n) {
                                                 kernel.triad[past_caches](c + i, a + i, b + i, 0.5, n);
                                               });
                                             })));
  }
  return rates;
}

}  // namespace

MemoryRates memory_rates(Backend& backend, std::int64_t bytes) {
#ifdef QUADRILLE_HAVE_CUDA
  if (backend.name() == "cuda") return cuda_rates(backend, bytes);
#endif
  (void)backend;
  return cpu_rates(bytes);
}

}  // namespace quadrille::bench
