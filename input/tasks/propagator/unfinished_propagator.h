// A propagator that is not finished: its solved components stay for a later run of the job.
#pragma once

#include "core/field/propagator.h"
#include "input/run/job_run.h"

#include <map>
#include <string>

namespace quadrille {

/// Puts why columns have no solution into `failures`, and the components that an interrupted run of the task at hand
/// has kept into `out`, in the backend's memory and with DeGrand-Rossi sink spins, and their solves and warnings into
/// its record; gives their number, 0 when there are none.
int continue_components(JobRun& job, const TaskSpec& task, Propagator& out, std::map<int, std::string>& failures);

/// Keeps the columns of `out`, the first of its components, for such a run, in double precision.
void keep_components(JobRun& job, const TaskSpec& task, Propagator& out, const std::map<int, std::string>& failures);

}  // namespace quadrille
