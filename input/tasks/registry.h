// Tasks: what a job can do. One entry each in an explicit table.
#pragma once

#include "core/parameters/parameters.h"

#include <string>
#include <vector>

namespace quadrille {

class Backend;
struct Job;
class JobRun;
struct LoadedGauge;
struct Module;
struct TaskSpec;

/// A parameter that holds the name of an earlier task of the job, or a list of names.
struct TaskReference {
  std::string parameter;  ///< in a group "group.parameter"; nothing where there is no such group
  std::string kind;       ///< the kind of task it must name
};

/// One kind of task. `- task: NAME` in a job's `run` list; `table` holds the keys that are its own.
struct TaskEntry {
  std::string name;
  ParameterTable table;
  bool needs_links = true;  ///< a job of tasks that need none may do without a gauge field
  bool needs_operator = false;
  bool needs_solver = false;
  bool makes_links = false;  ///< later tasks work on the links that it makes
  bool on_ranks = true;      ///< several ranks can do it together
  /// Its own integers that may be larger in a later run, which then continues from the end of this one.
  std::vector<std::string> extends = {};
  std::vector<TaskReference> references = {};
  /// A parameter with which a task that only works on propagators needs the links of the first task it refers to.
  std::string links_of_used = {};
  /// Checks that need the lattice (extents are 0 where there is none) or other files: appends what does not fit to
  /// `errors`. May be null.
  void (*check)(const TaskSpec& task, const std::array<int, 4>& dims, std::vector<Error>& errors) = nullptr;
  /// Checks that need the earlier tasks that it refers to: appends what does not fit. May be null.
  void (*check_used)(const TaskSpec& task, const Job& job, std::vector<Error>& errors) = nullptr;
  /// Checks that need to know who will do the task: appends why this backend cannot. May be null.
  void (*check_backend)(const TaskSpec& task, Backend& backend, std::vector<Error>& errors) = nullptr;
  /// Checks that need the links: appends why the task cannot be done on them. May be null.
  void (*check_links)(const TaskSpec& task, const LoadedGauge& gauge, Backend& backend,
                      std::vector<Error>& errors) = nullptr;
  /// Names of the files that the task writes into the output folder, for a task whose parameters of type file_out are
  /// patterns of names. Null when each of them is a name.
  std::vector<std::string> (*outputs)(const TaskSpec& task) = nullptr;
  /// Does the task: its results go into the job's results, its files into the output folder.
  void (*run)(JobRun& job, const TaskSpec& task) = nullptr;
  /// For a task that an earlier run has finished: puts what later tasks use of it back without computing it. False
  /// when that cannot be done; the task is then run again. May be null.
  bool (*restore)(JobRun& job, const TaskSpec& task) = nullptr;
  const Module* module = nullptr;  ///< whose task it is; null for one of the program
  std::size_t module_task = 0;     ///< its number in the module
};

/// The tasks of the program, then those of all modules that are loaded, at this time. Entries stay where they are. May
/// be called by several threads at once, as load_tasks() may.
std::vector<const TaskEntry*> task_registry();

/// Loads a module with its tasks (modules/shared/plugin/loader.h: load_module).
void load_tasks(const std::string& file);

}  // namespace quadrille
