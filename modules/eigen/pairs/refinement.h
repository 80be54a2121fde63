// Eigenpairs that are improved by what they leave of A x = lambda B x, as far as vectors of doubles can be.
//
// With all vectors X of a first solution, R = A X - B X Lambda is summed in twice the precision of doubles, and W = X^H
// R and G = X^H B X say how pairs i and j mix: x_j gets x_i w_ij / (lambda_j - lambda_i), so that every entry is as
// accurate as its own numbers are (Ogita and Aishima, Japan J. Indust. Appl. Math. 35 (2018) 1007, for B = 1). Where
// that is not small, the pairs are a cluster, whose own small problem is solved first (the same, 36 (2019) 521).
#pragma once

#include "modules/eigen/problem.h"

#include <cstdint>
#include <vector>

namespace quadrille::eigen {

/// A problem in full storage, n x n by columns, and all pairs of a solution.
template <class T>
struct SolvedProblem {
  std::int64_t n = 0;
  const T *a = nullptr, *b = nullptr;  ///< both halves count; b null: the identity
  std::vector<double> values;          ///< in rising order
  std::vector<T> vectors;              ///< n x n by columns

  T* vector(std::int64_t j) { return vectors.data() + j * n; }
  const T* vector(std::int64_t j) const { return vectors.data() + j * n; }
};

/// Improves the wanted pairs, and those that they cannot be told from, by at most `steps` steps, until they are as good
/// as vectors of doubles can be or two steps in a row gain less than half. Eigenvalues then are Rayleigh quotients.
/// Returns what the steps have done; those after the best pairs have been undone. None where the pairs need no step.
template <class T>
std::vector<Refinement> refine(SolvedProblem<T>& problem, IndexRange wanted, int steps);

/// Bytes that it takes at most, beside the problem.
template <class T>
double refinement_bytes(std::int64_t n);

}  // namespace quadrille::eigen
