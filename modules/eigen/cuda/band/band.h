// Reduction of a Hermitian matrix to a band of `bandwidth`: Q1^H A Q1.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "modules/eigen/cuda/bulge/bulge.h"

#include <cstdint>

namespace quadrille::eigen {

/// A band and the reflections that made it.
template <class T>
struct Band {
  cuda::DeviceArray<T> band;  ///< 2 b x n: element (c + d, c) at d + c 2 b, zero for d > b
  cuda::DeviceArray<T> tau;   ///< n: of the reflections, whose vectors are in A
};

/// A: n x n with both halves, overwritten: below the diagonal of each panel's R it has the vectors (without their unit)
/// that apply_q1 takes. Panels of b columns are factored by Householder reflections; the rest of A takes their
/// updates 1,024 columns at a time (double blocking), each as Y Z^H + Z Y^H (LAPACK's sytrd, by blocks).
template <class T>
Band<T> reduce_to_band(std::int64_t n, T* a, std::int64_t lda);

/// Bytes that reduce_to_band takes besides A.
template <class T>
double band_bytes(std::int64_t n);

/// Bytes that apply_q1 takes.
template <class T>
double q1_bytes(std::int64_t n, std::int64_t count);

/// E (n x count) := Q1 E.
template <class T>
void apply_q1(std::int64_t n, const T* a, std::int64_t lda, const T* tau, T* e, std::int64_t lde, std::int64_t count);

}  // namespace quadrille::eigen
