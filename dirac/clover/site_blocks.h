// Chiral blocks at one site: bodies that the host's loops and the devices' kernels share. A block is a Hermitian 6 x 6
// matrix of one chirality on [spin 2][color 3], stored halved: the six real numbers of its diagonal and then re and im
// of the rows below it (site_formats::chiral_blocks).
#pragma once

#include "core/field/site_numbers.h"
#include "core/gauge/max_loc.h"
#include "core/numbers/exact_sum.h"
#include "core/su3/su3.h"
#include "dirac/clover/foreign_blocks.h"

#include <cmath>
#include <cstdint>

namespace quadrille::site_blocks {

constexpr int size = 6, numbers = 36, both = 2 * numbers;
/// Where element (i, j), i > j, begins among the numbers of a block.
QUADRILLE_HOST_DEVICE constexpr int below(int i, int j) { return size + 2 * (i * (i - 1) / 2 + j); }

/// blocks = a number.
template <class Blocks>
struct SetNumber {
  Blocks blocks;
  double number;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site) const {
    double b[both] = {};
    for (int c = 0; c < 2; ++c) {
      for (int i = 0; i < size; ++i) b[c * numbers + i] = 0.5 * number;
    }
    blocks.store(parity, site, b);
  }
};

/// blocks of chirality c += coefficient[c] s_k (x) i F, F = (Q - Q^+) / 8, s_k a Pauli matrix (k = 0, 1, 2).
template <class Blocks, class Leaves>
struct AddPlane {
  Blocks blocks;
  Leaves leaves;
  int k;
  double coefficient[2];

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site) const {
    double b[both];
    blocks.load(parity, site, b);
    const Matrix3 q = leaves.matrix(0, parity, site);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        // i (Q - Q^+) / 8
        const double re = -0.125 * (q(i, j).imag() + q(j, i).imag()), im = 0.125 * (q(i, j).real() - q(j, i).real());
        for (int c = 0; c < 2; ++c) add(b + c * numbers, i, j, 0.5 * coefficient[c] * re, 0.5 * coefficient[c] * im);
      }
    }
    blocks.store(parity, site, b);
  }

 private:
  /// What element (i, j) of i F adds: [[s_3, s_1 - i s_2], [s_1 + i s_2, -s_3]], of which only the part below the
  /// diagonal is kept.
  QUADRILLE_HOST_DEVICE void add(double* b, int i, int j, double re, double im) const {
    if (k == 2) {
      if (i == j) {
        b[i] += re;
        b[3 + i] -= re;
      } else if (i > j) {
        b[below(i, j)] += re;
        b[below(i, j) + 1] += im;
        b[below(3 + i, 3 + j)] -= re;
        b[below(3 + i, 3 + j) + 1] -= im;
      }
      return;
    }
    double* const element = b + below(3 + i, j);
    element[0] += k == 0 ? re : -im;
    element[1] += k == 0 ? im : re;
  }
};

struct Matrix6 {
  Complex e[size][size];

  /// The Hermitian matrix of a block + i mu.
  QUADRILLE_HOST_DEVICE static Matrix6 of(const double* b, double mu = 0) {
    Matrix6 m;
    for (int i = 0; i < size; ++i) {
      m.e[i][i] = Complex(2 * b[i], mu);
      for (int j = 0; j < i; ++j) {
        m.e[i][j] = Complex(2 * b[below(i, j)], 2 * b[below(i, j) + 1]);
        m.e[j][i] = std::conj(m.e[i][j]);
      }
    }
    return m;
  }
  /// As a block the Hermitian part of it.
  QUADRILLE_HOST_DEVICE void store(double* b) const {
    for (int i = 0; i < size; ++i) {
      b[i] = 0.5 * e[i][i].real();
      for (int j = 0; j < i; ++j) {
        b[below(i, j)] = 0.25 * (e[i][j].real() + e[j][i].real());
        b[below(i, j) + 1] = 0.25 * (e[i][j].imag() - e[j][i].imag());
      }
    }
  }
};

QUADRILLE_HOST_DEVICE Matrix6 operator*(const Matrix6& a, const Matrix6& b) {
  Matrix6 c;
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      c.e[i][j] = Complex(0, 0);
      for (int k = 0; k < size; ++k) c.e[i][j] = sum(c.e[i][j], product(a.e[i][k], b.e[k][j]));
    }
  }
  return c;
}

