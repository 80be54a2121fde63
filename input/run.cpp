#include "input/run.h"

#include "core/isa.h"
#include "core/log.h"
#include "input/commands/check.h"
#include "input/files/gauge_file.h"
#include "input/job_run.h"

#include <fmt/format.h>

#include <omp.h>

#include <ostream>

namespace quadrille {

namespace {

namespace fs = std::filesystem;

fs::path output_folder(const RunOptions& options) {
  if (!options.out.empty()) return options.out;
  fs::path folder = options.job;
  const std::string ending = folder.extension().string();
  if (ending == ".yaml" || ending == ".yml") folder.replace_extension();
  folder += ".out";
  return folder;
}

/// An output that would replace an input is refused before anything is written.
void check_overwriting(const Parameters& parameters, const fs::path& input, const OutputFolder& folder) {
  for (const auto& [name, item] : parameters.items()) {
    if (item.group) check_overwriting(*item.group, input, folder);
    if (item.type != ParameterType::file_out) continue;
    const fs::path output = folder.path(std::get<std::string>(item.scalar));
    if (fs::weakly_canonical(output) == fs::weakly_canonical(input)) {
      throw Error(ErrorCode::invalid_input,
                  fmt::format("'{}' would overwrite the input {}; choose another name", name, input.string()),
                  item.where);
    }
  }
}

void check_overwriting(const Job& job, const OutputFolder& folder) {
  if (!job.gauge->has("file")) return;
  const fs::path input = job.input_path(job.gauge->text("file"));
  check_overwriting(*job.gauge, input, folder);
  for (const TaskSpec& task : job.run) check_overwriting(*task.parameters, input, folder);
}

}  // namespace

int run_job(const RunOptions& options, std::ostream& out, std::ostream& err) {
  std::vector<Error> errors;
  const Job job = read_job(options.job, options.overrides, errors);
  if (errors.empty()) check_inputs(job, errors);
  for (const Error& error : errors) print_error(err, error.what());
  if (!errors.empty()) return 1;

  Backend& backend = find_backend(options.backend);
  if (options.threads > 0) omp_set_num_threads(options.threads);
  active_isa();  // an instruction set that is asked for and cannot be had is said before anything is written
  OutputFolder folder(output_folder(options), job_json(job), options.force);
  check_overwriting(job, folder);

  LoadedGauge gauge = load_gauge(job);
  const Dims& dims = gauge.lattice->global_dims();
  log().info("gauge field: {} x {} x {} x {}, plaquette {:.12f}", dims[0], dims[1], dims[2], dims[3], gauge.plaquette);
  folder.begin();
  if (job.gauge->has("save")) {
    write_gauge_file(folder.prepare(job.gauge->text("save")).string(), gauge.source->links());
  }
  const bool converged = JobRun(job, std::move(gauge), folder, backend).run();
  out << folder.path("results.json").string() << std::endl;
  if (converged) return 0;
  print_error(err, "a solve did not converge; see 'stop_reason' in " + folder.path("results.json").string());
  return 3;
}

}  // namespace quadrille
