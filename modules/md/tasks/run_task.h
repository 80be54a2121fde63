// The task `md_run`: molecular dynamics with neighbour lists.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::md {

constexpr std::size_t run_parameter_count = 26;
extern const quadrille_parameter run_parameters[run_parameter_count];

void check_run(const TaskContext& context);

/// Gives `dynamics.NAME` of results.json, the CSV file, and the trajectory and the state where the job names files for
/// them; METHODS.md says what is in them. An interrupted run goes on with the same bits.
void run_dynamics(const TaskContext& context);

}  // namespace quadrille::md
