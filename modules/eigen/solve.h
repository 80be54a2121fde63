// The eigenproblem on a CPU, by LAPACK, in phases (Haidar et al., ISC 2013, section 4).
#pragma once

#include "core/api.h"
#include "modules/eigen/factor.h"
#include "modules/eigen/problem.h"

#include <cstdint>
#include <vector>

namespace quadrille::eigen {

template <class T>
struct Problem {
  std::int64_t n = 0;
  T* a = nullptr;  ///< n x n by columns; overwritten
  std::int64_t lda = 0;
  Triangle triangle = Triangle::lower;
  const Factor<T>* b = nullptr;  ///< null: B is the identity
  Fraction fraction = {};
  Progress progress = {};
  int refine = 0;  ///< steps of refinement at most: pairs/refinement.h
};

/// Eigenvalues in rising order, and vectors with X^H B X = 1. Of each vector the largest component is real and
/// positive; of those that are as large to 1e-6, the first.
///
/// All vectors are found through a tridiagonal matrix by divide and conquer; see tridiagonal.h for fewer. Without
/// vectors large matrices are reduced to a band first. Refinement takes all vectors, of which then only the wanted ones
/// are refined; an interval is that of eigenvalues before it. Every call takes as many threads as OpenMP would. Errors:
/// ErrorCode::invalid_input for sizes that do not match, for a fraction beyond n or an interval without an eigenvalue,
/// for refinement without vectors; ErrorCode::numerical for elements that are not finite, naming the place, and for
/// eigenvalues outside the range of doubles; ErrorCode::unsupported for n beyond 2^31 - 1; NotEnoughMemory.
template <class T>
QUADRILLE_API Pairs<T> solve(const Problem<T>& problem);

/// Bytes that solve() takes at most, beside A and the factor of B.
template <class T>
QUADRILLE_API double solve_bytes(std::int64_t n, const Fraction& fraction, bool refined = false);

/// How far pairs are from solving a problem, in 1-norms.
struct Accuracy {
  double residual = 0;       ///< |A X - B X Lambda| / (|A| |X| n)
  double orthogonality = 0;  ///< |X^H B X - 1| / n
};
/// Of matrices of which the lower triangle counts; `b` null: the identity.
template <class T>
QUADRILLE_API Accuracy check_pairs(std::int64_t n, const T* a, const T* b, const Pairs<T>& pairs);

}  // namespace quadrille::eigen
