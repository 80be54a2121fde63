// The task `md_forces`: errors, offsets and speed of the methods that sum pair forces.
#pragma once

#include "modules/task.h"

namespace quadrille::md {

/// Gives `md_forces.NAME` of results.json, and the CSV file; the rows are described in README.md.
extern const DeclaredTask md_forces_task;

}  // namespace quadrille::md
