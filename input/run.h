// `quadrille run`: carries out a job.
#pragma once

#include "input/rank_grid.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace quadrille {

constexpr int most_threads = 1024;

struct RunOptions {
  std::string job;
  std::string out;  ///< empty: beside the job file, its name with ".yaml" or ".yml" replaced by ".out"
  std::vector<std::string> overrides;
  std::string backend = "auto";
  int threads = 0;  ///< 0: what OpenMP would use
  bool force = false;
  RankGrid grid;
  std::vector<std::string> allowed_modules;  ///< that the job may have loaded, beside those of QUADRILLE_MODULE_PATH
};

/// Runs the job and writes its results. Gives the exit status 0, 1 (errors in the job, each one line on `err`) or 3 (a
/// solve did not converge; results are written). Throws Error for everything else that goes wrong.
int run_job(const RunOptions& options, std::ostream& out, std::ostream& err);

}  // namespace quadrille
