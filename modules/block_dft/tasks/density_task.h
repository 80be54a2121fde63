// The task `density_matrix`: the density matrix of a Hamiltonian and an overlap matrix in files.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::block_dft {

constexpr std::size_t density_parameter_count = 15;
extern const quadrille_parameter density_parameters[density_parameter_count];

void check_density_task(const TaskContext& context);

/// Gives a block under the task's name in results.json; METHODS.md describes it.
void run_density(const TaskContext& context);

}  // namespace quadrille::block_dft
