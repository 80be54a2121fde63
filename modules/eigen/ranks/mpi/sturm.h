// Whether numbers are the eigenvalues of a symmetric tridiagonal matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace quadrille::eigen {

/// |T|, the largest sum of magnitudes in a row; e[i] is beside d[i] and d[i + 1].
inline double tridiagonal_norm(const std::vector<double>& d, const std::vector<double>& e) {
  double norm = 0;
  for (std::size_t i = 0; i < d.size(); ++i) {
    norm = std::max(norm, std::abs(d[i]) + (i > 0 ? std::abs(e[i - 1]) : 0) + (i + 1 < d.size() ? std::abs(e[i]) : 0));
  }
  return norm;
}

/// How many eigenvalues are below x: the negative pivots of T - x.
inline std::size_t eigenvalues_below(const std::vector<double>& d, const std::vector<double>& e, double x) {
  std::size_t count = 0;
  double pivot = 1;
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (std::abs(pivot) < std::numeric_limits<double>::min()) pivot = -std::numeric_limits<double>::min();
    pivot = d[i] - x - (i > 0 ? e[i - 1] * e[i - 1] / pivot : 0);
    count += pivot < 0 ? 1 : 0;
  }
  return count;
}

/// Whether the values number `first`, `first` + `step`, ... are each within n eps |T| of the eigenvalue of that number.
inline bool are_eigenvalues(const std::vector<double>& d, const std::vector<double>& e,
                            const std::vector<double>& values, std::size_t first, std::size_t step) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  const double within =
      std::max(10.0, double(d.size())) * eps * tridiagonal_norm(d, e) + std::numeric_limits<double>::min();
  for (std::size_t k = first; k < values.size(); k += step) {
    if (!std::isfinite(values[k]) || eigenvalues_below(d, e, values[k] - within) > k ||
        eigenvalues_below(d, e, values[k] + within) <= k) {
      return false;
    }
  }
  return true;
}

}  // namespace quadrille::eigen
