// The loops that bench/memory.cpp times. Plain data: this header is compiled for every instruction set.
#pragma once

#include "core/simd/of_isa.h"

#include <cstdint>

namespace quadrille::bench {

/// Counts are multiples of 64, arrays are aligned to 64 bytes. Index 1 reads eight places in turn, which keeps a
/// core's prefetchers busier than one, or writes past the caches.
struct MemoryKernels {
  double (*read[2])(const double* a, std::int64_t count);
  void (*copy[2])(double* b, const double* a, std::int64_t count);
  void (*triad[2])(double* c, const double* a, const double* b, double s, std::int64_t count);
};

QUADRILLE_DECLARE_FOR_ISAS(MemoryKernels, memory_kernels, ())

}  // namespace quadrille::bench
