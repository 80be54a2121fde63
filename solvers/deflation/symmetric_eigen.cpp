#include "solvers/deflation/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace quadrille {

namespace {

/// (x, y) turned by an angle, along two lines.
void rotate(double* x, double* y, std::size_t n, std::size_t stride, double c, double s) {
  for (std::size_t i = 0; i < n; ++i) {
    const double a = x[i * stride], b = y[i * stride];
    x[i * stride] = c * a - s * b;
    y[i * stride] = s * a + c * b;
  }
}

}  // namespace

std::vector<double> symmetric_eigen(std::vector<double> matrix, std::size_t n, std::vector<double>& vectors) {
  double* const a = matrix.data();
  std::vector<double> v(n * n);
  for (std::size_t i = 0; i < n; ++i) v[i * n + i] = 1;
  double size = 0;
  for (const double x : matrix) size += x * x;
  constexpr int most_sweeps = 50;
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    double off = 0;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) off += a[p * n + q] * a[p * n + q];
    }
    constexpr double unit = std::numeric_limits<double>::epsilon();
    if (!(off > unit * unit * size)) break;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        const double element = a[p * n + q];
        if (element == 0) continue;
        const double theta = (a[q * n + q] - a[p * n + p]) / (2 * element);
        const double t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        rotate(a + p * n, a + q * n, n, 1, c, s);
        rotate(a + p, a + q, n, n, c, s);
        rotate(v.data() + p * n, v.data() + q * n, n, 1, c, s);
      }
    }
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return a[i * n + i] != a[j * n + j] ? a[i * n + i] < a[j * n + j] : i < j;
  });
  std::vector<double> values(n);
  vectors.resize(n * n);
  for (std::size_t k = 0; k < n; ++k) {
    values[k] = a[order[k] * n + order[k]];
    std::copy_n(v.data() + order[k] * n, n, vectors.data() + k * n);
  }
  return values;
}

}  // namespace quadrille
