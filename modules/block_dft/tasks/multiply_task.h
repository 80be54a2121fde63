// The task `block_multiply`: speed of products of random block-sparse matrices, and errors of filtered ones.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::block_dft {

constexpr std::size_t multiply_parameter_count = 21;
extern const quadrille_parameter multiply_parameters[multiply_parameter_count];

void check_multiply(const TaskContext& context);

/// Gives `block_products.NAME` of results.json, and the CSV file; METHODS.md describes the rows.
void run_multiply(const TaskContext& context);

}  // namespace quadrille::block_dft
