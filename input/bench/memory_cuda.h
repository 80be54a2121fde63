// One pass over arrays in a GPU's memory, asked for on the backend's stream.
#pragma once

#include <cstdint>

namespace quadrille::bench {

enum class MemoryPass { Read, Copy, Triad };

/// Read: the sum of a; Copy: b = a; Triad: c = a + b / 2. Arrays of `bytes` bytes.
void cuda_memory_pass(MemoryPass pass, double* a, double* b, double* c, std::int64_t bytes);

}  // namespace quadrille::bench
