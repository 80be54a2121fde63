// What is done to the triangle of a Hermitian matrix before LAPACK has it; matrices are stored by columns.
#pragma once

#include "modules/eigen/problem.h"

#include <cstdint>
#include <string>

namespace quadrille::eigen {

/// Fills the lower triangle from the upper one where that is the one that counts.
template <class T>
void fill_lower(std::int64_t n, T* a, std::int64_t lda, Triangle triangle);

/// Scales the lower triangle by a power of 2 such that no product in what follows leaves the range of doubles, and
/// returns its exponent e: A was 2^e times what it is now. e is 0 for all but extreme matrices, and even, so that 2^e
/// has a root. Errors: ErrorCode::numerical, naming `name` and the place, for an element that is not finite;
/// ErrorCode::invalid_input for a diagonal element that is not real. `given`: the half that the caller had, in which
/// the place is.
template <class T>
int scale_lower(std::int64_t n, T* a, std::int64_t lda, const std::string& name, Triangle given = Triangle::lower);

}  // namespace quadrille::eigen
