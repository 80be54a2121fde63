#include "core/backend/cuda/lane.h"

#include "core/backend/cuda/runtime.h"
#include "core/error.h"

#include <atomic>
#include <cstring>

namespace quadrille::cuda {

CudaLane::CudaLane(CudaBackend& home) : home_(home), stream_(make_stream()) {
  constexpr std::size_t after_result = most_sums * sizeof(double), arrival_bytes = 2 * after_result;
  arrivals_ = make_pinned(arrival_bytes, cudaHostAllocMapped, "the results of sums");
  std::memset(arrivals_.get(), 0, arrival_bytes);
  reduction_.result = reinterpret_cast<double*>(arrivals_.get());
  reduction_.arrived = reinterpret_cast<unsigned*>(arrivals_.get() + after_result);
}

CudaLane::~CudaLane() {
  for (void* memory : {static_cast<void*>(reduction_.partial), static_cast<void*>(reduction_.blocks_done)}) {
    if (memory != nullptr) (void)cudaFreeAsync(memory, stream());
  }
}

Reduction CudaLane::begin_reduction(std::size_t blocks, int sums) {
  if (reduction_.blocks_done == nullptr) {
    reduction_.blocks_done = static_cast<unsigned*>(take(sizeof(unsigned), "counting blocks", field_advice));
    QUADRILLE_CUDA_CHECK(cudaMemsetAsync(reduction_.blocks_done, 0, sizeof(unsigned), stream()));
  }
  const std::size_t wanted = blocks * std::size_t(sums);
  if (wanted > partial_sums_) {
    if (reduction_.partial != nullptr) (void)cudaFreeAsync(reduction_.partial, stream());
    reduction_.partial = nullptr;
    partial_sums_ = 0;
    reduction_.partial = static_cast<double*>(take(wanted * sizeof(double), "a sum", field_advice));
    partial_sums_ = wanted;
  }
  ++reduction_.ticket;
  return reduction_;
}

// Looking at memory that the device writes takes a few microseconds less than waiting for the stream. Now and then the
// stream is asked all the same, so that an error ends the wait.
void CudaLane::finish_reduction(const Reduction& reduction, double* sums, int count) const {
  for (unsigned looks = 1; *reduction.arrived != reduction.ticket; ++looks) {
    if (looks % 65536 != 0) continue;
    const cudaError_t status = cudaStreamQuery(stream());
    if (status == cudaErrorNotReady) continue;
    check(status, "a kernel with sums");
    if (*reduction.arrived != reduction.ticket) {
      throw Error(ErrorCode::internal, "a CUDA kernel ended without its sums");
    }
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  for (int s = 0; s < count; ++s) sums[s] = reduction.result[s];
}

}  // namespace quadrille::cuda
