// The numbers that kernels of neighbour lists read, in their precision and scaled; and the pairs of a particle's own.
#pragma once

#include "modules/md/lists/list_forces.h"
#include "modules/md/lists/list_problem.h"
#include "modules/md/pairs/pair_tables.h"

#include <vector>

namespace quadrille::md {

/// Errors: see ListForces. The system without what lists do not read.
System system_of_lists(System system, const ListOptions& options);

/// Errors as those of check_positions(), and ErrorCode::numerical for a particle that is beyond `furthest` edges.
void check_places(std::int64_t size, const ForceOptions& options, std::span<const double> positions,
                  const std::array<double, 3>& box);

/// What single precision may take from a distance is little beside this: lists are built for a radius that much larger.
constexpr double list_margin = 1e-5;
inline double list_radius(const ListOptions& options) {
  return (options.forces.cutoff + options.skin) * (1 + list_margin);
}

/// What shifted forces add to that of a pair, at most.
double constant_force(const System& system, const ListOptions& options);

/// Pairs that are taken away afterwards, or have parameters of their own; of each particle, one after the other.
struct OwnPairs {
  OwnPairs(const System& system, const ListOptions& options);

  struct Entry {
    std::int32_t other;
    std::int64_t scaled;  ///< number of the scaled pair; -1: a regular one that is taken away
  };
  std::vector<std::int64_t> begin;  ///< [particle + 1]; empty: there are none
  std::vector<Entry> entries;
};

template <class T>
struct ListTables {
  TypeTables<T> of_types;
  std::vector<T> edge_force, energy_shift;
  std::vector<ListedPair<T>> listed;
  ListProblem<T> problem{};  ///< its constants

  void scale(const System& system, const ListOptions& options, const OwnPairs& own, const Exponents& exponents);
  void set_box(const std::array<double, 3>& box);
  /// `problem` with pointers to what is here.
  ListProblem<T> pointed() const;
};

/// Added to the squared distances of a slot that is nobody: beyond every cutoff.
inline double far_away(const ListOptions& options) { return 1000 * options.forces.cutoff * options.forces.cutoff; }

}  // namespace quadrille::md
