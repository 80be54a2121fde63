// The task `smear`: smeared links, on which later tasks of the job work.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::flow {

constexpr std::size_t smear_parameter_count = 9;
extern const quadrille_parameter smear_parameters[smear_parameter_count];

void check_smear(const TaskContext& context);

/// Gives `smearings.NAME` of results.json, and a gauge file where the job names one; METHODS.md says what is in them.
void run_smear(const TaskContext& context);

}  // namespace quadrille::flow
