// What the eigenproblem on a GPU asks of the GPU and of the host's memory: arithmetic that needs neither.
#pragma once

#include "core/api.h"
#include "modules/eigen/problem.h"

#include <cstdint>

namespace quadrille::eigen {

/// Of a GPU: its multiprocessors, and the bytes of shared memory that a block may have.
struct DeviceLimits {
  int processors = 0, shared_bytes = 0;
};

/// Rows of a panel that one multiprocessor keeps in its registers.
constexpr std::int64_t panel_rows_of_processor = 640;

/// Bytes of shared memory that a block of any kernel takes at most: those of bulge chasing, two tiles of 64 x 65
/// numbers and 12 of 64 (real: 20), and its static variables.
template <class T>
constexpr int most_shared_bytes = (2 * 64 * 65 + (sizeof(T) == 8 ? 20 : 12) * 64) * int(sizeof(T)) + 64;

/// Throws ErrorCode::unsupported where a GPU of these limits cannot solve problems of n rows.
template <class T>
QUADRILLE_API void require_limits(std::int64_t n, const DeviceLimits& device);

/// Bytes of the host's memory for a problem that is solved on a GPU: A and B, which stay as they are, the vectors, and
/// what check_on_gpu() takes.
template <class T>
QUADRILLE_API double host_bytes(std::int64_t n, const Fraction& fraction, bool generalized, bool check);

}  // namespace quadrille::eigen
