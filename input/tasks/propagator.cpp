#include "input/tasks/propagator.h"

#include "core/convert.h"
#include "core/kernel_log.h"
#include "core/log.h"
#include "dirac/preconditioned.h"
#include "dirac/registry.h"
#include "input/blocks.h"
#include "input/files/propagator_file.h"
#include "input/job.h"
#include "input/job_run.h"
#include "input/progress.h"
#include "input/sources/registry.h"
#include "input/tasks/checks.h"
#include "input/tasks/solve_report.h"
#include "solvers/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille {

namespace {

void check(const TaskSpec& task, const Dims& dims, std::vector<Error>& errors) {
  const Parameters& source = task.parameters->group("source");
  gather(errors, [&] { source_entry(source).check(source, dims); });
  gather(errors, [&] { find_operator(task.op->text("type")).check(*task.op); });
  gather(errors, [&] { (void)solver_spec(*task.solver); });
}

void check_links(const TaskSpec& task, const LoadedGauge& gauge, Backend& backend, std::vector<Error>& errors) {
  const OperatorForm outer = solver_spec(*task.solver).outer_form();
  check_outer_form(outer, task.solver->where("reconstruct"), *task.op, gauge, backend, errors);
}

/// The column (source spin, source colour) of S is the solution x.
void put_column(HostPropagator& out, const HostSpinor& x, int source_spin, int source_color) {
  for (std::int64_t site = 0; site < volume(x.dims); ++site) {
    for (int spin = 0; spin < 4; ++spin) {
      for (int color = 0; color < 3; ++color) {
        const std::int64_t at = (((site * 4 + spin) * 4 + source_spin) * 3 + color) * 3 + source_color;
        out.data[std::size_t(at)] = x.data[std::size_t((site * 4 + spin) * 3 + color)];
      }
    }
  }
}

bool is_finite(const HostPropagator& propagator) {
  return std::all_of(propagator.data.begin(), propagator.data.end(),
                     [](const Complex& z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); });
}

HostPropagator solve_all(JobRun& job, const TaskSpec& task, const DiracOperator& dirac, const EvenOddSystem& system) {
  const Parameters& source = task.parameters->group("source");
  const Dims& dims = job.lattice().dims();
  SystemSolver solver(system, solver_spec(*task.solver));
  ProgressLine line(task.name, 12);
  if (line.active()) solver.set_progress([&line](const Progress& progress) { line.update(progress); });
  Field b(system.full_desc()), x(system.full_desc());
  HostPropagator out(dims);
  HostSpinor column(dims);
  for (int spin = 0; spin < 4; ++spin) {
    for (int color = 0; color < 3; ++color) {
      line.begin_solve();
      import_spinor(b, source_entry(source).make(source, dims, spin, color));
      const auto earlier = kernel_records();
      const SolveReport report = solver.solve(x, b);
      const SolveLabel label{task.name, spin, color, dirac.mass(), dirac.kappa()};
      job.record().solves.push_back(solve_json(label, solver.spec(), report, kernel_records_since(earlier)));
      if (!report.converged) {
        job.warn(
            fmt::format("spin {}, colour {}: {} ({})", spin, color, report.message, to_string(report.stop_reason)));
      }
      export_spinor(column, x);
      put_column(out, column, spin, color);
    }
  }
  return out;
}

PropagatorHeader header_of(const JobRun& job, const TaskSpec& task, double mass) {
  const Parameters& source = task.parameters->group("source");
  PropagatorHeader header;
  header.source = source_entry(source).position(source);
  header.source_type = source.text("type");
  header.mass = mass;
  if (task.op->has("anisotropy")) {
    header.xi0 = task.op->group("anisotropy").real("xi0");
    header.nu = task.op->group("anisotropy").real("nu");
  }
  header.boundary = task.op->boundary("boundary");
  header.solver = task.solver->text("type");
  header.tolerance = task.solver->real("tolerance");
  header.max_iterations = int(task.solver->integer("max_iterations"));
  if (job.job().gauge->has("file")) header.gauge_file = job.job().gauge->text("file");
  header.plaquette = job.gauge().plaquette;
  return header;
}

