#include "input/commands/check.h"

#include "core/backend/backend.h"
#include "core/printable.h"
#include "core/system/thread_count.h"
#include "input/ensemble/ensemble_check.h"
#include "input/job/job.h"
#include "input/run/outputs.h"

#include <ostream>

namespace quadrille {

void print_error(std::ostream& err, const std::string& what) {
  err << "quadrille: error: " << printable(what) << std::endl;
}

int check(const std::string& job_file, const std::vector<std::string>& overrides,
          const std::vector<std::string>& allowed, const std::string& backend, std::ostream& out, std::ostream& err) {
  (void)default_threads();  // a number that cannot be is said before anything works with it
  std::vector<Error> errors;
  const Job job = read_job(job_file, overrides, errors, allowed);
  const std::filesystem::path place = default_output_folder(job_file);
  if (errors.empty() && job.ensemble) {
    const std::vector<Configuration> configurations = list_configurations(job, place, errors);
    check_ensemble(job, configurations, place, BrokenFiles::are_errors, errors);
  } else if (errors.empty()) {
    check_outputs(job, place, errors);
    check_inputs(job, errors);
  } else if (job.gauge && !job.gauge->has("files")) {
    check_gauge(job, errors);
  }
  if (errors.empty() && !backend.empty()) check_backend(job, find_backend(backend), errors);
  for (const Error& error : errors) print_error(err, error.what());
  if (!errors.empty()) return 1;
  out << printable(job_file) << ": no errors" << std::endl;
  return 0;
}

}  // namespace quadrille
