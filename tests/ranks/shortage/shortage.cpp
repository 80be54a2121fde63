// The linker gives the tests these functions in place of those of the libraries (--wrap).
#include "tests/ranks/shortage/shortage.h"

#ifdef QUADRILLE_TEST_GPU
#include <cuda_runtime.h>
#else
#include <new>
#endif

#include <atomic>
#include <climits>
#include <cstddef>

namespace quadrille::testing {
namespace {

constexpr int unlimited = INT_MAX;
std::atomic<int> left = unlimited;

/// Counts a piece; whether there is no more memory for it.
bool runs_out() {
  int now = left;
  while (now != unlimited && now > 0 && !left.compare_exchange_weak(now, now - 1)) {
  }
  return now == 0;
}

}  // namespace

Shortage::Shortage(int pieces) { left = pieces; }
Shortage::~Shortage() { left = unlimited; }

}  // namespace quadrille::testing

using quadrille::testing::runs_out;

#ifdef QUADRILLE_TEST_GPU

extern "C" {

cudaError_t __real_cudaMalloc(void** memory, std::size_t bytes);
cudaError_t __real_cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags);
cudaError_t __real_cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream);

cudaError_t __wrap_cudaMalloc(void** memory, std::size_t bytes) {
  return runs_out() ? cudaErrorMemoryAllocation : __real_cudaMalloc(memory, bytes);
}
cudaError_t __wrap_cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return runs_out() ? cudaErrorMemoryAllocation : __real_cudaHostAlloc(memory, bytes, flags);
}
cudaError_t __wrap_cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return runs_out() ? cudaErrorMemoryAllocation : __real_cudaMallocFromPoolAsync(memory, bytes, pool, stream);
}

}  // extern "C"

#else

namespace {
constexpr std::size_t large = 16384;  // what is smaller is not for blocks
}

extern "C" {

void* __real__Znwm(std::size_t bytes);  // operator new
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);

void* __wrap__Znwm(std::size_t bytes) {
  if (bytes >= large && runs_out()) throw std::bad_alloc();
  return __real__Znwm(bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return bytes >= large && runs_out() ? nullptr : __real_aligned_alloc(alignment, bytes);
}

}  // extern "C"

#endif
