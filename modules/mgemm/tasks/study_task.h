// The task `matrix_product_study`: products of salted matrices of many sizes, as a table.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::mgemm {

constexpr std::size_t study_parameter_count = 10;
extern const quadrille_parameter study_parameters[study_parameter_count];

void check_study(const TaskContext& context);

/// Gives `matrix_product_studies.NAME` of results.json, and the CSV file; the rows are described in METHODS.md.
void run_study(const TaskContext& context);

}  // namespace quadrille::mgemm
