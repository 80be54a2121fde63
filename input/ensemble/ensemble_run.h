// Runs a job on several configurations: makes them where the job says so, then does its tasks on each of them, in a
// folder of its own with its own restart.json, and averages what they have in common.
#pragma once

#include "core/backend/backend.h"
#include "input/ensemble/configurations.h"
#include "input/run/job_clock.h"
#include "input/run/output_folder.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace quadrille {

struct EnsembleOutcome {
  bool converged = true;   ///< every solve of every configuration
  std::size_t failed = 0;  ///< configurations that were left out (ensemble.on_error: continue)
};

/// Carries out a job that has been read and checked (check_ensemble) on `configurations`: results of each go into
/// folder_of() below `place`, those of all into results.json and correlators.h5. A configuration that an earlier run
/// has finished is skipped while its gauge file and its files are as they were. Nothing, with `errors` of one rank at
/// least, when something is wrong with the outputs or the links of the generation. Throws as carry_out() does; also,
/// with ensemble.on_error: stop, the error of a configuration, at its place in the job. Collective.
std::optional<EnsembleOutcome> carry_out_ensemble(const Job& job, const std::vector<Configuration>& configurations,
                                                  const std::filesystem::path& place, FolderRules rules,
                                                  Backend& backend, JobClock& clock, std::vector<Error>& errors,
                                                  const RankGrid& grid = {});

}  // namespace quadrille
