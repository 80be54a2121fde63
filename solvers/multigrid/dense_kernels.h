// Products of small dense matrices with vectors, for several right-hand sides: all that transfers and coarse operators
// do on numbers. Compiled once for each instruction set (dense_kernels.cpp).
//
// Complex numbers are [re, im]. Products of columns are vectorized along them and read a matrix once for all
// right-hand sides; the sums of one do not depend on how many others there are.
#pragma once

#include "core/api.h"

#include <cstdint>

namespace quadrille::multigrid {

/// Right-hand sides of one call at most.
constexpr int most_at_once = 4;
/// Rows of a matrix are a multiple of so many complex numbers, one register of floats at most.
constexpr int row_unit = 8;

/// y_r = z_r + sum over i, j of M_i[j] x_r[i][j], M_i[j] the j-th column of a matrix, or its conjugate.
template <class T>
struct ColumnSum {
  const T* matrices;                         ///< [matrix][column][row]
  const std::int32_t* chosen;                ///< the matrices M_i by their numbers
  int count;                                 ///< of those chosen
  int columns, rows;                         ///< of a matrix
  bool conjugate = false, subtract = false;  ///< subtract: z minus the sum
  int rhs;                                   ///< 1 ... most_at_once
  const T* x[most_at_once] = {};             ///< [i][column]
  const T* z[most_at_once] = {};             ///< null: 0
  T* y[most_at_once] = {};                   ///< [row]; may be z
};

/// y_r[j] = sum over k of M[j][k] x_r[k]: the transposed products.
template <class T>
struct RowSum {
  const T* matrix;  ///< [j][k]
  std::int64_t count;
  int length;  ///< of k: a multiple of row_unit, 128 at most
  int rhs;
  const T* x[most_at_once] = {};
  T* y[most_at_once] = {};
};

/// Makes `count` complex vectors of `length` numbers each, one behind the other, orthonormal in the order given, each
/// made orthogonal twice. Gives the smallest part of a vector's norm that is not in the span of those before it; a
/// vector of which nothing is left becomes 0.
struct Orthonormalise {
  double* vectors;
  std::int64_t length;  ///< complex numbers
  int count;
};

template <class T>
struct DenseKernels {
  void (*column_sum)(const ColumnSum<T>&);
  void (*row_sum)(const RowSum<T>&);
};

/// Those of active_isa(), for float and double.
template <class T>
DenseKernels<T> dense_kernels();
double orthonormalise(const Orthonormalise& what);

}  // namespace quadrille::multigrid
