#include "input/bench/memory.h"

#include "core/backend/backend.h"
#include "core/backend/of_backend.h"
#include "core/simd/isa.h"
#include "core/simd/of_isa.h"
#include "input/bench/memory_kernels.h"
#include "input/bench/timing.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace quadrille::bench {

MemoryRates memory_rates_cpu(Backend& backend, std::int64_t bytes) {
  const MemoryKernels kernel = QUADRILLE_OF_ISA(active_isa(), memory_kernels)();
  const BackendArray a(backend, std::size_t(bytes)), b(backend, std::size_t(bytes)), c(backend, std::size_t(bytes));
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

MemoryRates memory_rates(Backend& backend, std::int64_t bytes) {
  return QUADRILLE_OF_BACKEND(backend.name(), memory_rates)(backend, bytes);
}

}  // namespace quadrille::bench
