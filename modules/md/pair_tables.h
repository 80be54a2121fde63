// The numbers that kernels read, in their precision and scaled.
#pragma once

#include "modules/md/pair_order.h"

#include <vector>

namespace quadrille::md {

/// Powers of two that forces and energies are multiplied by.
struct Exponents {
  int force = 0, energy = 0;
};

/// krf and crf of u = K q q (1/r + krf r^2 - crf): Tironi et al., J. Chem. Phys. 102 (1995) 5451; zeros for plain.
struct ReactionField {
  double krf = 0, crf = 0;
};
ReactionField reaction_field(const ForceOptions& options);

template <class T>
struct PairTables {
  std::vector<T> x, y, z, charge;
  std::vector<T> force12, force6, energy12, energy6;
  std::vector<ListedPair<T>> listed;

  /// Charges, coefficients and listed pairs; positions stay as they are.
  void scale(const System& system, const ForceOptions& options, const PairOrder& order, const ListedPairs& pairs,
             const Exponents& exponents);
  /// Positions in open space around their middle, in a box inside it.
  void place(std::span<const double> positions, const PairOrder& order, const ForceOptions& options,
             const std::array<double, 3>& box);

  /// Pointers to what is here and in `order` and `pairs`.
  PairProblem<T> problem(const PairOrder& order, const ListedPairs& pairs) const;

 private:
  PairProblem<T> numbers_{};  ///< without pointers
};

/// No pair whose |force / distance| is at most `ratio` has a force above this: of all pairs closer than some r0 by
/// ratio r0, of the others by what the parameters allow at r0 and beyond.
double force_bound(const System& system, const ForceOptions& options, double ratio);

/// The largest coefficient or constant that scale() multiplies.
double largest_coefficient(const System& system, const ForceOptions& options);

}  // namespace quadrille::md
