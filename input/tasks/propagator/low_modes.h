// Low modes that propagators leave for others: in memory for those of a job, in a file for other jobs.
#pragma once

#include "core/dims.h"
#include "core/error.h"
#include "core/parameters/parameters.h"

#include <memory>
#include <vector>

namespace quadrille {

class DeflationSpace;
class JobRun;
struct TaskSpec;

/// The parameter group `low_modes` of a task.
Parameter low_modes_group();
/// Appends what is wrong with it on a lattice of `dims`, and with the file that it names.
void check_low_modes(const TaskSpec& task, const Dims& dims, std::vector<Error>& errors);

/// Puts the modes of the file that the task names into a space that has none. Warns of those of another operator or
/// other links. Errors: those of read_low_modes().
void read_low_modes(JobRun& job, const TaskSpec& task, DeflationSpace& space);
/// Keeps what the task's solver leaves: for later tasks of the job, and in the file that the task names. Null: nothing.
void leave_low_modes(JobRun& job, const TaskSpec& task, std::shared_ptr<DeflationSpace> space);

}  // namespace quadrille
