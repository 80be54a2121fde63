// How far pairs are from solving a problem.
#include "modules/eigen/lapack.h"
#include "modules/eigen/solve.h"
#include "modules/mgemm/product/blas.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace quadrille::eigen {
namespace {

constexpr std::int64_t panel = 128;  ///< columns of X at a time

/// The largest sum of magnitudes in a column of a Hermitian matrix.
template <class T>
double hermitian_norm(std::int64_t n, const T* a) {
  std::vector<double> sums(std::size_t(n), 0.0);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      const double size = std::abs(a[i + j * n]);
      sums[std::size_t(j)] += size;
      if (i != j) sums[std::size_t(i)] += size;
    }
  }
  return *std::max_element(sums.begin(), sums.end());
}

template <class T>
double column_sum(std::int64_t n, const T* x) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::abs(x[i]);
  return sum;
}

}  // namespace

template <class T>
Accuracy check_pairs(std::int64_t n, const T* a, const T* b, const Pairs<T>& pairs) {
  const mgemm::AllBlasThreads all;
  const std::int64_t count = pairs.vectors.empty() ? 0 : pairs.range.count;
  const auto size = std::size_t(n * std::min(panel, std::max<std::int64_t>(count, 1)));
  std::vector<T> ax(size), bx(size), products(size);
  double x_norm = 0, residual = 0, orthogonality = 0;
  for (std::int64_t first = 0; first < count; first += panel) {
    const std::int64_t width = std::min(panel, count - first);
    const T* const x = pairs.vectors.data() + first * n;
    lapack::multiply_hermitian(n, width, a, n, x, n, ax.data(), n);
    if (b != nullptr) {
      lapack::multiply_hermitian(n, width, b, n, x, n, bx.data(), n);
    } else {
      std::copy_n(x, width * n, bx.data());
    }
    lapack::multiply_adjoint(n, count, width, pairs.vectors.data(), bx.data(), products.data());
    for (std::int64_t j = 0; j < width; ++j) {
      products[std::size_t(first + j + j * count)] -= T(1);
      orthogonality = std::max(orthogonality, column_sum(count, products.data() + j * count));
      x_norm = std::max(x_norm, column_sum(n, x + j * n));
      const double value = pairs.values[std::size_t(first + j)];
      for (std::int64_t i = 0; i < n; ++i) ax[std::size_t(i + j * n)] -= value * bx[std::size_t(i + j * n)];
      residual = std::max(residual, column_sum(n, ax.data() + j * n));
    }
  }
  const double norm = hermitian_norm(n, a) * x_norm * double(n);
  return {norm > 0 ? residual / norm : residual, orthogonality / double(n)};
}

template Accuracy check_pairs(std::int64_t, const double*, const double*, const Pairs<double>&);
template Accuracy check_pairs(std::int64_t, const std::complex<double>*, const std::complex<double>*,
                              const Pairs<std::complex<double>>&);

}  // namespace quadrille::eigen
