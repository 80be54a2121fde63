// What the tests of block-sparse matrices share. Dense matrices are row-major, their products three naive loops in
// double.
#pragma once

#include "core/error.h"
#include "modules/block_dft/matrix/random_blocks.h"
#include "tests/testing/random_seed.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace quadrille::block_dft::testing {

using Dense = std::vector<double>;
using quadrille::testing::next_seed;

inline constexpr Symmetry symmetries[] = {Symmetry::none, Symmetry::symmetric, Symmetry::antisymmetric};

/// What the error says that `call` throws; "" for none.
template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The largest rounding error of an element of alpha A B + C whose factors are at most 1, of k terms.
template <class T = double>
double rounding(std::int64_t k, double alpha = 1) {
  return (std::abs(alpha) + 1) * double(k + 4) * double(k + 4) * 0.5 * std::numeric_limits<T>::epsilon();
}

template <class T>
Dense dense_of(const BlockMatrix<T>& a) {
  const std::vector<T> dense = a.to_dense();
  return {dense.begin(), dense.end()};
}

inline Dense dense_transposed(const Dense& a, std::int64_t rows, std::int64_t columns) {
  Dense out(a.size());
  for (std::int64_t p = 0; p < rows; ++p) {
    for (std::int64_t q = 0; q < columns; ++q) out[std::size_t(q * rows + p)] = a[std::size_t(p * columns + q)];
  }
  return out;
}

inline Dense dense_multiplied(const Dense& a, const Dense& b, std::int64_t m, std::int64_t k, std::int64_t n) {
  Dense c(std::size_t(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t l = 0; l < k; ++l) {
      const double left = a[std::size_t(i * k + l)];
      for (std::int64_t j = 0; j < n; ++j) c[std::size_t(i * n + j)] += left * b[std::size_t(l * n + j)];
    }
  }
  return c;
}

inline double largest_difference(const Dense& a, const Dense& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t k = 0; k < a.size() && k < b.size(); ++k) {
    if (!(std::abs(a[k] - b[k]) <= largest)) largest = std::abs(a[k] - b[k]);
  }
  return largest;
}

inline double difference_norm(const Dense& a, const Dense& b) {
  double squares = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t k = 0; k < a.size() && k < b.size(); ++k) squares += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(squares);
}

/// Sizes of a few kinds, small and large, that no register width divides.
inline BlockSizes some_sizes(std::int32_t count) {
  return random_sizes(count, {1, 2, 5, 7, 8, 13, 16, 23, 26, 33}, next_seed());
}

/// An S of eigenvalues 1 to 1 / condition, evenly in their logarithm, with eigenvectors at random; and the powers of
/// it, S^power, that its eigenvectors give.
struct IllConditioned {
  IllConditioned(const BlockSizes& block_sizes, double condition_number, std::uint64_t seed)
      : sizes(block_sizes), condition(condition_number) {
    reflectors = dense_of(random_blocks<double>(sizes, BlockSizes({count}), Symmetry::none, 1, seed));
    for (int k = 0; k < count; ++k) {
      double square = 0;
      for (std::int64_t p = 0; p < sizes.total(); ++p) square += std::pow(reflector(k, p), 2);
      for (std::int64_t p = 0; p < sizes.total(); ++p) reflector(k, p) *= std::sqrt(2 / square);
    }
  }

  /// Q diag(values) Q^T.
  BlockMatrix<double> matrix(const std::vector<double>& values) const {
    const std::int64_t n = sizes.total();
    Dense out(std::size_t(n * n));
    for (std::int64_t p = 0; p < n; ++p) out[std::size_t(p * n + p)] = values[std::size_t(p)];
    for (int side = 0; side < 2; ++side) {
      for (int k = 0; k < count; ++k) reflect(k, out);
      out = dense_transposed(out, n, n);
    }
    return BlockMatrix<double>::from_dense(out, sizes, sizes, Symmetry::symmetric);
  }

  BlockMatrix<double> power(double exponent) const {
    std::vector<double> values(std::size_t(sizes.total()));
    for (std::size_t p = 0; p < values.size(); ++p) {
      values[p] = std::pow(condition, -exponent * double(p) / double(values.size() - 1));
    }
    return matrix(values);
  }

  BlockSizes sizes;
  double condition;

 private:
  static constexpr int count = 8;
  double& reflector(int k, std::int64_t p) { return reflectors[std::size_t(p * count + k)]; }

  /// Each column c -= (v . c) v.
  void reflect(int k, Dense& a) const {
    const std::int64_t n = sizes.total();
    Dense along(static_cast<std::size_t>(n));
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = 0; q < n; ++q)
        along[std::size_t(q)] += reflectors[std::size_t(p * count + k)] * a[std::size_t(p * n + q)];
    }
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = 0; q < n; ++q)
        a[std::size_t(p * n + q)] -= reflectors[std::size_t(p * count + k)] * along[std::size_t(q)];
    }
  }

  Dense reflectors;
};

/// The overlap of equal Gaussians at equal distances, S_pq = q^((p - r)^2), which decays fast and yet has this
/// condition number (theta_3 / theta_4 of q, for an endless chain).
inline BlockMatrix<double> gaussian_chain(const BlockSizes& sizes, double condition) {
  const auto found = [](double q) {
    double all = 1, alternating = 1;
    for (int k = 1; k < 60; ++k) {
      const double term = 2 * std::pow(q, k * k);
      all += term;
      alternating += k % 2 == 0 ? term : -term;
    }
    return all / std::max(alternating, 1e-300);
  };
  double low = 0, high = 0.95;
  for (int step = 0; step < 60; ++step) (found((low + high) / 2) < condition ? low : high) = (low + high) / 2;
  const std::int64_t n = sizes.total();
  Dense out(std::size_t(n * n));
  for (std::int64_t p = 0; p < n; ++p) {
    for (std::int64_t r = 0; r < n; ++r) out[std::size_t(p * n + r)] = std::pow(low, double((p - r) * (p - r)));
  }
  return BlockMatrix<double>::from_dense(out, sizes, sizes, Symmetry::symmetric, 1e-15);
}

}  // namespace quadrille::block_dft::testing
