// The task `ri_mp2_study`: errors and speed against delta, for systems of files and one that is made up.
#pragma once

#include "modules/task.h"

namespace quadrille::ri_mp2 {

/// Gives `ri_mp2_studies.NAME` of results.json, and the CSV file; the rows are described in README.md.
extern const DeclaredTask ri_mp2_study_task;

}  // namespace quadrille::ri_mp2
