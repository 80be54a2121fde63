// What pairs (x, lambda) leave of A x = lambda B x, summed in about twice the precision of doubles.
//
// Elements are split into slices of so few bits that products of slices and their sums are exact in double: BLAS does
// them, and only the sums of its products take two numbers each (Ozaki, Ogita, Oishi and Rump, Numer. Algorithms 59
// (2012) 95).
#pragma once

#include <cstdint>

namespace quadrille::eigen {

/// Slices that keep this many bits of the largest element of each row of A and column of X, in products of n terms.
template <class T>
int slices_for(std::int64_t n, double bits);

/// R := A X - B X Lambda and S := B X, both rounded to T once they are summed, for Hermitian A and B, n x n, given in
/// full; b null: the identity. X, R and S are n x count; all by columns, one after the other.
template <class T>
struct ResidualWork {
  std::int64_t n = 0;
  const T *a = nullptr, *b = nullptr;
  int slices = 0;

  void run(std::int64_t count, const T* x, const double* lambda, T* r, T* s) const;
};

/// Bytes that ResidualWork::run() takes.
template <class T>
double residual_bytes(std::int64_t n, int slices);

}  // namespace quadrille::eigen