/// to = the blocks of the array in the UKQCD basis; the largest |B - B^+| over the largest |B| of a block, with its
/// site (lexicographic).
template <class Blocks, class Real>
struct ReadForeign {
  Blocks to;
  ForeignBlocks from;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site, MaxLoc* worst) const {
    const SitePlace x(from.extents, parity, site);
    const Real* given =
        reinterpret_cast<const Real*>(from.array) + place_in(from.order, from.extents, x) * 2 * from.numbers();
    double b[both];
    for (int c = 0; c < 2; ++c, given += from.numbers()) {
      Matrix6 m;
      for (int i = 0; i < size; ++i) {
        for (int j = 0; j < size; ++j) m.e[i][j] = rotated(given, i, j);
      }
      worst->reduce(asymmetry(m), x.lexicographic(from.extents));
      m.store(b + c * numbers);
    }
    to.store(parity, site, b);
  }

 private:
  QUADRILLE_HOST_DEVICE Complex element(const Real* given, int i, int j) const {
    const double factor = from.factor;
    if (!from.triangles) {
      const Real* const e = given + 2 * (i * size + j);
      return Complex(factor * double(e[0]), factor * double(e[1]));
    }
    if (i == j) return Complex(factor * double(given[i]), 0);
    const Real* const e = given + (i > j ? below(i, j) : below(j, i));
    return Complex(factor * double(e[0]), (i > j ? factor : -factor) * double(e[1]));
  }
  /// (u +- l) in the UKQCD basis are [[0, 1], [-1, 0]] times the two spins of a chirality (core/field/spin_basis.h).
  QUADRILLE_HOST_DEVICE Complex rotated(const Real* given, int i, int j) const {
    const Complex e = element(given, (i + 3) % size, (j + 3) % size);
    return (i < 3) == (j < 3) ? e : Complex(-e.real(), -e.imag());
  }
  QUADRILLE_HOST_DEVICE static double asymmetry(const Matrix6& m) {
    double largest = 0, difference = 0;
    for (int i = 0; i < size; ++i) {
      for (int j = 0; j <= i; ++j) {
        largest = fmax(largest, fmax(magnitude(m.e[i][j]), magnitude(m.e[j][i])));
        const double re = m.e[i][j].real() - m.e[j][i].real(), im = m.e[i][j].imag() + m.e[j][i].imag();
        difference = fmax(difference, sqrt(re * re + im * im));
      }
    }
    return largest == 0 ? 0 : difference / largest;
  }
};

/// Replaces m by its inverse (Gauss and Jordan, pivots of rows). Gives log |det m|, and in `worst` the largest element
/// of m over the smallest pivot: infinite for a singular matrix.
QUADRILLE_HOST_DEVICE double invert(Matrix6& m, double& worst) {
  Complex a[size][size], x[size][size];
  double largest = 0, smallest = 0, log_det = 0;
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      a[i][j] = m.e[i][j];
      x[i][j] = Complex(i == j ? 1 : 0, 0);
      largest = fmax(largest, magnitude(a[i][j]));
    }
  }
  for (int k = 0; k < size; ++k) {
    int pivot = k;
    for (int i = k + 1; i < size; ++i) {
      if (magnitude(a[i][k]) > magnitude(a[pivot][k])) pivot = i;
    }
    for (int j = 0; j < size; ++j) {
      const Complex t = a[k][j], u = x[k][j];
      a[k][j] = a[pivot][j], a[pivot][j] = t;
      x[k][j] = x[pivot][j], x[pivot][j] = u;
    }
    const double modulus = magnitude(a[k][k]);
    smallest = k == 0 ? modulus : fmin(smallest, modulus);
    log_det += log(modulus);
    const double square = modulus * modulus;
    const Complex inverse = Complex(a[k][k].real() / square, -a[k][k].imag() / square);
    for (int j = 0; j < size; ++j) {
      a[k][j] = product(a[k][j], inverse);
      x[k][j] = product(x[k][j], inverse);
    }
    for (int i = 0; i < size; ++i) {
      if (i == k) continue;
      const Complex factor = a[i][k];
      for (int j = 0; j < size; ++j) {
        a[i][j] = difference(a[i][j], product(factor, a[k][j]));
        x[i][j] = difference(x[i][j], product(factor, x[k][j]));
      }
    }
  }
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) m.e[i][j] = x[i][j];
  }
  worst = largest / smallest;
  if (!(worst <= HUGE_VAL)) worst = HUGE_VAL;  // not a number
  return log_det;
}

