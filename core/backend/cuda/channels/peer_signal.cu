#include "core/backend/cuda/channels/peer_signal.h"

#include "core/backend/cuda/runtime.h"

namespace quadrille::cuda {
namespace {

struct Counters {
  unsigned* of[most_signals];
};

__global__ void write(const __grid_constant__ Counters counters, unsigned number) {
  __threadfence_system();
  *static_cast<volatile unsigned*>(counters.of[threadIdx.x]) = number;
}

}  // namespace

void signal(const std::array<unsigned*, most_signals>& counters, int count, unsigned number, cudaStream_t stream) {
  Counters to{};
  for (int k = 0; k < count; ++k) to.of[k] = counters[std::size_t(k)];
  write<<<1, unsigned(count), 0, stream>>>(to, number);
  check(cudaGetLastError(), "the launch of a signal to other ranks");
}

}  // namespace quadrille::cuda
