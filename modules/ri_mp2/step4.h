// How step 4 is done in mixed precision: the cutoff, the length of sums in single, and whether to split B at all.
#pragma once

#include "modules/ri_mp2/ri_mp2.h"

#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::ri_mp2 {

struct SplitChoice {
  bool split = false;
  double delta = 0;
  std::int64_t depth = 0;  ///< longest sum in single
  double error = 0;        ///< of the energy, for a cutoff that was chosen: bound or estimate, in Hartree
  std::string form;        ///< in words, with the reason
};

/// For batches of `batch` occupied orbitals. An automatic cutoff is the cheapest of those tried whose error of the
/// energy is below the target: by the bounds of error_bound.h and energy.h where the assurance is certain, by
/// SampledEnergyError where it is measured.
SplitChoice choose_split(const System& system, const std::vector<double>& b, const Options& options,
                         std::int64_t batch);

}  // namespace quadrille::ri_mp2