/// exp(m) by 2^n-th powers of the Taylor series where the rows' sums are at most a half: 14 terms leave 1e-17.
QUADRILLE_HOST_DEVICE Matrix6 exponential(const Matrix6& m) {
  double largest = 0;
  for (int i = 0; i < size; ++i) {
    double sum = 0;
    for (int j = 0; j < size; ++j) sum += magnitude(m.e[i][j]);
    largest = fmax(largest, sum);
  }
  int squares = 0;
  double scale = 1;
  for (; largest * scale > 0.5 && squares < 64; ++squares) scale *= 0.5;
  Matrix6 x = m, e{};
  for (int i = 0; i < size; ++i) {
    e.e[i][i] = Complex(1, 0);
    for (int j = 0; j < size; ++j) x.e[i][j] = product(scale, m.e[i][j]);
  }
  for (int n = 14; n > 0; --n) {  // 1 + x / n e
    e = x * e;
    for (int i = 0; i < size; ++i) {
      for (int j = 0; j < size; ++j) e.e[i][j] = sum(Complex(i == j ? 1 : 0, 0), product(1.0 / n, e.e[i][j]));
    }
  }
  for (; squares > 0; --squares) e = e * e;
  return e;
}

/// blocks = number exp(blocks / number).
template <class Blocks>
struct Exponentiate {
  Blocks blocks;
  double number;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site) const {
    double b[both];
    blocks.load(parity, site, b);
    for (double& x : b) x /= number;
    for (int c = 0; c < 2; ++c) exponential(Matrix6::of(b + c * numbers)).store(b + c * numbers);
    for (double& x : b) x *= number;
    blocks.store(parity, site, b);
  }
};

/// (from + i mu gamma_5)^-1 = to - i gamma_5 twisted, which is 0 and not stored for mu = 0; the largest of invert()'s
/// `worst` with its site (lexicographic).
template <class Blocks>
struct Invert {
  Blocks to, twisted, from;
  double mu;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site, MaxLoc* worst) const {
    double b[both], t[both];
    from.load(parity, site, b);
    for (int c = 0; c < 2; ++c) {
      const double sign = c == 0 ? 1 : -1;
      Matrix6 m = Matrix6::of(b + c * numbers, sign * mu);
      double largest = 0;
      invert(m, largest);
      m.store(b + c * numbers);
      for (int i = 0; i < size; ++i) {
        for (int j = 0; j < size; ++j) m.e[i][j] = Complex(-sign * m.e[i][j].imag(), sign * m.e[i][j].real());
      }
      m.store(t + c * numbers);
      const Extents& extents = from.view().extents;
      worst->reduce(largest, SitePlace(extents, parity, site).lexicographic(extents));
    }
    to.store(parity, site, b);
    if (mu != 0) twisted.store(parity, site, t);
  }
};

/// Adds log |det (blocks + i mu gamma_5)| of the sites of both parities: sums[0], [1] the coarse and fine part of even
/// sites, [2], [3] of odd ones.
template <class Blocks>
struct AddLogDet {
  Blocks blocks;
  double mu;
  ExactQuanta quanta;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site, double* sums) const {
    double b[both], worst = 0;
    blocks.load(parity, site, b);
    ExactSum sum{sums[2 * parity], sums[2 * parity + 1]};
    for (int c = 0; c < 2; ++c) {
      Matrix6 m = Matrix6::of(b + c * numbers, mu);  // -mu has the same modulus
      sum.add(invert(m, worst), quanta);
    }
    sums[2 * parity] = sum.coarse;
    sums[2 * parity + 1] = sum.fine;
  }
};

/// to = g from g^+, as `from` is between spinors that g has been applied to.
template <class Blocks, class Matrices>
struct Rotate {
  Blocks to, from;
  Matrices g;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site) const {
    double b[both];
    from.load(parity, site, b);
    const Matrix3 u = g.matrix(0, parity, site);
    for (int c = 0; c < 2; ++c) {
      Matrix6 m = Matrix6::of(b + c * numbers);
      for (int s = 0; s < 2; ++s) {
        for (int r = 0; r < 2; ++r) {
          Matrix3 x;
          for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) x(i, j) = m.e[3 * s + i][3 * r + j];
          }
          x = u * x * adjoint(u);
          for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) m.e[3 * s + i][3 * r + j] = x(i, j);
          }
        }
      }
      m.store(b + c * numbers);
    }
    to.store(parity, site, b);
  }
};

/// to = from, in another precision.
template <class To, class From>
struct Copy {
  To to;
  From from;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site) const {
    double b[both];
    from.load(parity, site, b);
    to.store(parity, site, b);
  }
};

}  // namespace quadrille::site_blocks
