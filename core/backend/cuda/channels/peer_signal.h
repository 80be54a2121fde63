// Words that ranks on devices of one host leave in each other's memory.
#pragma once

#include <cuda_runtime.h>

#include <array>

namespace quadrille::cuda {

constexpr int most_signals = 8;

/// Writes `number` to counters[0..count), which may be in another device's memory, when all work queued so far on
/// `stream` before has been done and is seen there.
void signal(const std::array<unsigned*, most_signals>& counters, int count, unsigned number, cudaStream_t stream);

}  // namespace quadrille::cuda
