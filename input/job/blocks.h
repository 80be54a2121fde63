// The blocks of a job as parameters, gathered from the tables of their owners.
#pragma once

#include "core/parameters/parameters.h"

namespace quadrille {

/// `gauge:` where the links come from.
const Parameter& gauge_block();
/// `ensemble:` how tasks run on several configurations, and how averages are made.
const Parameter& ensemble_block();
/// What stands for a job's `ensemble` when it has none and names several files.
std::shared_ptr<const Parameters> default_ensemble(const Location& where);
/// `operator:` the entries of dirac/registry.
const Parameter& operator_block();
/// `solver:` the entries of solvers/registry.
const Parameter& solver_block();
/// What stands for a job's `solver` when it has none and a task needs one.
std::shared_ptr<const Parameters> default_solver(const Location& where);
/// `source:` of a task: the entries of input/sources/registry.
const Parameter& source_block();
/// One entry of `run:` the entries of input/tasks/registry, each with the keys that every task has: `name`, and its
/// own `operator` and `solver` when it uses them.
Parameter task_block();
/// A whole job, but for its list `run`.
const ParameterTable& job_table();

}  // namespace quadrille
