#include "input/tasks/propagator/propagator.h"

#include "core/blas/blas.h"
#include "core/field/propagator.h"
#include "core/system/log.h"
#include "core/tuning/kernel_log.h"
#include "dirac/registry.h"
#include "dirac/systems/even_odd.h"
#include "input/files/propagator_file.h"
#include "input/job/blocks.h"
#include "input/job/job.h"
#include "input/run/job_run.h"
#include "input/run/progress.h"
#include "input/run/stop_signal.h"
#include "input/sources/source_maker.h"
#include "input/tasks/at_once.h"
#include "input/tasks/checks.h"
#include "input/tasks/propagator/low_modes.h"
#include "input/tasks/propagator/quarks_of_source.h"
#include "input/tasks/propagator/source_place.h"
#include "input/tasks/propagator/unfinished_propagator.h"
#include "input/tasks/solve_report.h"
#include "solvers/driver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <vector>

namespace quadrille {

namespace {

void check_propagator(const TaskSpec& task, const Dims& dims, std::vector<Error>& errors) {
  const Parameters& source = task.parameters->group("source");
  gather(errors, [&] { source_entry(source).check(source, dims, task.job_folder); });
  gather(errors, [&] { find_operator(task.op->text("type")).check(*task.op); });
  gather(errors, [&] { (void)solver_spec(*task.solver); });
  gather(errors, [&] { (void)batch_of(*task.parameters); });
  check_low_modes(task, dims, errors);
}

std::vector<TaskReference> references_of_sources() {
  std::vector<TaskReference> out;
  for (const SourceEntry& source : source_registry())
    for (const std::string& parameter : source.references) out.push_back({"source." + parameter, "propagator"});
  return out;
}

void check_propagator_links(const TaskSpec& task, const LoadedGauge& gauge, Backend&, std::vector<Error>& errors) {
  const OperatorForm outer = solver_spec(*task.solver).outer_form();
  check_outer_form(outer, task.solver->where("reconstruct"), *task.op, gauge, errors);
}

using Json = nlohmann::ordered_json;

/// Why columns have no solution.
using Failures = std::map<int, std::string>;

/// One line for all columns without a solution: what follows for the results, and why the first has none.
void warn_of_failures(JobRun& job, const TaskSpec& task, const Failures& failures) {
  if (failures.empty()) return;
  double largest = 0;
  for (const auto& [column, why] : failures) {
    const Json& residual = job.record().solves[std::size_t(column)].at("residual");
    const double value = residual.is_null() ? std::nan("") : residual.get<double>();
    if (!(value <= largest)) largest = value;
  }
  std::vector<std::string> lacking;
  if (task.parameters->has("save") && !task.parameters->group("save").boolean("incomplete")) {
    lacking.push_back("no propagator file");
  }
  if (job.used_later(task)) lacking.push_back("no correlator");
  job.warn(fmt::format("{} of {} columns {} no solution (largest residual {:.3g}){}{}; {}", failures.size(),
                       Propagator::size, failures.size() == 1 ? "has" : "have", largest, lacking.empty() ? "" : ": ",
                       fmt::join(lacking, ", "), failures.begin()->second));
}

SolveLabel label_of(const TaskSpec& task, const EvenOddSystem& system, int column, int at_once) {
  return {task.name, column / 3, column % 3, system.dirac().mass(), system.dirac().kappa(), system.form(), at_once};
}

/// Puts the solve of a column into the record, with the kernels of the `at_once` solves that it was one of. Of a second
/// attempt iterations and seconds include the first.
void record_solve(JobRun& job, const TaskSpec& task, const SystemSolver& solver, const EvenOddSystem& system,
                  int column, SolveReport report, int at_once, const std::vector<KernelRecord>& kernels,
                  Failures& failures) {
  Json& solves = job.record().solves;
  const bool again = std::size_t(column) < solves.size();
  if (again) {
    report.iterations += solves[std::size_t(column)].at("iterations").get<int>();
    report.seconds += solves[std::size_t(column)].at("seconds").get<double>();
  }
  Json entry = solve_json(label_of(task, system, column, at_once), solver.spec(), report, kernels);
  (again ? solves[std::size_t(column)] : solves.emplace_back()) = std::move(entry);
  failures.erase(column);
  if (report.converged) return;
  failures[column] =
      fmt::format("spin {}, color {}: {} ({})", column / 3, column % 3, report.message, to_string(report.stop_reason));
}

/// Solves for columns at once and puts the solves into the record; gives the solutions.
std::vector<Field> solve_columns(JobRun& job, const TaskSpec& task, SystemSolver& solver, const EvenOddSystem& system,
                                 std::span<const int> columns, std::span<const Field> b, Failures& failures) {
  std::vector<Field> out;
  std::vector<Field*> x;
  std::vector<const Field*> rhs;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    out.emplace_back(system.full_desc());
    rhs.push_back(&b[k]);
  }
  for (Field& one : out) x.push_back(&one);
  const auto earlier = kernel_records();
  const std::vector<SolveReport> reports = [&] {
    const JobClock::Span solving = job.count(Phase::solves);
    return solver.solve(x, rhs);
  }();
  const std::vector<KernelRecord> kernels = kernel_records_since(earlier);
  for (std::size_t k = 0; k < columns.size(); ++k) {
    record_solve(job, task, solver, system, columns[k], reports[k], int(columns.size()), kernels, failures);
    if (!std::isfinite(reports[k].residual)) blas::zero(out[k]);  // numbers that no file holds
  }
  return out;
}

/// Columns of one operator take about as many iterations, so one that was given up with less patience than others took
/// iterations deserves it: the patience that the solves of a record suggest.
int patience_from(const Json& solves) {
  int longest = 0;
  for (const Json& solve : solves) {
    if (solve.at("converged").get<bool>()) longest = std::max(longest, solve.at("iterations").get<int>());
  }
  return longest;
}

bool given_up_early(const Json& solve, int patience) {
  const int had = solve.at("patience").get<int>();
  return solve.at("stop_reason") == to_string(StopReason::stagnated) && had > 0 && had < patience;
}

/// The fields that are solved for are the propagator's columns. Without columns when nobody wants them.
/// `before`: bytes of the backend in use before the operator was made. `low_modes`: those that the solver leaves.
Propagator solve_all(JobRun& job, const TaskSpec& task, const EvenOddSystem& system, std::size_t before,
                     Failures& failures, std::shared_ptr<DeflationSpace>& low_modes) {
  const JobClock::Span setup = job.count(Phase::setup);
  const auto earlier = [&](const std::string& name) -> const SolvedPropagator& { return job.propagator(name); };
  const SourceMaker source(task.parameters->group("source"), {*job.gauge().links, task.job_folder, earlier});
  job.done_with_propagators();
  SystemSolver solver(system, solver_spec(*task.solver), job.low_modes(task));
  low_modes = solver.deflation();
  if (low_modes) read_low_modes(job, task, *low_modes);
  const bool wanted = job.used_later(task) || task.parameters->has("save");
  const FieldDesc& full = system.full_desc();
  const bool stays = job.stays_on_backend(task, Propagator::size * full.bytes());
  Propagator out;
  int done = continue_components(job, task, out, failures);
  if (!stays) move_to_host(out);
  const int left = Propagator::size - done;
  const int at_once = solved_at_once(task.name, solver, full, batch_of(*task.parameters), Propagator::size, left,
                                     wanted && stays ? std::size_t(left) * full.bytes() : 0);
  solver.reserve(at_once);
  std::vector<Field> b;
  while (int(b.size()) < at_once) b.emplace_back(full);
  // Less than before where a kept propagator has left the backend meanwhile.
  const std::size_t others = before + (out.columns.empty() ? 0 : out.bytes());
  job.count_memory("operators", std::max(job.backend().allocated_bytes(), others) - others);
  ProgressLine line(task.name, left);
  solver.set_progress([&](const Progress& progress) {
    if (line.active()) line.update(progress);
    stop_if_asked(fmt::format("after {} of {} spin-color components", done, Propagator::size));
  });
  const auto solve = [&](std::span<const int> columns) {
    line.begin_solves(int(columns.size()));
    for (std::size_t k = 0; k < columns.size(); ++k) {
      source.make(b[k], columns[k] / 3, columns[k] % 3);
    }
    std::vector<Field> found = solve_columns(job, task, solver, system, columns, b, failures);
    for (std::size_t k = 0; wanted && k < columns.size(); ++k) {
      if (out.sink == Propagator::Sink::degrand_rossi) to_degrand_rossi(found[k]);  // as those of an interrupted run
      if (std::size_t(columns[k]) == out.columns.size()) {
        out.columns.push_back(std::move(found[k]));
      } else {
        out.columns[std::size_t(columns[k])] = std::move(found[k]);
      }
      if (!stays) move_to_host(out);
    }
  };
  /// `solved` counts them.
  const auto solve_all_of = [&](std::span<const int> columns, int& solved) {
    for (std::size_t some; !columns.empty(); columns = columns.subspan(some)) {
      some = std::min(columns.size(), std::size_t(at_once));
      solve(columns.first(some));
      solved += int(some);
    }
  };
  try {
    auto columns = std::vector<int>(std::size_t(left));
    std::iota(columns.begin(), columns.end(), done);
    solve_all_of(columns, done);
    const int patience = patience_from(job.record().solves);
    solver.set_patience(patience);
    columns.clear();
    for (int column = 0; column < Propagator::size; ++column) {
      if (given_up_early(job.record().solves[std::size_t(column)], patience)) columns.push_back(column);
    }
    int again = 0;
    solve_all_of(columns, again);
  } catch (const Stopped&) {
    keep_components(job, task, out, failures);
    throw;
  }
  if (wanted && stays) job.count_memory("propagators", job.kept_bytes() + out.bytes());
  return out;
}

PropagatorHeader header_of(const JobRun& job, const TaskSpec& task, double mass) {
  const Parameters& source = task.parameters->group("source");
  PropagatorHeader header;
  const SourceEntry& from = source_entry(source);
  header.source = source_position(job.job(), task);
  header.source_type = file_source_type(source);
  if (from.file_elements != nullptr) header.source_elements = from.file_elements(source);
  const OperatorEntry& entry = find_operator(task.op->text("type"));
  header.action = entry.file_action(*task.op);
  header.mass = mass;
  for (const auto& [element, parameter] : entry.file_elements)
    if (task.op->has(parameter)) header.action_numbers.emplace_back(element, task.op->real(parameter));
  if (task.op->has("anisotropy")) {
    header.xi0 = task.op->group("anisotropy").real("xi0");
    header.nu = task.op->group("anisotropy").real("nu");
  }
  header.boundary = task.op->boundary("boundary");
  const SolverEntry& solver = find_solver(task.solver->text("type"));
  header.inverter = solver.file_type;
  header.tolerance_element = solver.file_tolerance;
  header.limit_element = solver.file_limit;
  header.tolerance = task.solver->real("tolerance");
  header.max_iterations = int(task.solver->integer("max_iterations"));
  if (!task.links_from.empty()) {
    header.gauge_file = "the links of " + task.links_from;
  } else if (task.gauge && task.gauge->has("file")) {
    header.gauge_file = task.gauge->text("file");
  }
  header.plaquette = job.gauge().plaquette;
  return header;
}

void save(JobRun& job, const TaskSpec& task, const Propagator& propagator, double mass, bool complete) {
  if (!task.parameters->has("save")) return;
  const JobClock::Span writing = job.count(Phase::write);
  const Parameters& block = task.parameters->group("save");
  if (!complete && !block.boolean("incomplete")) return;
  const std::string& file = block.text("file");
  PropagatorWriteOptions options;
  options.precision = block.text("precision") == "double" ? 64 : 32;
  const Checksum sum =
      write_propagator_file(job.folder().output(file).string(), propagator, header_of(job, task, mass), options);
  job.folder().wrote(file);
  job.record().files.push_back(file);
  if (options.precision == 64 && complete) job.record().data_hash = to_string(sum);
}

/// Logs the cost of this run's solves.
void log_solves(JobRun& job, const TaskSpec& task) {
  double seconds = 0, worst = 0;
  std::int64_t iterations = 0;
  const auto& solves = job.record().solves;
  const int earlier = job.record().continued_solves, count = int(solves.size()) - earlier;
  for (std::size_t k = 0; k < solves.size(); ++k) {
    const auto& residual = solves[k].at("residual");  // null if an earlier run found none
    if (!residual.is_null()) worst = std::fmax(worst, residual.template get<double>());
    if (int(k) < earlier) continue;
    seconds += solves[k].at("seconds").template get<double>();
    iterations += solves[k].at("iterations").template get<std::int64_t>();
  }
  const std::string of_all = earlier == 0 ? "" : fmt::format(" (and {} by an earlier run)", earlier);
  log().info("{}: {} solves{}, {} iterations, {:.2f} s, largest true residual {:.2e}", task.name, count, of_all,
             iterations, seconds, worst);
  if (const std::string unused = unused_words(*task.solver); !unused.empty()) job.warn(unused);
}

/// Solves that are not begun, as their source has no numbers.
void leave_unsolved(JobRun& job, const TaskSpec& task, const std::string& quark) {
  const SolverSpec spec = solver_spec(*task.solver);
  const EvenOddSystem system(find_operator(task.op->text("type")).make(job.gauge().links, *task.op),
                             spec.preconditioning);
  SolveReport none;
  none.stop_reason = StopReason::not_finite;
  for (int column = 0; column < Propagator::size; ++column) {
    Json& entry = job.record().solves.emplace_back(solve_json(label_of(task, system, column, 0), spec, none, {}));
    entry["residual"] = nullptr;
  }
  job.warn(fmt::format("no solve{}{}: '{}', which the source is made of, has no solution",
                       task.parameters->has("save") ? ", no propagator file" : "",
                       job.used_later(task) ? ", no correlator" : "", quark));
  if (!job.used_later(task)) return;
  Propagator propagator = make_propagator(system.full_desc(), Propagator::Sink::ukqcd);
  for (Field& column : propagator.columns) blas::scale(std::nan(""), column);
  job.keep(task, {std::move(propagator), source_position(job.job(), task), Propagator::size});
}

void run_propagator(JobRun& job, const TaskSpec& task) {
  warn_of_hadron(job, task);
  if (const std::string quark = unsolved_quark(job, task); !quark.empty()) return leave_unsolved(job, task, quark);
  double mass = 0;
  Failures failures;
  std::shared_ptr<DeflationSpace> low_modes;
  Propagator propagator = [&] {
    const JobClock::Span setup = job.count(Phase::setup);
    const std::size_t before = job.backend().allocated_bytes();
    const OperatorEntry& entry = find_operator(task.op->text("type"));
    const std::shared_ptr<const DiracOperator> dirac = entry.make(job.gauge().links, *task.op);
    mass = dirac->mass();
    return solve_all(job, task, EvenOddSystem(dirac, solver_spec(*task.solver).preconditioning), before, failures,
                     low_modes);
  }();
  log_solves(job, task);
  warn_of_failures(job, task, failures);
  save(job, task, propagator, mass, failures.empty());
  leave_low_modes(job, task, std::move(low_modes));  // the first of the task's files is the propagator's: restore()
  // Not numbers, rather than what an unfinished solve has left: a correlator would take those for a part of its sum.
  for (const auto& [column, why] : failures) {
    if (!propagator.columns.empty()) blas::scale(std::nan(""), propagator.columns[std::size_t(column)]);
  }
  job.keep(task, {std::move(propagator), source_position(job.job(), task), int(failures.size())});
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
    job.keep(task, {std::move(file.propagator), source_position(job.job(), task)});
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
                   .choices = {"single", "double"}},
                  {.name = "incomplete",
                   .type = ParameterType::boolean,
                   .help = "write the file even if some columns did not converge; they hold the last iterate, or zeros",
                   .default_text = "false"}};
  save.shorthand = "file";
  entry.table.parameters = {source, batch_parameter("columns"), low_modes_group(), save};
  entry.needs_operator = true;
  entry.needs_solver = true;
  entry.references = references_of_sources();
  entry.check = check_propagator;
  entry.check_used = check_quarks_of_source;
  entry.check_links = check_propagator_links;
  entry.run = run_propagator;
  entry.restore = restore;
  return entry;
}

}  // namespace quadrille
