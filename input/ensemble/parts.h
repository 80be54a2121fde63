// A job on several configurations as jobs on one each.
#pragma once

#include "input/ensemble/configurations.h"
#include "input/job/job.h"

#include <nlohmann/json.hpp>

namespace quadrille {

/// The tasks that make the configurations: all up to `ensemble.from`, on the job's own gauge block. The job must have
/// `ensemble.from`.
Job generating_part(const Job& job);

/// Whether the name of an input file has {name}, which stands for that of the configuration.
bool names_configuration(const std::string& file);
/// Whether a task of the job reads such a file.
bool reads_by_name(const Job& job);

/// The tasks on one configuration: those of the job, or those after `ensemble.from`, on its file as `gauge.file`, and
/// its name in the place of {name} in the names of files that they read.
Job measuring_part(const Job& job, const Configuration& configuration);

/// What makes an output folder that of another job: all but the list of files and how averages are made, which later
/// runs may change.
nlohmann::ordered_json ensemble_identity(const Job& job);

}  // namespace quadrille
