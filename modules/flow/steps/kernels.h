// How the dispatcher (steps_cpu.cpp) reaches the kernels of each instruction set: plain data only.
#pragma once

#include "core/gauge/around/link_blocks.h"
#include "core/simd/of_isa.h"

#include <cstdint>

namespace quadrille::flow {

/// A stage of the integrator: y = - z P(U A) + carry y, U = exp(y) U (algebra.h).
struct Stage {
  double z, carry;
};

/// Links in double with 18 numbers in the vector layout: read from `from`, of whose blocks of a parity those from begin
/// to end are written to `to`, [block][direction][18][lane]. y: [block][direction][8][lane], overwritten.
using StageKernel = void (*)(const LinkBlocks& from, const Stage& stage, int parity, std::int64_t begin,
                             std::int64_t end, double* to, double* y);

/// The kernel for so many lanes, or null when this instruction set has none.
QUADRILLE_DECLARE_FOR_ISAS(StageKernel, find_stage, (int lanes))

}  // namespace quadrille::flow
