// The task `matrix_function`: the inverse, exponential, sign or a root of a symmetric matrix in a file, or of a model.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::block_dft {

constexpr std::size_t function_parameter_count = 12;
extern const quadrille_parameter function_parameters[function_parameter_count];

void check_function_task(const TaskContext& context);

/// Gives a block under the task's name in results.json; METHODS.md describes it.
void run_function(const TaskContext& context);

}  // namespace quadrille::block_dft
