// The task `gradient_flow`.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::flow {

constexpr std::size_t flow_parameter_count = 7;
extern const quadrille_parameter flow_parameters[flow_parameter_count];

void check_flow(const TaskContext& context);

/// Gives `flows.NAME` of results.json, and a gauge file where the job names one; METHODS.md says what is in them. An
/// interrupted run goes on with the same bits.
void run_flow(const TaskContext& context);

}  // namespace quadrille::flow
