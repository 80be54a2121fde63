// 4 x 4 matrices of spins, in the DeGrand-Rossi basis.
#pragma once

#include "core/dims.h"
#include "input/contractions/gamma.h"

#include <array>
#include <string>

namespace quadrille {

using SpinMatrix = std::array<std::array<Complex, 4>, 4>;

/// `factor` times the gamma matrix of this name.
inline SpinMatrix of_gamma(const std::string& name, Complex factor = 1) {
  constexpr Complex powers[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  const Gamma gamma = gamma_named(name);
  SpinMatrix out{};
  for (std::size_t row = 0; row < 4; ++row)
    out[row][std::size_t(gamma.column[row])] = factor * powers[gamma.power[row]];
  return out;
}

inline SpinMatrix operator+(SpinMatrix a, const SpinMatrix& b) {
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) a[i][j] += b[i][j];
  return a;
}

inline SpinMatrix operator*(const SpinMatrix& a, const SpinMatrix& b) {
  SpinMatrix out{};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 4; ++k) out[i][k] += a[i][j] * b[j][k];
  return out;
}

}  // namespace quadrille
