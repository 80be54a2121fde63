#include "input/plugins/module_task.h"

#include "core/backend/backend.h"
#include "dirac/registry.h"
#include "input/job/blocks.h"
#include "input/job/job.h"
#include "input/plugins/module_host.h"
#include "input/plugins/module_run.h"
#include "input/run/job_run.h"
#include "input/run/stop_signal.h"
#include "input/tasks/checks.h"
#include "solvers/driver.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace quadrille {
namespace {

using Item = Parameters::Item;

/// Inside a catch: what a module has let out of one of its functions.
std::string escaped(const char* function) {
  const std::string text = fmt::format("an exception escaped from its function '{}'", function);
  try {
    throw;
  } catch (const std::exception& error) {
    return text + ": " + error.what();
  } catch (...) {
    return text;
  }
}

/// The task's functions, as its module gives them.
const quadrille_task& functions_of(const TaskSpec& task) {
  return task.entry->module->tasks[task.entry->module_task].descriptor;
}

/// Calls a function of a module and throws what it reports.
template <class Call>
void module_call(quadrille_run& run, const char* function, Call&& call) {
  quadrille_status status = QUADRILLE_FAILED;
  try {
    status = call();
  } catch (const std::bad_alloc&) {  // as of the program itself
    throw;
  } catch (...) {
    (void)defect(&run, escaped(function));
  }
  note_foreign_call(&run);
  if (status == QUADRILLE_STOPPED && !run.failure && module_host.should_stop(&run) != 0)
    throw Stopped(run.stopped_where);
  if (status != QUADRILLE_DONE && !run.failure) {
    (void)defect(&run, fmt::format("its function '{}' failed without saying why", function));
  }
  if (run.failure) std::rethrow_exception(run.failure);
}

/// A file that the task reads must be there: else says why not.
void check_file(const Item& item, const std::string& name, const TaskSpec& task, std::vector<Error>& errors) {
  const std::filesystem::path file = task.job_folder / std::get<std::string>(item.scalar);
  std::error_code failed;
  if (std::filesystem::is_regular_file(file, failed) && std::ifstream(file)) return;
  const char* reason = !std::filesystem::exists(file, failed)        ? "no such file"
                       : std::filesystem::is_directory(file, failed) ? "this is a folder, not a file"
                       : std::filesystem::is_other(file, failed)     ? "this is a pipe or a device, not a file"
                                                                     : "cannot be read";
  errors.emplace_back(ErrorCode::file,
                      fmt::format("'{}': {}: {}{}", name, file.string(), reason, origin_of_missing(file, item.where)),
                      item.where);
}

/// The same for those that a parameter names, of a list and of a map too.
void check_files(const Item& item, const std::string& name, const TaskSpec& task, std::vector<Error>& errors) {
  if (item.type == ParameterType::file_in) check_file(item, name, task, errors);
  for (std::size_t k = 0; k < item.list.size(); ++k) {
    check_files(item.list[k], fmt::format("{}[{}]", name, k), task, errors);
  }
  if (!item.group) return;
  for (const auto& [member, inner] : item.group->items()) check_files(inner, name + "." + member, task, errors);
}

void check_for(Backend* backend, const TaskSpec& task, std::vector<Error>& errors) {
  const auto check = functions_of(task).check;
  if (check == nullptr) return;
  quadrille_run run{task, nullptr, backend};
  try {
    module_call(run, "check", [&] { return check(&module_host, &run); });
  } catch (const Error& error) {
    errors.push_back(error);
  }
}

void check(const TaskSpec& task, const Dims&, std::vector<Error>& errors) {
  const std::size_t before = errors.size();
  if (task.op) gather(errors, [&] { find_operator(task.op->text("type")).check(*task.op); });
  if (task.solver) gather(errors, [&] { (void)solver_spec(*task.solver); });
  for (const auto& [name, item] : task.parameters->items()) check_files(item, name, task, errors);
  if (errors.size() == before) check_for(nullptr, task, errors);
}

void check_solver_on(const TaskSpec& task, const LoadedGauge& gauge, Backend&, std::vector<Error>& errors) {
  const OperatorForm outer = solver_spec(*task.solver).outer_form();
  check_outer_form(outer, task.solver->where("reconstruct"), *task.op, gauge, errors);
}

void check_backend(const TaskSpec& task, Backend& backend, std::vector<Error>& errors) {
  check_for(&backend, task, errors);
}

/// The names of a task whose output parameters are patterns.
std::vector<std::string> outputs(const TaskSpec& task) {
  struct Names {
    quadrille_run run;
    std::vector<std::string> all;
  } names{{task, nullptr}, {}};
  const auto add = [](void* to, const char* name) {
    Names& into = *static_cast<Names*>(to);
    (void)host_call(&into.run, "add", [&] {
      into.all.emplace_back(given(name, "the name of an output"));
      return QUADRILLE_DONE;
    });
  };
  module_call(names.run, "outputs", [&] { return functions_of(task).outputs(&module_host, &names.run, add, &names); });
  return names.all;
}

void run_task(JobRun& job, const TaskSpec& task) {
  quadrille_run run{task, &job, &job.backend()};
  module_call(run, "run", [&] { return functions_of(task).run(&module_host, &run); });
  if (task.entry->makes_links && !run.has_set_links) {
    (void)defect(&run, "it has the flag QUADRILLE_MAKES_LINKS but did not call 'set_links'");
    std::rethrow_exception(run.failure);
  }
  job.record().result = std::move(run.result);
  for (const auto& [block, entry] : run.blocks.items()) job.record().blocks[block] = entry;
}

}  // namespace

TaskEntry module_task(const Module& module, std::size_t index) {
  const ModuleTask& task = module.tasks[index];
  TaskEntry entry;
  entry.name = task.name;
  entry.table = task.table;
  const auto needs = [&](std::uint32_t bit) { return (task.descriptor.flags & bit) != 0; };
  // A propagator is one on the job's links: a task that takes it may ask for them, and depends on them.
  const bool takes_propagators = std::any_of(task.earlier.begin(), task.earlier.end(),
                                             [](const TaskParameter& earlier) { return earlier.kind == "propagator"; });
  entry.needs_links = needs(QUADRILLE_NEEDS_LINKS) || takes_propagators;
  entry.needs_operator = needs(QUADRILLE_NEEDS_OPERATOR);
  entry.needs_solver = needs(QUADRILLE_NEEDS_SOLVER);
  entry.on_ranks = needs(QUADRILLE_ON_RANKS);
  entry.makes_links = needs(QUADRILLE_MAKES_LINKS);
  entry.extends = task.extends;
  if (entry.needs_solver) entry.check_links = check_solver_on;
  for (const TaskParameter& earlier : task.earlier) entry.references.push_back({earlier.name, earlier.kind});
  entry.module = &module;
  entry.module_task = index;
  entry.check = check;
  entry.check_backend = check_backend;
  if (task.descriptor.outputs != nullptr) entry.outputs = outputs;
  entry.run = run_task;
  return entry;
}

}  // namespace quadrille
