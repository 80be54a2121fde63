// The task `polyakov`.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::loops {

constexpr std::size_t polyakov_parameter_count = 1;
extern const quadrille_parameter polyakov_parameters[polyakov_parameter_count];

/// Gives `loops.NAME` of results.json; METHODS.md says what is in it.
void run_polyakov(const TaskContext& context);

}  // namespace quadrille::loops
