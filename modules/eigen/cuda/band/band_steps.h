// Steps of the reduction to a band, for one GPU and for several.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "modules/eigen/cuda/bulge/bulge.h"

#include <cstdint>

namespace quadrille::eigen {

/// Columns at most whose updates the rest of A takes at once.
constexpr std::int64_t deferred = 1024;

/// What the panels of one block of columns, `deferred` at most, leave for the rest of A. Y and Z may have another
/// leading dimension than n, which the functions below are given.
template <class T>
struct Workspace {
  Workspace(std::int64_t n, std::int64_t columns);
  cuda::DeviceArray<T> y, z;  ///< n x columns
  cuda::DeviceArray<T> w;     ///< n x b
  cuda::DeviceArray<T> s, t;  ///< b x b
  cuda::DeviceArray<T> x;     ///< deferred x b
  cuda::DeviceArray<T> partial;
  cuda::DeviceArray<unsigned> arrived;
};

/// Factors the panel of A at this place, into Y (leading dimension ldy) and tau.
template <class T>
void factor_columns(T* a, std::int64_t lda, std::int64_t rows, T* y, std::int64_t ldy, T* tau,
                    const Workspace<T>& work);

/// T of the panel whose vectors are y, and W = Y T; y and w have the leading dimension n.
template <class T>
void form_w(std::int64_t n, std::int64_t rows, const T* y, const T* tau, const Workspace<T>& work, T* w);

/// Z = P - Y (W^H P) / 2 with P = A W, where A still lacks the updates Y Z^H + Z Y^H of `before` columns; Z is A W
/// without them before.
template <class T>
void form_z(std::int64_t n, std::int64_t first, std::int64_t before, const Workspace<T>& work);

/// The columns of the next panel, whose first row is `first`, take the updates of `done` columns.
template <class T>
void update_columns(std::int64_t n, std::int64_t first, std::int64_t done, T* next, std::int64_t lda,
                    const Workspace<T>& work);

/// `count` columns of the band from as many of A (n rows), of which the first is column `first`.
template <class T>
void take_band(std::int64_t n, std::int64_t first, std::int64_t count, const T* a, std::int64_t lda, T* band);

}  // namespace quadrille::eigen
