// The halves of Hermitian matrices in the device's memory.
#pragma once

#include "modules/eigen/cuda/numbers.h"

#include <cstdint>

namespace quadrille::eigen {

/// The upper half of an n x n matrix from its lower one.
template <class T>
void fill_upper_half(std::int64_t n, T* a, std::int64_t lda);
/// The lower half from the upper one.
template <class T>
void fill_lower_half(std::int64_t n, T* a, std::int64_t lda);
/// To (columns x rows) := From^H, which is rows x columns; they do not overlap.
template <class T>
void copy_adjoint(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t ld_from, T* to,
                  std::int64_t ld_to);
/// The largest |re| or |im| of the lower half of an n x `columns` trapezoid, diagonal included; infinity or NaN if an
/// element is not finite.
template <class T>
double largest_of_lower(std::int64_t n, std::int64_t columns, const T* a, std::int64_t lda);
/// Row + n column of the first element of the lower half, by columns, that is not finite; negative for none.
template <class T>
std::int64_t first_not_finite(std::int64_t n, std::int64_t columns, const T* a, std::int64_t lda);
/// The lower half times `factor`.
template <class T>
void scale_lower_half(std::int64_t n, std::int64_t columns, T* a, std::int64_t lda, double factor);

}  // namespace quadrille::eigen
