#include "input/contractions/removed_quark.h"

#include <cstddef>

namespace quadrille {

namespace {

using Index = std::size_t;

/// [3 i + j] for colors i of the sink and j of the source.
using ColorNumbers = std::array<Complex, 9>;
/// [sink spin][source spin]
using ColorNumbersOfSpins = std::array<std::array<ColorNumbers, 4>, 4>;

constexpr Index at(Index row_spin, Index row_color, Index column_spin, Index column_color) {
  return 12 * (3 * row_spin + row_color) + 3 * column_spin + column_color;
}

ColorNumbersOfSpins by_spins(const QuarkMatrix& quark) {
  ColorNumbersOfSpins out;
  for (Index a = 0; a < 4; ++a)
    for (Index b = 0; b < 4; ++b)
      for (Index k = 0; k < 9; ++k) out[a][b][k] = quark[at(a, k / 3, b, k % 3)];
  return out;
}

void add(ColorNumbers& to, Complex factor, const ColorNumbers& from) {
  if (factor == 0.0) return;
  for (Index k = 0; k < 9; ++k) to[k] += factor * from[k];
}

/// S Q T in spin.
ColorNumbersOfSpins product(const SpinMatrix& left, const ColorNumbersOfSpins& quark, const SpinMatrix& right) {
  ColorNumbersOfSpins half{}, out{};
  for (Index a = 0; a < 4; ++a)
    for (Index b = 0; b < 4; ++b)
      for (Index c = 0; c < 4; ++c) add(half[a][b], left[a][c], quark[c][b]);
  for (Index a = 0; a < 4; ++a)
    for (Index b = 0; b < 4; ++b)
      for (Index c = 0; c < 4; ++c) add(out[a][b], right[c][b], half[a][c]);
  return out;
}

SpinMatrix transposed(const SpinMatrix& a) {
  SpinMatrix out;
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 4; ++j) out[j][i] = a[i][j];
  return out;
}

/// q_jj' += factor eps_ijk eps_i'j'k' x_ii' z_kk'
void add_diquark(ColorNumbers& q, double factor, const ColorNumbers& x, const ColorNumbers& z) {
  for (Index j = 0; j < 3; ++j) {
    const Index i = 3 * ((j + 2) % 3), k = 3 * ((j + 1) % 3);
    for (Index jj = 0; jj < 3; ++jj) {
      const Index ii = (jj + 2) % 3, kk = (jj + 1) % 3;
      q[3 * j + jj] +=
          factor * (x[i + ii] * z[k + kk] - x[i + kk] * z[k + ii] - x[k + ii] * z[i + kk] + x[k + kk] * z[i + ii]);
    }
  }
}

/// dC/dU -> W: rows are of the source.
QuarkMatrix as_rows_of_source(const ColorNumbersOfSpins& derivative) {
  QuarkMatrix out;
  for (Index a = 0; a < 4; ++a)
    for (Index b = 0; b < 4; ++b)
      for (Index k = 0; k < 9; ++k) out[at(b, k % 3, a, k / 3)] = derivative[a][b][k];
  return out;
}

const SpinMatrix& unit() {
  static const SpinMatrix one = of_gamma("1");
  return one;
}

/// Color sums of the baryon's two quarks U and one D: C = sum_aa' [d E(U_aa', D'_aa', t) + e sum_c E(U_ac, D'_aa', (P
/// U)_ca')] with D' = A D B^T and t = tr P U.
struct ColorSums {
  const BaryonOperator& baryon;
  const ColorNumbersOfSpins u, d, projected;  ///< projected: P U
  ColorNumbers trace{};

  ColorSums(const BaryonOperator& given, const QuarkMatrix& like, const QuarkMatrix& other)
      : baryon(given),
        u(by_spins(like)),
        d(product(given.sink, by_spins(other), transposed(given.source))),
        projected(product(given.projector, u, unit())) {
    for (Index spin = 0; spin < 4; ++spin) add(trace, 1, projected[spin][spin]);
  }

  /// dC/dD
  ColorNumbersOfSpins without_other() const {
    ColorNumbersOfSpins of_spins{};
    for (Index a = 0; a < 4; ++a)
      for (Index b = 0; b < 4; ++b) {
        add_diquark(of_spins[a][b], baryon.direct, u[a][b], trace);
        for (Index c = 0; c < 4; ++c) add_diquark(of_spins[a][b], baryon.exchange, u[a][c], projected[c][b]);
      }
    return product(transposed(baryon.sink), of_spins, baryon.source);
  }

  /// dC/dU, of the first and of the last quark.
  ColorNumbersOfSpins without_like() const {
    const ColorNumbersOfSpins source_projected = product(unit(), u, baryon.projector);
    ColorNumbersOfSpins out{};
    ColorNumbers both{};
    for (Index a = 0; a < 4; ++a)
      for (Index b = 0; b < 4; ++b) {
        add_diquark(out[a][b], baryon.direct, d[a][b], trace);
        add_diquark(both, baryon.direct, u[a][b], d[a][b]);
        for (Index c = 0; c < 4; ++c) {
          add_diquark(out[a][c], baryon.exchange, d[a][b], projected[c][b]);
          add_diquark(out[c][b], baryon.exchange, source_projected[a][c], d[a][b]);
        }
      }
    for (Index a = 0; a < 4; ++a)
      for (Index b = 0; b < 4; ++b) add(out[a][b], baryon.projector[b][a], both);
    return out;
  }
};

}  // namespace

QuarkMatrix without_quark(const SpinMatrix& sink, const SpinMatrix& source, const QuarkMatrix& antiquark) {
  const SpinMatrix five = of_gamma("g5"), left = source * five, right = five * sink;
  QuarkMatrix adjoint;
  for (Index row = 0; row < 12; ++row)
    for (Index column = 0; column < 12; ++column) adjoint[12 * column + row] = std::conj(antiquark[12 * row + column]);
  const ColorNumbersOfSpins found = product(left, by_spins(adjoint), right);
  QuarkMatrix out;
  for (Index a = 0; a < 4; ++a)
    for (Index b = 0; b < 4; ++b)
      for (Index k = 0; k < 9; ++k) out[at(a, k / 3, b, k % 3)] = found[a][b][k];
  return out;
}

QuarkMatrix without_quark(const BaryonOperator& baryon, BaryonQuark removed, const QuarkMatrix& like,
                          const QuarkMatrix& other) {
  const ColorSums sums(baryon, like, other);
  return as_rows_of_source(removed == BaryonQuark::other ? sums.without_other() : sums.without_like());
}

QuarkMatrix reversed(const QuarkMatrix& w) {
  QuarkMatrix out;
  for (Index row = 0; row < 12; ++row)
    for (Index column = 0; column < 12; ++column) {  // gamma5 = diag(1, 1, -1, -1)
      const double sign = (row < 6) == (column < 6) ? 1 : -1;
      out[12 * column + row] = sign * std::conj(w[12 * row + column]);
    }
  return out;
}

}  // namespace quadrille
