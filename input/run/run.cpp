#include "input/run/run.h"

#include "core/comm/agreement.h"
#include "core/comm/process_grid.h"
#include "core/simd/isa.h"
#include "core/system/log.h"
#include "core/system/memory.h"
#include "core/system/thread_count.h"
#include "input/commands/check.h"
#include "input/ensemble/ensemble_check.h"
#include "input/ensemble/ensemble_run.h"
#include "input/files/gauge_file.h"
#include "input/job/document.h"
#include "input/run/job_clock.h"
#include "input/run/job_run.h"
#include "input/run/json_changes.h"
#include "input/run/outputs.h"
#include "input/run/stop_signal.h"

#include <fmt/format.h>

#include <omp.h>

#include <ostream>

namespace quadrille {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Whether any rank has some. Collective.
bool any_errors(const Communicator& all, const std::vector<Error>& errors) {
  double failed = errors.empty() ? 0 : 1;
  all.maximum(&failed, 1);
  return failed > 0;
}

/// Ranks of different jobs would wait for each other for ever.
void require_one_job(const Communicator& all, const Job& job) {
  const Json mine = job_json(job);
  require_same(all, mine.dump(), [&](const std::string& of_first) {
    return Error(ErrorCode::invalid_input,
                 fmt::format("this rank has read another job than rank 0: {}; all ranks must have the same file",
                             first_difference(Json::parse(of_first), mine)),
                 {.file = job.file.string()});
  });
}

/// A pattern may match other files on another rank's host, or at another time.
void require_same_files(const Communicator& all, const std::vector<Configuration>& mine, const std::string& job) {
  std::string names;
  for (const Configuration& one : mine) names += one.file + '\n';
  require_same(all, names, [&](const std::string&) {
    return Error(ErrorCode::invalid_input, "this rank finds other gauge files than rank 0: all must see the same ones",
                 {.file = job});
  });
}

}  // namespace

void check_ranks(const Job& job, int ranks, std::vector<Error>& errors) {
  if (ranks == 1) return;
  for (const TaskSpec& task : job.run) {
    if (task.entry->on_ranks) continue;
    errors.emplace_back(ErrorCode::unsupported,
                        fmt::format("the task {} ({}) runs on one rank only in this version: start it without mpirun",
                                    task.name, task.entry->name),
                        task.parameters->where());
  }
}

std::optional<bool> carry_out(const Job& job, const fs::path& place, FolderRules rules, Backend& backend,
                              std::optional<LoadedGauge> links, JobClock& clock, std::vector<Error>& errors,
                              const RankGrid& grid) {
  OutputFolder folder(place, job_json(job), rules, grid.all(), extendable(job));
  return carry_out_in(folder, job, backend, std::move(links), clock, errors, grid);
}

// The order is that of a job: everything that can be found wrong is, before anything is written.
std::optional<bool> carry_out_in(OutputFolder& folder, const Job& job, Backend& backend,
                                 std::optional<LoadedGauge> links, JobClock& clock, std::vector<Error>& errors,
                                 const RankGrid& grid) {
  const std::shared_ptr<const Communicator> all = grid.all();
  const fs::path& place = folder.place();
  clock.continue_from(folder.timing());
  on_first_rank(*all, [&] {
    remove_leftovers(job, place);
    check_outputs_in(folder, job, errors);
    probe_outputs(job, place, errors);
  });
  if (any_errors(*all, errors)) return {};

  LoadedGauge gauge;
  std::shared_ptr<const Communicator> ranks = all;
  if (job.gauge && backend.host_memory()) require_memory(needed_memory(job, gauge_dims(job)) / grid.size(), "this job");
  if (job.gauge || links) {
    const JobClock::Span reading(clock, Phase::read, backend);
    gauge = links ? std::move(*links) : load_gauge(job, backend, grid);
    ranks = gauge.lattice->shared_communicator();
    agree_on_signals_over(ranks);
    const Dims& dims = gauge.lattice->global_dims();
    if (ranks->size() > 1) log().info("{} ranks in a grid {}", ranks->size(), grid_text(ranks->grid()));
    log().info("gauge field: {} x {} x {} x {}, plaquette {:.12f}", dims[0], dims[1], dims[2], dims[3],
               gauge.plaquette);
    check_links(job, gauge, backend, errors);
    if (any_errors(*all, errors)) return {};
  } else {
    agree_on_signals_over(ranks);
  }
  folder.begin(inputs_of(job));
  if (job.gauge && job.gauge->has("save")) {
    const JobClock::Span writing(clock, Phase::write, backend);
    const Parameters& save = job.gauge->group("save");
    const std::string& file = save.text("file");
    write_gauge_file(folder.output(file).string(), *gauge.links,
                     {.precision = save.text("precision") == "double" ? 64 : 32, .origin = gauge.origin});
    folder.wrote(file);
  }
  return JobRun(job, std::move(gauge), std::move(ranks), folder, backend, clock).run();
}

int run_job(const RunOptions& options, std::ostream& out, std::ostream& err) {
  JobClock clock;
  std::vector<Error> errors;
  omp_set_num_threads(options.threads > 0 ? options.threads : default_threads());
  const std::shared_ptr<const Communicator> all = options.grid.all();
  const auto failed = [&] {
    for (const Error& error : errors) print_error(err, error.what());
    return any_errors(*all, errors);
  };
  const Job job = read_job(options.job, options.overrides, errors, options.allowed_modules);
  const fs::path place = options.out.empty() ? default_output_folder(options.job) : fs::path(options.out);
  std::vector<Configuration> configurations;
  if (errors.empty() && job.ensemble) {
    configurations = list_configurations(job, place, errors);
    const bool goes_on = job.ensemble->text("on_error") == "continue";
    check_ensemble(job, configurations, place, goes_on ? BrokenFiles::are_left_out : BrokenFiles::are_errors, errors,
                   options.grid);
  } else {
    if (errors.empty()) check_outputs(job, place, errors);
    if (errors.empty()) check_inputs(job, errors, options.grid);
  }
  if (failed()) return 1;
  require_one_job(*all, job);
  require_same_files(*all, configurations, options.job);

  Backend& backend = options.grid.backend(options.backend);
  const UseLane on_its_device(backend, nullptr);
  check_backend(job, backend, errors);
  check_ranks(job, all->size(), errors);
  if (failed()) return 1;
  active_isa();  // an instruction set that this CPU or build lacks is an error before anything is written
  const StopSignals signals(options.grid.first());
  std::optional<EnsembleOutcome> outcome;
  if (job.ensemble) {
    outcome = carry_out_ensemble(job, configurations, place, options.rules, backend, clock, errors, options.grid);
  } else if (const auto converged = carry_out(job, place, options.rules, backend, {}, clock, errors, options.grid)) {
    outcome = {.converged = *converged};
  }
  if (failed()) return 1;
  const std::string results = (place / "results.json").string();
  out << results << std::endl;
  log().info("{}", clock.text());
  if (outcome->failed > 0) {
    print_error(err, fmt::format("left out: {} of {} configurations: see 'configurations' in {}", outcome->failed,
                                 configurations.size(), results));
    return 1;
  }
  if (outcome->converged) return 0;
  print_error(err, "not converged: see 'converged' in " + results);
  return 3;
}

}  // namespace quadrille
