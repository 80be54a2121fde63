// What the sums over blocks of block_algebra.cpp and block_sums.cpp have in common, and what they ask of their
// arguments, which is the same of a DeviceMatrix.
#pragma once

#include "core/error.h"
#include "modules/block_dft/matrix/block_matrix.h"

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

template <class M>
void require_square(const M& a) {
  require_same(a.rows(), a.columns(), "rows and columns of a square matrix");
}

/// Throws as add() does. Whether B is added as it is stored; otherwise A has no symmetry, and B has one.
template <class M>
bool require_terms(const M& a, const M& b) {
  require_same(a.rows(), b.rows(), "rows of both terms of a sum");
  require_same(a.columns(), b.columns(), "columns of both terms of a sum");
  if (a.symmetry() == b.symmetry()) return true;
  if (a.symmetry() == Symmetry::none) return false;
  throw Error(ErrorCode::invalid_input,
              "only a matrix of the same symmetry can be added to a matrix with one: use without_symmetry()");
}

/// Throws as add_identity() does.
template <class M>
void require_term_of_identity(const M& a) {
  require_square(a);
  if (a.symmetry() != Symmetry::antisymmetric) return;
  throw Error(ErrorCode::invalid_input,
              "the identity cannot be added to an antisymmetric matrix: use without_symmetry()");
}

}  // namespace quadrille::block_dft
