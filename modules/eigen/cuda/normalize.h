// The last touches on eigenvectors in the device's memory.
#pragma once

#include "modules/eigen/cuda/numbers.h"

#include <cstdint>

namespace quadrille::eigen {

/// Real numbers as complex ones.
void widen(std::int64_t count, const double* from, Complex* to);

/// Columns times `factor` and a phase: the largest component becomes real and positive; of those that are as large to
/// 1e-6, the first.
template <class T>
void normalize_vectors(std::int64_t n, std::int64_t count, T* x, std::int64_t ldx, double factor);

}  // namespace quadrille::eigen
