// What pairs of a solution leave of A x = lambda B x.
#pragma once

#include "modules/eigen/pairs/refinement.h"
#include "modules/eigen/problem.h"

#include <cstdint>
#include <vector>

namespace quadrille::eigen {

constexpr std::int64_t columns_looked_at = 128;  ///< at a time
constexpr double most_bits = 106;                ///< of products, for the residuals

/// For the pairs `active`, R = A X - B X Lambda in the basis of all vectors.
template <class T>
struct View {
  IndexRange active;
  std::vector<T> w, g;         ///< X^H R and X^H B X, n x active.count
  std::vector<double> shifts;  ///< of eigenvalues to Rayleigh quotients
  Defects defects;             ///< of the wanted pairs
  double rounding = 0;         ///< an orthogonality that vectors of doubles cannot be asked to go below
  double rounding_of_all = 0;  ///< one that they may have between a long x_i and a long B x_j
  double excess = 0;           ///< the largest |r| of a wanted pair over what rounding of its numbers leaves

  static constexpr double rounded_excess = 4;  ///< or less: another step would change rounding alone
  /// Whether the wanted pairs are as good as vectors of doubles can be.
  bool is_rounded() const { return excess <= rounded_excess && defects.orthogonality <= rounding; }

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
  void measure(std::int64_t j, const T* w, const T* g, View<T>& to) const;
  double left_by_rounding(std::int64_t j) const;
  double bits(IndexRange active) const;
  double scale(std::int64_t j) const;

  const SolvedProblem<T>& p_;
  IndexRange wanted_;
  double a_norm_ = 0, b_norm_ = 0;  ///< 1-norms
  std::vector<double> squares_;     ///< the diagonal of A X X^H A, where X X^H = B^-1 but for errors of X
};

}  // namespace quadrille::eigen
