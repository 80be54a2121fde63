// What the choice of a split needs to know of a B that passes orbital by orbital.
#pragma once

#include "modules/mgemm/choice/choice.h"
#include "modules/mgemm/product/mgemm.h"
#include "modules/ri_mp2/ri_mp2.h"
#include "modules/shared/dense/dense_view.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace quadrille::ri_mp2 {

/// Calls use(rows) with the rows of B of each occupied orbital, in order.
using EachOrbital = std::function<void(const std::function<void(const DenseView<const double>& rows)>& use)>;

struct OrbitalAnalysis {
  mgemm::FactorProfile profile;          ///< as mgemm::profile_on_host of all of B
  std::vector<std::int64_t> most_large;  ///< for each cutoff of the profile: large elements of an orbital, at most

  /// That of a cutoff of the profile.
  std::int64_t most_above(double delta) const;
};

/// Two passes: for a given cutoff, or for those that an automatic one is chosen from.
OrbitalAnalysis analyse_orbitals(const System& system, const EachOrbital& b, const mgemm::Cutoff& cutoff);

/// |B_ia|^2 of every pair. One pass.
std::vector<double> squares_of_orbitals(const EachOrbital& b);

}  // namespace quadrille::ri_mp2
