// The entry points of the device code of this module (updates_cuda.cu), as the host's code calls them.
#pragma once

#include "core/gauge/around/grouped_links.h"
#include "modules/quenched/updates/kernels.h"

namespace quadrille::quenched {

/// What kernels add up, in the device's memory.
struct DeviceTally {
  /// Of the heatbath: attempts, draws, and those by Creutz's method.
  unsigned long long attempts, draws, creutz_attempts, creutz_draws;
  double largest_change;  ///< by reunitarization; never negative
};

/// Ask for the update of one direction and parity; the heatbath adds to the counts of `tally`.
void launch_heatbath(const GroupedLinks& links, const SweepPart& part, DeviceTally* tally);
void launch_overrelaxation(const GroupedLinks& links, const SweepPart& part);
/// Asks for SU(3) matrices and raises tally->largest_change.
void launch_reunitarization(const GroupedLinks& links, DeviceTally* tally);

/// products[place][18] = the product of this rank's time links at each place of its space, x fastest.
void launch_time_products(const GroupedLinks& links, double* products);

/// Overwrite sums[0..6) with the sums of the planes, sums[0..2) with that of the loops (link_updates.h).
void sum_planes(const GroupedLinks& links, double* sums);
void sum_loops(const GroupedLinks& links, double* sums);

}  // namespace quadrille::quenched
