// How the sparse products reach the kernels of each instruction set: plain data only.
#pragma once

#include <cstdint>

namespace quadrille::mgemm {

/// Columns of the dense matrix that are worked on at once.
constexpr int large_lanes = 32;

/// c[lane * lane_step] += alpha sum_e values[e] packed[slots[e] * large_lanes + lane], e in [0, count), for the first
/// `lanes` lanes.
using AddRow = void (*)(const double* packed, const std::int32_t* slots, const double* values, std::int32_t count,
                        double alpha, double* c, std::int64_t lane_step, int lanes);

AddRow find_add_row_generic();
AddRow find_add_row_avx2();
AddRow find_add_row_avx512();

}  // namespace quadrille::mgemm
