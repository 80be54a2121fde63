// Errors of the CUDA runtime in words.
#include "core/backend/cuda/runtime.h"

#include "core/error.h"
#include "core/system/memory.h"

#include <fmt/format.h>
#include <unistd.h>

namespace quadrille::cuda {
namespace {

std::string free_host_memory() {
  const auto bytes = [](int pages) { return ::sysconf(pages) * ::sysconf(_SC_PAGESIZE); };
  return fmt::format("{} of {} bytes are free in the host's memory", bytes(_SC_AVPHYS_PAGES), bytes(_SC_PHYS_PAGES));
}

/// `more` is called when memory runs out.
template <class More>
void check_or_say(cudaError_t status, const char* call, More&& more) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // an error that does not stick must not be found again by the next call
  const bool short_of_memory = status == cudaErrorMemoryAllocation;
  const std::string said = fmt::format("CUDA: {}: {} ({}){}", call, cudaGetErrorString(status),
                                       cudaGetErrorName(status), short_of_memory ? more() : std::string());
  if (short_of_memory) throw NotEnoughMemory(said);
  throw Error(ErrorCode::unsupported, said);
}

}  // namespace

std::string free_device_memory() {
  int device = 0;
  cudaDeviceProp properties{};
  std::size_t free = 0, total = 0;
  const bool named =
      cudaGetDevice(&device) == cudaSuccess && cudaGetDeviceProperties(&properties, device) == cudaSuccess;
  const bool counted = cudaMemGetInfo(&free, &total) == cudaSuccess;
  (void)cudaGetLastError();
  const std::string place = named ? fmt::format("on the GPU {}", properties.name) : "on the GPU";
  if (!counted) return fmt::format("the free memory {} is not known", place);
  return fmt::format("{} of {} bytes are free {}", free, total, place);
}

void check(cudaError_t status, const char* call) {
  check_or_say(status, call, [] { return "; " + free_device_memory(); });
}

void check_memory(cudaError_t status, const char* call, const MemoryNeed& need) {
  check_or_say(status, call, [&] {
    const std::string bytes = need.bytes == 0 ? "memory" : fmt::format("{} bytes", need.bytes);
    return fmt::format(": {} needs {}; {}; {}", need.what, bytes,
                       need.of_host ? free_host_memory() : free_device_memory(), need.advice);
  });
}

}  // namespace quadrille::cuda
