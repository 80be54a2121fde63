// cuBLAS on the backend's stream, for both kinds of numbers. Matrices are stored by columns; sizes of zero are allowed.
#pragma once

#include "modules/eigen/cuda/numbers.h"
#include "modules/shared/dense/cuda/cublas.h"

#include <cstdint>

namespace quadrille::eigen {

enum class Op { none, adjoint };
enum class Side { left, right };

inline cublasOperation_t cublas_op(Op op) { return op == Op::none ? CUBLAS_OP_N : CUBLAS_OP_C; }
inline const cuDoubleComplex* cublas_numbers(const Complex* a) { return reinterpret_cast<const cuDoubleComplex*>(a); }
inline cuDoubleComplex* cublas_numbers(Complex* a) { return reinterpret_cast<cuDoubleComplex*>(a); }

/// C = alpha op(A) op(B) + beta C for an m x n matrix C and k terms.
inline void product(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a,
                    std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc) {
  if (m == 0 || n == 0) return;
  QUADRILLE_CUBLAS_CHECK(
      cublasDgemm_64(cuda::cublas(), cublas_op(op_a), cublas_op(op_b), m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
}
inline void product(Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const Complex* a,
                    std::int64_t lda, const Complex* b, std::int64_t ldb, double beta, Complex* c, std::int64_t ldc) {
  if (m == 0 || n == 0) return;
  const cuDoubleComplex factor{alpha, 0}, old{beta, 0};
  QUADRILLE_CUBLAS_CHECK(cublasZgemm_64(cuda::cublas(), cublas_op(op_a), cublas_op(op_b), m, n, k, &factor,
                                        cublas_numbers(a), lda, cublas_numbers(b), ldb, &old, cublas_numbers(c), ldc));
}

/// Lower half of C -= A B^H + B A^H for n x n and k terms.
inline void subtract_rank_2k(std::int64_t n, std::int64_t k, const double* a, std::int64_t lda, const double* b,
                             std::int64_t ldb, double* c, std::int64_t ldc) {
  const double minus = -1, one = 1;
  if (n == 0) return;
  QUADRILLE_CUBLAS_CHECK(
      cublasDsyr2k_64(cuda::cublas(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, k, &minus, a, lda, b, ldb, &one, c, ldc));
}
inline void subtract_rank_2k(std::int64_t n, std::int64_t k, const Complex* a, std::int64_t lda, const Complex* b,
                             std::int64_t ldb, Complex* c, std::int64_t ldc) {
  const cuDoubleComplex minus{-1, 0};
  const double one = 1;
  if (n == 0) return;
  QUADRILLE_CUBLAS_CHECK(cublasZher2k_64(cuda::cublas(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, k, &minus,
                                         cublas_numbers(a), lda, cublas_numbers(b), ldb, &one, cublas_numbers(c), ldc));
}

/// Lower half of C -= A A^H for n x n and k terms.
inline void subtract_rank_k(std::int64_t n, std::int64_t k, const double* a, std::int64_t lda, double* c,
                            std::int64_t ldc) {
  const double minus = -1, one = 1;
  if (n == 0) return;
  QUADRILLE_CUBLAS_CHECK(
      cublasDsyrk_64(cuda::cublas(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, k, &minus, a, lda, &one, c, ldc));
}
inline void subtract_rank_k(std::int64_t n, std::int64_t k, const Complex* a, std::int64_t lda, Complex* c,
                            std::int64_t ldc) {
  const double minus = -1, one = 1;
  if (n == 0) return;
  QUADRILLE_CUBLAS_CHECK(cublasZherk_64(cuda::cublas(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, n, k, &minus,
                                        cublas_numbers(a), lda, &one, cublas_numbers(c), ldc));
}

/// B (m x n) := op(A)^-1 B, or B op(A)^-1, for a triangle A.
inline void solve_triangle(Side side, cublasFillMode_t fill, Op op, std::int64_t m, std::int64_t n, const double* a,
                           std::int64_t lda, double* b, std::int64_t ldb) {
  const double one = 1;
  if (m == 0 || n == 0) return;
  QUADRILLE_CUBLAS_CHECK(cublasDtrsm_64(cuda::cublas(), side == Side::left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT, fill,
                                        cublas_op(op), CUBLAS_DIAG_NON_UNIT, m, n, &one, a, lda, b, ldb));
}
inline void solve_triangle(Side side, cublasFillMode_t fill, Op op, std::int64_t m, std::int64_t n, const Complex* a,
                           std::int64_t lda, Complex* b, std::int64_t ldb) {
  const cuDoubleComplex one{1, 0};
  if (m == 0 || n == 0) return;
  QUADRILLE_CUBLAS_CHECK(cublasZtrsm_64(cuda::cublas(), side == Side::left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT, fill,
                                        cublas_op(op), CUBLAS_DIAG_NON_UNIT, m, n, &one, cublas_numbers(a), lda,
                                        cublas_numbers(b), ldb));
}

}  // namespace quadrille::eigen
