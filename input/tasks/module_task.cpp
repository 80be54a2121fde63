#include "input/tasks/module_task.h"

#include "core/backend/backend.h"
#include "input/job.h"
#include "input/job_run.h"
#include "input/stop_signal.h"
#include "input/tasks/module_host.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace quadrille {
namespace {

using Item = Parameters::Item;

/// Inside a catch: what a module has let out of one of its functions.
std::string escaped(const char* function) {
  const std::string text = fmt::format("an exception left its function '{}'", function);
  try {
    throw;
  } catch (const std::exception& error) {
    return text + ": " + error.what();
  } catch (...) {
    return text;
  }
}

/// Calls a function of a module and throws what it reports.
template <class Call>
void module_call(quadrille_run& run, const char* function, Call&& call) {
  quadrille_status status = QUADRILLE_FAILED;
  try {
    status = call();
  } catch (...) {
    (void)defect(&run, escaped(function));
  }
  if (status == QUADRILLE_STOPPED && !run.failure && module_host.should_stop(&run) != 0)
    throw Stopped(run.stopped_where);
  if (status != QUADRILLE_DONE && !run.failure) {
    (void)defect(&run, fmt::format("its function '{}' failed without saying why", function));
  }
  if (run.failure) throw *run.failure;
}

/// Every file that the task reads must be there; returns whether all are.
bool check_files(const Parameters& parameters, const TaskSpec& task, std::vector<Error>& errors) {
  bool good = true;
  const auto check = [&](const Item& item, const std::string& name) {
    if (item.type != ParameterType::file_in) return;
    const std::filesystem::path file = task.job_folder / std::get<std::string>(item.scalar);
    std::error_code failed;
    if (std::filesystem::is_regular_file(file, failed) && std::ifstream(file)) return;
    good = false;
    const char* reason = !std::filesystem::exists(file, failed)        ? "no such file"
                         : std::filesystem::is_directory(file, failed) ? "this is a folder, not a file"
                                                                       : "cannot be read";
    errors.emplace_back(ErrorCode::file, fmt::format("'{}': {}: {}", name, file.string(), reason), item.where);
  };
  for (const auto& [name, item] : parameters.items()) {
    check(item, name);
    for (const Item& entry : item.list) check(entry, name);
    if (item.group) good = check_files(*item.group, task, errors) && good;
  }
  return good;
}

void check_for(Backend* backend, const TaskSpec& task, std::vector<Error>& errors) {
  const quadrille_module& module = task.entry->module->descriptor;
  if (module.check == nullptr) return;
  quadrille_run run{task, nullptr, backend};
  try {
    module_call(run, "check", [&] { return module.check(&module_host, &run, task.entry->module_task); });
  } catch (const Error& error) {
    errors.push_back(error);
  }
}

void check(const TaskSpec& task, const Dims&, std::vector<Error>& errors) {
  if (check_files(*task.parameters, task, errors)) check_for(nullptr, task, errors);
}

void check_backend(const TaskSpec& task, Backend& backend, std::vector<Error>& errors) {
  check_for(&backend, task, errors);
}

/// The names of a task whose output parameters are patterns.
std::vector<std::string> outputs(const TaskSpec& task) {
  const quadrille_module& module = task.entry->module->descriptor;
  struct Names {
    quadrille_run run;
    std::vector<std::string> all;
  } names{{task, nullptr}, {}};
  const auto add = [](void* to, const char* name) {
    Names& into = *static_cast<Names*>(to);
    (void)host_call(&into.run, [&] {
      into.all.emplace_back(given(name, "the name of an output"));
      return QUADRILLE_DONE;
    });
  };
  module_call(names.run, "outputs",
              [&] { return module.outputs(&module_host, &names.run, task.entry->module_task, add, &names); });
  return names.all;
}

/// Operators of the same job see the links of its gauge block, which a reader of the job may not expect.
void warn_of_operators(JobRun& job, const TaskSpec& task) {
  for (const TaskSpec& other : job.job().run) {
    if (!other.op) continue;
    job.warn(fmt::format("the task '{}' works on the links of the block 'gauge', not on those that '{}' makes",
                         other.name, task.name));
  }
}

/// What a module throws here comes after its work: a warning, so that neither results nor an earlier error are lost.
void destroy_instance(JobRun& job, const TaskSpec& task, void* instance) noexcept {
  try {
    try {
      task.entry->module->descriptor.destroy(instance);
    } catch (...) {
      job.warn(of_module(task, escaped("destroy")));
    }
  } catch (...) {  // no memory is left to say so
  }
}

void run_task(JobRun& job, const TaskSpec& task) {
  const quadrille_module& module = task.entry->module->descriptor;
  quadrille_run run{task, &job, &job.backend()};
  if ((task.entry->module->tasks[task.entry->module_task].flags & QUADRILLE_MAKES_LINKS) != 0) {
    warn_of_operators(job, task);
  }
  void* instance = nullptr;
  if (module.create != nullptr) {
    module_call(run, "create", [&] { return module.create(&module_host, &run, task.entry->module_task, &instance); });
  }
  {
    struct Destroy {
      JobRun& job;
      const TaskSpec& task;
      void* instance;
      ~Destroy() {
        if (task.entry->module->descriptor.destroy != nullptr) destroy_instance(job, task, instance);
      }
    } const destroy{job, task, instance};
    module_call(run, "run", [&] { return module.run(&module_host, &run, task.entry->module_task, instance); });
  }
  job.record().result = std::move(run.result);
  for (const auto& [block, entry] : run.blocks.items()) job.record().blocks[block] = entry;
}

}  // namespace

TaskEntry module_task(const Module& module, std::size_t index) {
  TaskEntry entry;
  entry.name = module.tasks[index].name;
  entry.table = module.tasks[index].table;
  entry.needs_links = (module.tasks[index].flags & QUADRILLE_NEEDS_LINKS) != 0;
  entry.module = &module;
  entry.module_task = index;
  entry.check = check;
  entry.check_backend = check_backend;
  if (module.descriptor.outputs != nullptr) entry.outputs = outputs;
  entry.run = run_task;
  return entry;
}

}  // namespace quadrille
