#include "input/run.h"

#include "core/simd/isa.h"
#include "core/system/log.h"
#include "core/system/memory.h"
#include "input/commands/check.h"
#include "input/files/gauge_file.h"
#include "input/job_clock.h"
#include "input/job_run.h"
#include "input/outputs.h"
#include "input/stop_signal.h"

#include <fmt/format.h>

#include <omp.h>

#include <ostream>

namespace quadrille {

namespace {

namespace fs = std::filesystem;

bool print_errors(const std::vector<Error>& errors, std::ostream& err) {
  for (const Error& error : errors) print_error(err, error.what());
  return !errors.empty();
}

}  // namespace

// The order is that of a job: everything that can be found wrong is, before anything is written.
std::optional<bool> carry_out(const Job& job, const fs::path& place, bool force, Backend& backend,
                              std::optional<LoadedGauge> links, JobClock& clock, std::vector<Error>& errors) {
  OutputFolder folder(place, job_json(job), force);
  remove_leftovers(job, place);
  probe_outputs(job, place, errors);
  if (!errors.empty()) return {};

  LoadedGauge gauge;
  if (job.gauge && backend.host_memory()) require_memory(needed_memory(job, gauge_dims(job)), "this job");
  if (job.gauge || links) {
    const JobClock::Span reading(clock, Phase::read, backend);
    gauge = links ? std::move(*links) : load_gauge(job, backend);
    const Dims& dims = gauge.lattice->global_dims();
    log().info("gauge field: {} x {} x {} x {}, plaquette {:.12f}", dims[0], dims[1], dims[2], dims[3],
               gauge.plaquette);
    check_links(job, gauge, backend, errors);
    if (!errors.empty()) return {};
  }
  folder.begin();
  if (job.gauge && job.gauge->has("save")) {
    const JobClock::Span writing(clock, Phase::write, backend);
    const Parameters& save = job.gauge->group("save");
    write_gauge_file(folder.prepare(save.text("file")).string(), *gauge.links,
                     {.precision = save.text("precision") == "double" ? 64 : 32});
  }
  return JobRun(job, std::move(gauge), folder, backend, clock).run();
}

int run_job(const RunOptions& options, std::ostream& out, std::ostream& err) {
  JobClock clock;
  std::vector<Error> errors;
  const Job job = read_job(options.job, options.overrides, errors, options.allowed_modules);
  const fs::path place = options.out.empty() ? default_output_folder(options.job) : fs::path(options.out);
  if (errors.empty()) check_outputs(job, place, errors);
  if (errors.empty()) check_inputs(job, errors);
  if (print_errors(errors, err)) return 1;

  Backend& backend = find_backend(options.backend);
  check_backend(job, backend, errors);
  if (print_errors(errors, err)) return 1;
  if (options.threads > 0) omp_set_num_threads(options.threads);
  active_isa();  // an instruction set that is asked for and cannot be had is said before anything is written
  const StopSignals signals;
  const std::optional<bool> converged = carry_out(job, place, options.force, backend, {}, clock, errors);
  if (print_errors(errors, err)) return 1;
  const std::string results = (place / "results.json").string();
  out << results << std::endl;
  log().info("{:.2f} s in all, {:.2f} s of them solves", clock.total(), clock.seconds(Phase::solves));
  if (*converged) return 0;
  print_error(err, "a solve did not converge; see 'stop_reason' in " + results);
  return 3;
}

}  // namespace quadrille
