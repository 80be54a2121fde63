// The Cholesky factor of B, kept for all matrices A of problems A x = lambda B x with the same B.
#pragma once

#include "core/api.h"
#include "modules/eigen/problem.h"

#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::eigen {

/// B = L L^H for a positive definite B.
template <class T>
class QUADRILLE_API Factor {
 public:
  /// Takes B over: n x n by columns; `name`: of B, for messages. Errors: ErrorCode::numerical if B is not positive
  /// definite, naming the first leading submatrix that is not, and for elements that are not finite.
  Factor(std::int64_t n, std::vector<T> b, Triangle triangle, const std::string& name = "B");

  std::int64_t n() const { return n_; }
  /// What its making took.
  const Phase& made() const { return made_; }

  /// A := L^-1 A L^-H, of which the lower triangles count, but for a factor: A is 2^exponent() times what it would be.
  void to_standard(T* a, std::int64_t lda) const;
  /// X := L^-H X for `count` columns.
  void back_to_general(T* x, std::int64_t ldx, std::int64_t count) const;
  /// B is 2^exponent() L L^H for the L that is kept.
  int exponent() const { return exponent_; }
  /// 2^-exponent() B, both halves, n x n: what L L^H is up to rounding.
  std::vector<T> matrix() const;

 private:
  std::int64_t n_;
  std::vector<T> l_;         ///< above its diagonal B
  std::vector<T> diagonal_;  ///< of B
  int exponent_ = 0;
  Phase made_;
};

}  // namespace quadrille::eigen
