// How the sparse products reach the kernels of each instruction set: plain data only.
#pragma once

#include "core/simd/of_isa.h"

#include <cstdint>

namespace quadrille::mgemm {

/// Columns of the dense matrix that are worked on at once.
constexpr int large_lanes = 16;

/// result[lane] = alpha sum_e values[e] packed[slots[e] * large_lanes + lane], e in [0, count).
using MultiplyRow = void (*)(const double* packed, const std::int32_t* slots, const double* values, std::int32_t count,
                             double alpha, double* result);

QUADRILLE_DECLARE_FOR_ISAS(MultiplyRow, find_multiply_row, ())

}  // namespace quadrille::mgemm
