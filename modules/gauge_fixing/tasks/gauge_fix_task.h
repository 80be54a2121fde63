// The task `gauge_fix`: links in Landau or Coulomb gauge, on which later tasks of the job work.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::gauge_fixing {

constexpr std::size_t gauge_fix_parameter_count = 5;
extern const quadrille_parameter gauge_fix_parameters[gauge_fix_parameter_count];

/// Gives `gauge_fixings.NAME` of results.json, and a gauge file where the job names one; METHODS.md says what is in
/// them. Links that are not fixed to the tolerance are handed on, too: `converged` says so.
void run_gauge_fix(const TaskContext& context);

}  // namespace quadrille::gauge_fixing
