// Gamma matrices as plain 4 x 4 matrices, from the Pauli matrices, and products of them: the references of
// contractions.
#pragma once

#include "core/dims.h"

#include <array>
#include <string>

namespace quadrille::testing {

using Dense = std::array<std::array<Complex, 4>, 4>;

inline Dense operator*(const Dense& a, const Dense& b) {
  Dense out{};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 4; ++k) out[i][k] += a[i][j] * b[j][k];
  return out;
}

inline Dense dense_adjoint(const Dense& a) {
  Dense out{};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) out[j][i] = std::conj(a[i][j]);
  return out;
}

/// gamma_mu for mu = 0..3 (x..t) in the DeGrand-Rossi basis: [[0, i s], [-i s, 0]] with s = (s_1, -s_2, s_3), and
/// gamma_t = [[0, 1], [1, 0]].
inline Dense dense_direction(int mu) {
  const Complex i(0, 1);
  const std::array<std::array<std::array<Complex, 2>, 2>, 4> upper = {
      {{{{0, i}, {i, 0}}}, {{{0, -1}, {1, 0}}}, {{{i, 0}, {0, -i}}}, {{{1, 0}, {0, 1}}}}};
  Dense out{};
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t b = 0; b < 2; ++b) {
      out[a][b + 2] = upper[std::size_t(mu)][a][b];
      out[b + 2][a] = std::conj(out[a][b + 2]);
    }
  return out;
}

/// Of a name such as "gxgt", "gtg5", "1".
inline Dense dense_gamma(const std::string& name) {
  Dense out{};
  for (std::size_t a = 0; a < 4; ++a) out[a][a] = 1;
  const Dense five = dense_direction(0) * dense_direction(1) * dense_direction(2) * dense_direction(3);
  for (std::size_t k = 1; k < name.size(); k += 2)
    out = out * (name[k] == '5' ? five : dense_direction(int(std::string("xyzt").find(name[k]))));
  return out;
}

}  // namespace quadrille::testing
