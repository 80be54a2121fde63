// `quadrille run`: carries out a job.
#pragma once

#include "input/job/gauge.h"
#include "input/job/job.h"
#include "input/job/rank_grid.h"
#include "input/run/job_clock.h"
#include "input/run/output_folder.h"

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace quadrille {

struct RunOptions {
  std::string job;
  std::string out;  ///< empty: beside the job file, its name with ".yaml" or ".yml" replaced by ".out"
  std::vector<std::string> overrides;
  std::string backend = "auto";
  int threads = 0;  ///< 0: what OpenMP would use
  FolderRules rules;
  RankGrid grid;
  std::vector<std::string> allowed_modules;  ///< that the job may have loaded, beside those of QUADRILLE_MODULE_PATH
};

/// Adds what this job cannot do on so many ranks: tasks that run on one only.
void check_ranks(const Job& job, int ranks, std::vector<Error>& errors);

/// Carries out a job that has been read and checked against its inputs and the backend, on `links` where the job has
/// none of its own: writes its files and results.json into `place`. Gives whether all has converged; nothing,
/// with `errors` of one rank at least, when something is wrong with its outputs or with the links. Throws Error for
/// everything else, and Stopped (input/run/stop_signal.h). Collective.
std::optional<bool> carry_out(const Job& job, const std::filesystem::path& place, FolderRules rules, Backend& backend,
                              std::optional<LoadedGauge> links, JobClock& clock, std::vector<Error>& errors,
                              const RankGrid& grid = {});

/// The same in a folder that is open, as the part of a job that it is.
std::optional<bool> carry_out_in(OutputFolder& folder, const Job& job, Backend& backend,
                                 std::optional<LoadedGauge> links, JobClock& clock, std::vector<Error>& errors,
                                 const RankGrid& grid = {});

/// Runs the job and writes its results. Gives the exit status 0, 1 (errors in the job, each one line on `err`, or
/// configurations that were left out; then results are written) or 3 (a solve did not converge; results are written).
/// Throws Error for everything else that goes wrong.
int run_job(const RunOptions& options, std::ostream& out, std::ostream& err);

}  // namespace quadrille
