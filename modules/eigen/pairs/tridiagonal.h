// Pairs of a real symmetric tridiagonal matrix T.
#pragma once

#include "modules/eigen/problem.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quadrille::eigen {

struct TridiagonalPairs {
  IndexRange range;
  std::vector<double> values;   ///< in rising order
  std::vector<double> all;      ///< eigenvalues, in rising order
  std::vector<double> vectors;  ///< n x count by columns, orthonormal
  std::string form;             ///< what found them
};

/// T has the diagonal d and beside it e, of which n - 1 count. `range_of`: the wanted ones, asked once with all
/// eigenvalues. All vectors, and more than a quarter of them, are those of divide and conquer; fewer those of multiple
/// relatively robust representations (MRRR), unless these are not orthonormal to 10 n eps. Errors: those of `range_of`;
/// ErrorCode::numerical where LAPACK finds no eigenvalues.
TridiagonalPairs solve_tridiagonal(const std::vector<double>& d, const std::vector<double>& e, Fraction::Kind kind,
                                   const std::function<IndexRange(const std::vector<double>&)>& range_of);

/// Bytes that it takes at most, for up to `most` vectors of T of n rows.
double tridiagonal_bytes(std::int64_t n, std::int64_t most);

}  // namespace quadrille::eigen
