// What pairs of a solution leave of A x = lambda B x.
#pragma once

#include "modules/eigen/pairs/refinement.h"
#include "modules/eigen/problem.h"

#include <cstdint>
#include <vector>

namespace quadrille::eigen {

/// For the pairs `active`, R = A X - B X Lambda in the basis of all vectors.
template <class T>
struct View {
  IndexRange active;
  std::vector<T> w, g;         ///< X^H R and X^H B X, n x active.count
  std::vector<double> shifts;  ///< of eigenvalues to Rayleigh quotients
  Defects defects;             ///< of the wanted pairs
  double rounding = 0;         ///< an orthogonality that vectors of doubles cannot be asked to go below

  /// Whether x_i is in x_j, an active one, by more than this share.
  bool mix(const std::vector<double>& values, std::int64_t i, std::int64_t j, double share) const;
};

/// Looks at pairs of a problem, which outlives it, and may change.
template <class T>
class Defective {
 public:
  Defective(const SolvedProblem<T>& problem, IndexRange wanted);

  /// Of these pairs and those that are in them by more than a hundredth.
  View<T> look(IndexRange active) const;

 private:
  View<T> look_at(IndexRange active) const;
  void measure(std::int64_t j, const T* w, const T* g, Defects& to) const;
  double bits(IndexRange active) const;
  double scale(std::int64_t j) const;

  const SolvedProblem<T>& p_;
  IndexRange wanted_;
  double a_norm_ = 0, b_norm_ = 0;  ///< 1-norms
};

}  // namespace quadrille::eigen
