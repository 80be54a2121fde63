// The task `block_multiply`: speed of products of random block-sparse matrices, and errors of filtered ones.
#pragma once

#include "modules/task.h"

namespace quadrille::block_dft {

/// Gives `block_products.NAME` of results.json, and the CSV file; README.md describes the rows.
extern const DeclaredTask block_multiply_task;

}  // namespace quadrille::block_dft
