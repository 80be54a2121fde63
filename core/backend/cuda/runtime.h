// What host and device code of this backend share: the stream, errors, and where sums arrive.
#pragma once

#include "core/api.h"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace quadrille::cuda {

/// Throws ErrorCode::unsupported naming the call when `status` is an error ("cudaMemcpyAsync: an illegal memory ..."),
/// and how much of the device's memory is free when there is too little.
QUADRILLE_API void check(cudaError_t status, const char* call);

/// What memory is needed for.
struct MemoryNeed {
  std::size_t bytes = 0;  ///< 0: not known
  const char* what;       ///< "a field"
  std::string advice;     ///< what could be done
  bool of_host = false;   ///< pinned memory of the host, not the device's
};
/// check() of a call that takes memory: where there is none, the error says the bytes needed and free, what needs them
/// and the advice.
QUADRILLE_API void check_memory(cudaError_t status, const char* call, const MemoryNeed& need);
/// "1024 of 4096 bytes are free on the GPU NVIDIA H200"; "the free memory ... is not known" where it does not answer.
QUADRILLE_API std::string free_device_memory();

/// The stream that this thread asks for everything on: that of its lane (UseLane, core/backend/backend.h).
QUADRILLE_API cudaStream_t stream();

/// Memory of the backend's pool for work on that stream; its bytes are left as they are. Throws ErrorCode::unsupported
/// with the bytes needed and free, saying what needs them and what could be done, when there is none.
QUADRILLE_API void* take(std::size_t bytes, const char* what, const char* advice);
/// Frees it when the work queued on the stream so far is done.
QUADRILLE_API void give_back(void* memory) noexcept;
/// What take() could have at most.
QUADRILLE_API std::size_t available_bytes();

/// Sums of one kernel on their way to the host: partial sums of the blocks, combined by the last block to finish, which
/// writes the result and then `ticket` into memory that the host sees.
struct Reduction {
  double* partial;             ///< on the device: [sum][block]
  unsigned* blocks_done;       ///< on the device: 0 between kernels
  volatile double* result;     ///< pinned
  volatile unsigned* arrived;  ///< pinned
  unsigned ticket;
};

/// Sums that one kernel gives to the host.
constexpr int most_sums = 16;
/// A reduction over `blocks` blocks of `sums` sums; one at a time in a lane.
QUADRILLE_API Reduction begin_reduction(std::size_t blocks, int sums);
/// Waits for it and gives sums[0..count). Errors of the device surface here.
QUADRILLE_API void finish_reduction(const Reduction& reduction, double* sums, int count);

}  // namespace quadrille::cuda

#define QUADRILLE_CUDA_CHECK(call) ::quadrille::cuda::check((call), #call)
