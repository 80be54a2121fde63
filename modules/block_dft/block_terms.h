// What the sums over blocks of block_algebra.cpp and block_sums.cpp have in common.
#pragma once

#include "modules/block_dft/block_matrix.h"

namespace quadrille::block_dft {

template <class T>
std::int64_t numbers(const BlockMatrix<T>& a, std::int32_t i, std::int32_t j) {
  return std::int64_t(a.rows().size(i)) * a.columns().size(j);
}

/// How often a stored block counts in a sum over all elements.
template <class T>
double weight(const BlockMatrix<T>& a, std::int32_t i, std::int32_t j) {
  return a.symmetry() == Symmetry::none || i == j ? 1 : 2;
}

/// Sums of all ranks that share A.
inline void sum_over_ranks(const BlockPattern& a, double* values, std::size_t count) {
  sum_over_ranks(a.grid(), values, count);
}

template <class T>
void require_square(const BlockMatrix<T>& a) {
  require_same(a.rows(), a.columns(), "rows and columns of a square matrix");
}

}  // namespace quadrille::block_dft
