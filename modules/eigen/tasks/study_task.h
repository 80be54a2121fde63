// The task `eigen_study`: the times of phases beside those of LAPACK's drivers.
#pragma once

#include "modules/shared/plugin/module.h"
#include "modules/shared/plugin/task.h"

#include <cstddef>

namespace quadrille::eigen {

constexpr std::size_t study_parameter_count = 7;
extern const quadrille_parameter study_parameters[study_parameter_count];
void run_study(const TaskContext& context);

}  // namespace quadrille::eigen
