// The routines of LAPACK and BLAS that the module calls, in 32-bit integers; both are parts of OpenBLAS. Matrices are
// stored by columns, and of Hermitian ones the lower triangle counts. Work space is taken here.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace quadrille::eigen::lapack {

using Complex = std::complex<double>;

/// The longest extent or leading dimension. Work space of n^2 must be below it, too.
constexpr std::int64_t longest = (std::int64_t(1) << 31) - 1;

// The number of the first leading minor that is not positive, 0 for none.
int potrf(std::int64_t n, double* a, std::int64_t lda);
int potrf(std::int64_t n, Complex* a, std::int64_t lda);

/// A := L^-1 A L^-H
void sygst(std::int64_t n, double* a, std::int64_t lda, const double* l, std::int64_t ldl);
void sygst(std::int64_t n, Complex* a, std::int64_t lda, const Complex* l, std::int64_t ldl);

/// X := L^-H X, X being n x k
void solve_with_transpose(std::int64_t n, std::int64_t k, const double* l, std::int64_t ldl, double* x,
                          std::int64_t ldx);
void solve_with_transpose(std::int64_t n, std::int64_t k, const Complex* l, std::int64_t ldl, Complex* x,
                          std::int64_t ldx);

/// Z := Z L^-H, Z being m x n and L n x n
void solve_from_right(std::int64_t m, std::int64_t n, const double* l, std::int64_t ldl, double* z, std::int64_t ldz);
void solve_from_right(std::int64_t m, std::int64_t n, const Complex* l, std::int64_t ldl, Complex* z, std::int64_t ldz);

/// A tridiagonal matrix, and for apply_q the reflectors in A that make it.
template <class T>
struct Tridiagonal {
  std::vector<double> diagonal, off_diagonal;  ///< the latter has n entries, the last without meaning
  std::vector<T> tau;
};
Tridiagonal<double> sytrd(std::int64_t n, double* a, std::int64_t lda);
Tridiagonal<Complex> sytrd(std::int64_t n, Complex* a, std::int64_t lda);
/// By way of a band, without Q.
Tridiagonal<double> sytrd_2stage(std::int64_t n, double* a, std::int64_t lda);
Tridiagonal<Complex> sytrd_2stage(std::int64_t n, Complex* a, std::int64_t lda);

/// Z := Q Z, Z being n x k
void apply_q(std::int64_t n, std::int64_t k, const double* a, std::int64_t lda, const std::vector<double>& tau,
             double* z, std::int64_t ldz);
void apply_q(std::int64_t n, std::int64_t k, const Complex* a, std::int64_t lda, const std::vector<Complex>& tau,
             Complex* z, std::int64_t ldz);

/// Eigenvalues in place of the diagonal, in rising order; e is overwritten. Returns LAPACK's info.
int sterf(std::vector<double>& d, std::vector<double>& e);
/// The same with all vectors, n x n, by divide and conquer.
int stedc(std::vector<double>& d, std::vector<double>& e, double* z);
/// The largest n of stedc: its work space is counted in 32 bits.
constexpr std::int64_t longest_stedc = 46000;
/// Pairs [first, first + count) by multiple relatively robust representations; d and e are overwritten. Values have
/// fewer digits in clusters.
int stemr(std::vector<double>& d, std::vector<double>& e, std::int64_t first, std::int64_t count,
          std::vector<double>& values, double* z);

/// Y := A X for a Hermitian A, n x n, and an n x k matrix X.
void multiply_hermitian(std::int64_t n, std::int64_t k, const double* a, std::int64_t lda, const double* x,
                        std::int64_t ldx, double* y, std::int64_t ldy);
void multiply_hermitian(std::int64_t n, std::int64_t k, const Complex* a, std::int64_t lda, const Complex* x,
                        std::int64_t ldx, Complex* y, std::int64_t ldy);
/// G := X^H Y, of n x k and n x m.
void multiply_adjoint(std::int64_t n, std::int64_t k, std::int64_t m, const double* x, const double* y, double* g);
void multiply_adjoint(std::int64_t n, std::int64_t k, std::int64_t m, const Complex* x, const Complex* y, Complex* g);

/// C := A B, of m x k and k x n; C := A^H B for A of k x m.
void multiply(std::int64_t m, std::int64_t k, std::int64_t n, const double* a, std::int64_t lda, const double* b,
              std::int64_t ldb, double* c, std::int64_t ldc);
void multiply(std::int64_t m, std::int64_t k, std::int64_t n, const Complex* a, std::int64_t lda, const Complex* b,
              std::int64_t ldb, Complex* c, std::int64_t ldc);
void multiply_adjoint(std::int64_t m, std::int64_t k, std::int64_t n, const double* a, std::int64_t lda,
                      const double* b, std::int64_t ldb, double* c, std::int64_t ldc);
void multiply_adjoint(std::int64_t m, std::int64_t k, std::int64_t n, const Complex* a, std::int64_t lda,
                      const Complex* b, std::int64_t ldb, Complex* c, std::int64_t ldc);

}  // namespace quadrille::eigen::lapack
