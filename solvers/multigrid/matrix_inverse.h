// The inverse of a small complex matrix.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <utility>
#include <vector>

namespace quadrille::multigrid {

/// Overwrites the n x n matrix, [column][row][re, im], by its inverse, in double: Gauss-Jordan elimination, the pivot
/// of a step the largest of its column. False, and numbers that mean nothing, where there is none.
template <class T>
bool invert(T* matrix, int n) {
  using Number = std::complex<double>;
  const std::size_t size = std::size_t(n);
  std::vector<Number> m(size * size);
  std::vector<std::size_t> exchanged(size);
  const auto at = [&](std::size_t row, std::size_t column) -> Number& { return m[row * size + column]; };
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t column = 0; column < size; ++column) {
      const T* from = matrix + 2 * (column * size + row);
      at(row, column) = {double(from[0]), double(from[1])};
    }
  }
  const auto product = [](const Number& a, const Number& b) {  // without the tests for NaN of operator*
    return Number(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  };
  for (std::size_t k = 0; k < size; ++k) {
    std::size_t pivot = k;
    for (std::size_t row = k + 1; row < size; ++row) {
      if (std::norm(at(row, k)) > std::norm(at(pivot, k))) pivot = row;
    }
    exchanged[k] = pivot;
    if (!(std::norm(at(pivot, k)) > 0) || !std::isfinite(std::norm(at(pivot, k)))) return false;
    for (std::size_t column = 0; column < size && pivot != k; ++column) std::swap(at(k, column), at(pivot, column));
    const Number inverse = 1.0 / at(k, k);
    at(k, k) = 1;
    for (std::size_t column = 0; column < size; ++column) at(k, column) = product(at(k, column), inverse);
    for (std::size_t row = 0; row < size; ++row) {
      if (row == k) continue;
      const Number factor = at(row, k);
      at(row, k) = 0;
      for (std::size_t column = 0; column < size; ++column) at(row, column) -= product(factor, at(k, column));
    }
  }
  for (std::size_t k = size; k-- > 0;) {
    for (std::size_t row = 0; row < size && exchanged[k] != k; ++row) std::swap(at(row, k), at(row, exchanged[k]));
  }
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t column = 0; column < size; ++column) {
      T* to = matrix + 2 * (column * size + row);
      to[0] = T(at(row, column).real());
      to[1] = T(at(row, column).imag());
    }
  }
  return true;
}

}  // namespace quadrille::multigrid
