// The task `md_forces`: errors, offsets and speed of the methods that sum pair forces.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::md {

constexpr std::size_t forces_parameter_count = 12;
extern const quadrille_parameter forces_parameters[forces_parameter_count];

void check_forces(const TaskContext& context);

/// Gives `pair_forces.NAME` of results.json, and the CSV file; the rows are described in METHODS.md.
void run_forces(const TaskContext& context);

}  // namespace quadrille::md
