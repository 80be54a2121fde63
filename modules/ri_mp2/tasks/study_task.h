// The task `ri_mp2_study`: errors and speed against delta, for systems of files and one that is made up.
#pragma once

#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::ri_mp2 {

constexpr std::size_t study_parameter_count = 11;
extern const quadrille_parameter study_parameters[study_parameter_count];

void check_study(const TaskContext& context);

/// Gives `ri_mp2_studies.NAME` of results.json, and the CSV file; the rows are described in METHODS.md.
void run_study(const TaskContext& context);

}  // namespace quadrille::ri_mp2
