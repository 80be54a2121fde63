// Products of matrices of 8-bit integers on matrix units. Their sums are exact, so that any algorithm gives the same
// bits and the fastest may be taken. On an H200 at its power limit what cuBLAS takes by itself was up to a fifth
// slower.
#pragma once

#include "core/api.h"

#include <cstdint>

namespace quadrille::cuda {

/// C = A^T B, all by columns on the device: A of k x m and B of k x n numbers, C of m x n sums, overwritten. m, n and k
/// are multiples of 16, the columns of A, B and C begin at multiples of 16 bytes, and |sums| < 2^31.
struct IntegerProduct {
  std::int64_t m, n, k;
  const std::int8_t* a;
  std::int64_t lda;
  const std::int8_t* b;
  std::int64_t ldb;
  std::int32_t* c;
  std::int64_t ldc;
};

/// Asks for it on the backend's stream. The first large product of about this shape (each extent up to the next power
/// of two) is done by several algorithms, two to four times by each, and waited for, unless the tuner knows the fastest
/// (core/tuning/tuning.h). Errors: ErrorCode::unsupported, from cuBLAS; ErrorCode::internal for what is not aligned.
QUADRILLE_API void multiply_integers(const IntegerProduct& product);

/// How many algorithms there are to choose from, and the product by one of them, of which cuBLAS's own choice is the
/// first: for tests. Errors: also those of an algorithm that does not take this product.
QUADRILLE_API int integer_algorithms(const IntegerProduct& product);
QUADRILLE_API void multiply_integers(const IntegerProduct& product, int algorithm);

}  // namespace quadrille::cuda
