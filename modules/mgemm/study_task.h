// The task `matrix_product_study`: products of salted matrices of many sizes, as a table.
#pragma once

#include "modules/task.h"

namespace quadrille::mgemm {

/// Gives `matrix_product_studies.NAME` of results.json, and the CSV file; the rows are described in README.md.
extern const DeclaredTask matrix_product_study_task;

}  // namespace quadrille::mgemm
