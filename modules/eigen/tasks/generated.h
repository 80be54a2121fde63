// Hermitian matrices for tests and measurements.
#pragma once

#include "core/api.h"

#include <complex>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quadrille::eigen {

/// Kinds, by name; ends with null:
///   random     normal random numbers
///   clement    tridiagonal, 0 on the diagonal, sqrt(k (n - k)) beside it: eigenvalues n - 1, n - 3, ..., 1 - n
///   wilkinson  Wilkinson's W21+ again and again, joined by 1e-8: clusters of eigenvalues
///   toeplitz   tridiagonal, 2 and -1: eigenvalues 2 - 2 cos(pi k / (n + 1)); positive definite
///   graded     random numbers that fall from 1 to 1e-12
///   overlap    2^-|i - j|: positive definite with a condition number of at most 9
inline constexpr const char* generated_kinds[] = {"random", "clement", "wilkinson", "toeplitz",
                                                  "graded", "overlap", nullptr};

/// Rows of the lower triangle of such a matrix.
template <class T>
class GeneratedRows {
 public:
  GeneratedRows(const std::string& kind, std::int64_t n, std::uint64_t seed);
  /// Elements (i, 0) to (i, i).
  void row(std::int64_t i, T* to) const { row_(i, to); }

 private:
  std::function<void(std::int64_t i, T* to)> row_;
};

/// n x n, both triangles. A complex one of a kind that has an exact spectrum has the same spectrum: element (i, j) has
/// the phase e^{i (phi_i - phi_j)} for random phi.
template <class T>
QUADRILLE_API std::vector<T> generated_matrix(const std::string& kind, std::int64_t n, std::uint64_t seed);

}  // namespace quadrille::eigen
