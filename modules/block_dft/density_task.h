// The task `density_matrix`: the density matrix of a Hamiltonian and an overlap matrix in files.
#pragma once

#include "modules/task.h"

namespace quadrille::block_dft {

/// Gives a block under the task's name in results.json; README.md describes it.
extern const DeclaredTask density_matrix_task;

}  // namespace quadrille::block_dft