void save(JobRun& job, const TaskSpec& task, const HostPropagator& propagator, double mass) {
  if (!task.parameters->has("save")) return;
  const Parameters& block = task.parameters->group("save");
  const std::string& file = block.text("file");
  if (!is_finite(propagator)) {
    job.warn(fmt::format("{} is not written: the propagator holds numbers that are not finite", file));
    return;
  }
  PropagatorWriteOptions options;
  options.precision = block.text("precision") == "double" ? 64 : 32;
  write_propagator_file(job.folder().prepare(file).string(), propagator, header_of(job, task, mass), options);
  job.record().files.push_back(file);
  if (options.precision == 64) job.record().data_hash = data_hash(propagator);
}

int source_time(const TaskSpec& task) {
  const Parameters& source = task.parameters->group("source");
  return source_entry(source).position(source)[3];
}

void run(JobRun& job, const TaskSpec& task) {
  const OperatorEntry& entry = find_operator(task.op->text("type"));
  const std::shared_ptr<const DiracOperator> dirac = entry.make(job.gauge().source, *task.op, job.backend());
  const EvenOddSystem system(dirac);
  HostPropagator propagator = solve_all(job, task, *dirac, system);
  double seconds = 0, worst = 0;
  std::int64_t iterations = 0;
  for (const auto& solve : job.record().solves) {
    seconds += solve.at("seconds").get<double>();
    iterations += solve.at("iterations").get<std::int64_t>();
    worst = std::fmax(worst, solve.at("residual").get<double>());
  }
  log().info("{}: 12 solves, {} iterations, {:.2f} s, largest true residual {:.2e}", task.name, iterations, seconds,
             worst);
  if (task.solver->text("scheme") == "uniform" && task.solver->given("sloppy")) {
    job.warn("'solver.sloppy' is not used by scheme: uniform");
  }
  save(job, task, propagator, dirac->mass());
  job.keep(task, {std::move(propagator), source_time(task)});
}

/// From the file that the task saved, when that is in double precision and still holds what was computed.
bool restore(JobRun& job, const TaskSpec& task) {
  const TaskRecord& record = job.folder().records().at(task.name);
  if (record.data_hash.empty() || record.files.empty()) return false;
  const std::string path = job.folder().path(record.files.front()).string();
  try {
    PropagatorFile file = read_propagator_file(path);
    if (data_hash(file.propagator) != record.data_hash) {
      log().warn("{}: no longer what the task '{}' computed", path, task.name);
      return false;
    }
    job.keep(task, {std::move(file.propagator), source_time(task)});
  } catch (const Error& error) {
    log().warn("{}", error.what());
    return false;
  }
  return true;
}

}  // namespace

TaskEntry propagator_task() {
  TaskEntry entry;
  entry.name = "propagator";
  entry.table.name = "task propagator";
  entry.table.help = "solve M S = source for the 4 spins and 3 colours of the source";
  Parameter source = source_block();
  source.required = true;
  Parameter save;
  save.name = "save";
  save.type = ParameterType::group;
  save.help = "write the propagator as a SciDAC file, as Chroma reads it";
  save.members = {{.name = "file", .type = ParameterType::file_out, .help = "its name", .required = true},
                  {.name = "precision",
                   .type = ParameterType::choice,
                   .help = "of the numbers in the file",
                   .default_text = "single",
                   .choices = {"single", "double"}}};
  entry.table.parameters = {source, save};
  entry.needs_operator = true;
  entry.needs_solver = true;
  entry.check = check;
  entry.check_links = check_links;
  entry.run = run;
  entry.restore = restore;
  return entry;
}

}  // namespace quadrille
