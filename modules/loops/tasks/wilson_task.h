// The task `wilson_loops`.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::loops {

constexpr std::size_t wilson_parameter_count = 3;
extern const quadrille_parameter wilson_parameters[wilson_parameter_count];

/// Gives `loops.NAME` of results.json; METHODS.md says what is in it.
void run_wilson_loops(const TaskContext& context);

}  // namespace quadrille::loops
