// Matrices on their way to the device.
#pragma once

#include "modules/eigen/cuda/chain.h"

#include <cstdint>

namespace quadrille::eigen {

/// Copies rows x columns numbers by columns from the memory of the host, through pinned buffers, or of the device to an
/// array without gaps; they have arrived when this returns.
template <class T>
void send_columns(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t ld, There<T>* to);

}  // namespace quadrille::eigen
