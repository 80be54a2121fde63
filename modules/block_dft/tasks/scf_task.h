// The task `scf_model`: self-consistent charges of a tight-binding model, made or from files.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::block_dft {

constexpr std::size_t scf_parameter_count = 27;
extern const quadrille_parameter scf_parameters[scf_parameter_count];

void check_scf(const TaskContext& context);

/// Gives a block under the task's name in results.json; METHODS.md describes it.
void run_scf(const TaskContext& context);

}  // namespace quadrille::block_dft
