// The numbers that kernels read, in their precision and scaled.
#pragma once

#include "modules/md/pairs/pair_order.h"

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

/// Coefficients of pairs of types, scaled, as PairProblem has them.
template <class T>
struct TypeTables {
  std::vector<T> force12, force6, energy12, energy6;

  void scale(const LennardJonesTable& table, const Exponents& exponents);
};

/// A pair of its own parameters, as kernels read it.
template <class T>
ListedPair<T> scaled_pair(const ScaledPair& own, std::int32_t other, const Exponents& exponents);

/// The constants of Coulomb forces, scaled, in a problem.
template <class T>
void scale_constants(PairProblem<T>& problem, const System& system, const ForceOptions& options,
                     const Exponents& exponents);

template <class T>
struct PairTables {
  std::vector<T> x, y, z, charge;
  TypeTables<T> of_types;
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
/// ratio r0, of the others by what the parameters allow at r0 and beyond, with `constant_force` added.
double force_bound(const System& system, const ForceOptions& options, double ratio, double constant_force = 0);

/// The largest coefficient or constant that scale() multiplies.
double largest_coefficient(const System& system, const ForceOptions& options);

}  // namespace quadrille::md
