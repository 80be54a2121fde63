// The eigenproblem on the ranks of a communicator, on CPUs, by ScaLAPACK or ELPA; pairs on ranks and their check, on
// GPUs, too (gpus.h).
#pragma once

#include "core/comm/communicator.h"
#include "modules/eigen/problem.h"
#include "modules/eigen/ranks/library.h"
#include "modules/eigen/solve.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::eigen {

/// B = L L^H on ranks, as Factor has it.
template <class T>
struct SpreadFactor {
  std::vector<T> l;
  int exponent = 0;
  Phase made;
};
/// Takes this rank's part of B over. Collective. Errors: those of Factor, on all ranks.
template <class T>
SpreadFactor<T> factor_on_ranks(const Communicator& ranks, const Layout& layout, SpreadSteps<T>& steps,
                                std::vector<T> b);

/// Matrices are given by the parts of this rank, of which the lower triangles count.
template <class T>
struct SpreadProblem {
  const Communicator& ranks;
  Layout layout;
  SpreadSteps<T>& steps;
  std::vector<T> a;                    ///< taken over
  const SpreadFactor<T>* b = nullptr;  ///< null: B is the identity
  Fraction fraction = {};
  Progress progress = {};  ///< called on all ranks; what it throws must be thrown on all
};

/// Pairs whose `vectors` are empty: those are columns of a matrix, of which this is the rank's part. All else is the
/// same on all ranks.
template <class T>
struct SpreadPairs {
  Pairs<T> pairs;
  std::vector<T> vectors;
  Layout layout;           ///< of the matrix of vectors; its numbers of columns are those of n x n
  std::int64_t first = 0;  ///< its column that is the first vector
  IndexRange columns() const { return {first, pairs.range.count}; }
};

/// Collective; pairs as solve() has them, all vectors by divide and conquer, of which those that are not wanted are
/// dropped. Errors: those of solve(), on all ranks; ErrorCode::numerical where the library finds no solution.
template <class T>
SpreadPairs<T> solve_on_ranks(SpreadProblem<T> problem);

/// "the generalized eigenproblem of 100 real rows", for messages.
template <class T>
std::string problem_text(std::int64_t n, bool generalized) {
  return fmt::format("the {}eigenproblem of {} {} rows", generalized ? "generalized " : "", n,
                     is_complex<T> ? "complex" : "real");
}

/// Bytes that a rank has at once at most, from the reading of the matrices to the check of the pairs. Collective.
template <class T>
double bytes_on_rank(const Layout& layout, const SpreadSteps<T>& steps, const Fraction& fraction, bool generalized,
                     bool check);

/// As check_pairs(), of A and B in `layout`. Collective.
template <class T>
Accuracy check_on_ranks(const Communicator& ranks, const Layout& layout, SpreadProducts<T>& products,
                        const std::vector<T>& a, const std::vector<T>* b, const SpreadPairs<T>& pairs);

}  // namespace quadrille::eigen
