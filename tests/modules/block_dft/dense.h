// What the tests of block-sparse matrices share. Dense matrices are row-major, their products three naive loops in
// double.
#pragma once

#include "core/error.h"
#include "modules/block_dft/random_blocks.h"
#include "tests/random_seed.h"

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

}  // namespace quadrille::block_dft::testing
