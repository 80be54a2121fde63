#include "input/tasks/propagator.h"

#include "core/blas/blas.h"
#include "core/field/propagator.h"
#include "core/system/log.h"
#include "core/tuning/kernel_log.h"
#include "dirac/preconditioned.h"
#include "dirac/registry.h"
#include "input/blocks.h"
#include "input/files/propagator_file.h"
#include "input/job.h"
#include "input/job_run.h"
#include "input/progress.h"
#include "input/sources/registry.h"
#include "input/stop_signal.h"
#include "input/tasks/checks.h"
#include "input/tasks/solve_report.h"
#include "input/tasks/unfinished_propagator.h"
#include "solvers/driver.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>

namespace quadrille {

namespace {

void check(const TaskSpec& task, const Dims& dims, std::vector<Error>& errors) {
  const Parameters& source = task.parameters->group("source");
  gather(errors, [&] { source_entry(source).check(source, dims); });
  gather(errors, [&] { find_operator(task.op->text("type")).check(*task.op); });
  gather(errors, [&] { (void)solver_spec(*task.solver); });
}

void check_links(const TaskSpec& task, const LoadedGauge& gauge, Backend&, std::vector<Error>& errors) {
  const OperatorForm outer = solver_spec(*task.solver).outer_form();
  check_outer_form(outer, task.solver->where("reconstruct"), *task.op, gauge, errors);
}

/// A solve that is no better than x = 0 has no solution to show: not numbers rather than zeros, which a correlator
/// would take for a part of its sum.
void remove_failed(Field& x, const SolveReport& report) {
  if (report.converged || report.residual < 1) return;
  blas::scale(std::nan(""), x);
}

/// The solves of a task that did not converge, with their messages.
using FailedSolves = std::map<StopReason, std::vector<std::string>>;

/// One warning for all that ended for the same reason.
void warn_of_failed(JobRun& job, const FailedSolves& failed) {
  for (const auto& [reason, messages] : failed) {
    job.warn(messages.size() == 1 ? fmt::format("{} ({})", messages[0], to_string(reason))
                                  : fmt::format("{} of {} solves did not converge ({}); {}", messages.size(),
                                                Propagator::size, to_string(reason), messages[0]));
  }
}

void solve_column(JobRun& job, const TaskSpec& task, SystemSolver& solver, const DiracOperator& dirac, int column,
                  Field& x, const Field& b, FailedSolves& failed) {
  const int spin = column / 3, color = column % 3;
  const auto earlier = kernel_records();
  const SolveReport report = [&] {
    const JobClock::Span solving = job.count(Phase::solves);
    return solver.solve(x, b);
  }();
  const SolveLabel label{task.name, spin, color, dirac.mass(), dirac.kappa()};
  job.record().solves.push_back(solve_json(label, solver.spec(), report, kernel_records_since(earlier)));
  if (!report.converged) {
    failed[report.stop_reason].push_back(fmt::format("spin {}, color {}: {}", spin, color, report.message));
  }
  remove_failed(x, report);
}

/// The fields that are solved for are the propagator's columns. Without columns when nobody wants them.
/// `before`: bytes of the backend in use before the operator was made.
Propagator solve_all(JobRun& job, const TaskSpec& task, const DiracOperator& dirac, const EvenOddSystem& system,
                     std::size_t before) {
  const JobClock::Span setup = job.count(Phase::setup);
  const Parameters& source = task.parameters->group("source");
  SystemSolver solver(system, solver_spec(*task.solver));
  const bool wanted = job.used_later(task) || task.parameters->has("save");
  Field b(system.full_desc());
  job.count_memory("operators", job.backend().allocated_bytes() - before);
  const bool stays = job.stays_on_backend(task, Propagator::size * b.desc().bytes());
  Propagator out;
  int column = continue_components(job, task, out);
  if (!stays) move_to_host(out);
  ProgressLine line(task.name, Propagator::size - column);
  solver.set_progress([&](const Progress& progress) {
    if (line.active()) line.update(progress);
    stop_if_asked(fmt::format("after {} of {} spin-color components", column, Propagator::size));
  });
  FailedSolves failed;
  std::optional<Field> x;
  for (; column < Propagator::size; ++column) {
    line.begin_solve();
    source_entry(source).make(source, b, column / 3, column % 3);
    if (!x) x.emplace(system.full_desc());
    try {
      solve_column(job, task, solver, dirac, column, *x, b, failed);
    } catch (const Stopped&) {
      warn_of_failed(job, failed);
      keep_components(job, task, out);
      throw;
    }
    if (!wanted) continue;
    if (out.sink == Propagator::Sink::degrand_rossi) to_degrand_rossi(*x);  // as those of an interrupted run
    out.columns.push_back(std::move(*x));
    x.reset();
    if (!stays) move_to_host(out);
  }
  warn_of_failed(job, failed);
  if (wanted && stays) job.count_memory("propagators", job.kept_bytes() + out.bytes());
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
  if (job.job().gauge && job.job().gauge->has("file")) header.gauge_file = job.job().gauge->text("file");
  header.plaquette = job.gauge().plaquette;
  return header;
}

/// A propagator with numbers that are not finite is not written, with a warning.
void save(JobRun& job, const TaskSpec& task, const Propagator& propagator, double mass) {
  if (!task.parameters->has("save")) return;
  const JobClock::Span writing = job.count(Phase::write);
  const Parameters& block = task.parameters->group("save");
  const std::string& file = block.text("file");
  PropagatorWriteOptions options;
  options.precision = block.text("precision") == "double" ? 64 : 32;
  try {
    const Checksum sum =
        write_propagator_file(job.folder().output(file).string(), propagator, header_of(job, task, mass), options);
    job.folder().wrote(file);
    job.record().files.push_back(file);
    if (options.precision == 64) job.record().data_hash = to_string(sum);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::numerical) throw;
    job.warn(fmt::format("{} is not written: {}", file, error.message()));
  }
}

int source_time(const TaskSpec& task) {
  const Parameters& source = task.parameters->group("source");
  return source_entry(source).position(source)[3];
}

/// Says what the solves of this run took.
void tell(JobRun& job, const TaskSpec& task) {
  double seconds = 0, worst = 0;
  std::int64_t iterations = 0;
  const auto& solves = job.record().solves;
  const int earlier = job.record().continued_solves, count = int(solves.size()) - earlier;
  for (std::size_t k = 0; k < solves.size(); ++k) {
    worst = std::fmax(worst, solves[k].at("residual").template get<double>());
    if (int(k) < earlier) continue;
    seconds += solves[k].at("seconds").template get<double>();
    iterations += solves[k].at("iterations").template get<std::int64_t>();
  }
  const std::string of_all = earlier == 0 ? "" : fmt::format(" (and {} by an earlier run)", earlier);
  log().info("{}: {} solves{}, {} iterations, {:.2f} s, largest true residual {:.2e}", task.name, count, of_all,
             iterations, seconds, worst);
  if (const std::string unused = unused_words(*task.solver); !unused.empty()) job.warn(unused);
}

void run(JobRun& job, const TaskSpec& task) {
  double mass = 0;
  Propagator propagator = [&] {
    const JobClock::Span setup = job.count(Phase::setup);
    const std::size_t before = job.backend().allocated_bytes();
    const OperatorEntry& entry = find_operator(task.op->text("type"));
    const std::shared_ptr<const DiracOperator> dirac = entry.make(job.gauge().links, *task.op);
    mass = dirac->mass();
    return solve_all(job, task, *dirac, EvenOddSystem(dirac), before);
  }();
  tell(job, task);
  save(job, task, propagator, mass);
  job.keep(task, {std::move(propagator), source_time(task)});
}

/// From the file that the task saved, when that is in double precision and still holds what was computed.
bool restore(JobRun& job, const TaskSpec& task) {
  const TaskRecord& record = job.folder().records().at(task.name);
  if (record.data_hash.empty() || record.files.empty()) return false;
  const std::string path = job.folder().path(record.files.front()).string();
  try {
    const JobClock::Span reading = job.count(Phase::read);
    PropagatorFile file = read_propagator_file(path, job.lattice(), job.backend());
    if (to_string(file.info.checksum.computed) != record.data_hash) {
      log().warn("{}: changed since the task '{}' wrote it", path, task.name);
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
  entry.table.help = "solve M S = source for the 4 spins and 3 colors of the source";
  Parameter source = source_block();
  source.required = true;
  Parameter save;
  save.name = "save";
  save.type = ParameterType::group;
  save.help = "write the propagator as a SciDAC file that Chroma reads";
  save.members = {{.name = "file", .type = ParameterType::file_out, .help = "name of the file", .required = true},
                  {.name = "precision",
                   .type = ParameterType::choice,
                   .help = "precision of the file",
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
