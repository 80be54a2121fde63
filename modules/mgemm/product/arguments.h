// The arguments that the matrix products of this module share, as in BLAS, and how they are checked.
#pragma once

#include "modules/shared/dense/dense_view.h"

#include <cstdint>

namespace quadrille::mgemm {

enum class Order { columns, rows };  ///< how A, B and C are stored
enum class Transpose { no, yes };

/// C = alpha op(A) op(B) + beta C. op(A) is m x k, op(B) k x n, C m x n; lda, ldb and ldc are the distances of stored
/// columns (rows). C does not overlap A or B.
template <class T>
struct Gemm {
  Order order = Order::columns;
  Transpose trans_a = Transpose::no, trans_b = Transpose::no;
  std::int64_t m = 0, n = 0, k = 0;
  T alpha = 1;
  const T* a = nullptr;
  std::int64_t lda = 0;
  const T* b = nullptr;
  std::int64_t ldb = 0;
  T beta = 0;
  T* c = nullptr;
  std::int64_t ldc = 0;

  /// Whether op(A) op(B) matters at all: else A and B are not read and may be null.
  bool has_product() const { return m > 0 && n > 0 && k > 0 && alpha != T(0); }
};

/// The product with C stored by columns: rows are transposed away, C^T = op(B)^T op(A)^T.
template <class T>
struct Operands {
  DenseView<const T> a, b;
  DenseView<T> c;
  T alpha, beta;
  bool swapped;  ///< `a` is the caller's op(B)^T and `b` its op(A)^T

  std::int64_t m() const { return c.rows; }
  std::int64_t n() const { return c.cols; }
  std::int64_t k() const { return a.cols; }
};

/// Checks sizes, leading dimensions, pointers, alpha and beta. Errors: ErrorCode::invalid_input, naming the argument,
/// what it is and what it must be; nothing has been written.
template <class T>
Operands<T> check_arguments(const Gemm<T>& gemm);

/// Errors: ErrorCode::numerical, naming matrix, row and column (from 0, of the matrix as the caller stores it) of the
/// first element of A, of B, or of C if beta != 0, that is not finite. Returns the largest magnitudes of Operands::a
/// and b.
struct LargestMagnitudes {
  double a = 0, b = 0;
};
template <class T>
LargestMagnitudes check_numbers(const Gemm<T>& gemm);

/// C = beta C; beta = 0 does not read C.
template <class T>
void scale(DenseView<T> c, T beta);

}  // namespace quadrille::mgemm
