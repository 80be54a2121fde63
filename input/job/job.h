// A job: what a YAML file asks for, validated against the tables, defaults filled in.
#pragma once

#include "core/dims.h"
#include "core/parameters/parameters.h"
#include "input/job/rank_grid.h"
#include "input/tasks/registry.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quadrille {

using BlockPtr = std::shared_ptr<const Parameters>;

/// One task, with the operator and the solver that it uses: its own or the job's; null when it uses none.
struct TaskSpec {
  const TaskEntry* entry = nullptr;
  std::string name;
  std::filesystem::path job_folder;  ///< what its input paths are relative to
  BlockPtr parameters;
  BlockPtr gauge;  ///< the job's, whether the task needs it or not
  BlockPtr op;
  BlockPtr solver;
  std::vector<std::string> uses;  ///< names of the earlier tasks that it refers to
  std::string links_from;         ///< the earlier task on whose links it works; empty: those of the gauge block
};

struct Job {
  std::filesystem::path file;        ///< as given
  std::vector<std::string> modules;  ///< paths of shared objects whose tasks it uses, as the job has them
  BlockPtr gauge;                    ///< null when the job has none, as are the next two
  BlockPtr op;
  BlockPtr solver;
  BlockPtr ensemble;  ///< null unless the job works on several configurations (input/ensemble)
  std::vector<TaskSpec> run;

  /// An input path of the job, taken relative to the job file.
  std::filesystem::path input_path(const std::string& name) const;
};

/// Reads the job, applies the `--set` assignments and validates everything that does not need other files. Of the
/// modules that it names those in `allowed` are loaded, the others are errors. Problems are appended to `errors`,
/// ordered by place; the job is usable only when there are none. Throws what read_yaml_file and apply_override throw.
Job read_job(const std::string& path, const std::vector<std::string>& overrides, std::vector<Error>& errors,
             const std::vector<std::string>& allowed = {});
/// The same from text, `name` in places; its paths are relative to the working directory, and it loads no modules. With
/// `on_links` there are links already, and a gauge block of its own is an error.
Job read_job_text(const std::string& text, const std::string& name, bool on_links, std::vector<Error>& errors);

/// The task of this name. ErrorCode::internal when there is none.
const TaskSpec& find_task(const Job& job, const std::string& name);

/// For a message about an input file that the value at `where` names: " (made by: ...)" where the file is not there and
/// the comment of made_by() (input/job/yaml.h) says how to make it; else empty.
std::string origin_of_missing(const std::filesystem::path& file, const Location& where);

/// Bytes that the job needs at the least on a lattice of `dims`: links, operator, a propagator.
double needed_memory(const Job& job, const Dims& dims);

/// Appends what is wrong with the files that the job reads (missing, unreadable, not a gauge file), and what does not
/// fit the lattice they hold; that a lattice cannot be divided over the ranks; and that it needs more memory than this
/// machine has, for those of its ranks.
void check_inputs(const Job& job, std::vector<Error>& errors, const RankGrid& ranks = {});
/// The part of it that is about the gauge block, which must be right, whatever else is wrong with the job. Gives the
/// extents of the lattice; nothing where they are not known.
std::optional<Dims> check_gauge(const Job& job, std::vector<Error>& errors, const RankGrid& ranks = {});

/// Appends what is wrong with the tasks on a lattice of `dims` (extents 0 where there is none; nothing where they are
/// not known: then tasks that need links are left out); what is wrong with a block that tasks share, once.
void check_tasks(const Job& job, const std::optional<Dims>& dims, std::vector<Error>& errors);
/// Appends why tasks cannot be done by this backend.
void check_backend(const Job& job, Backend& backend, std::vector<Error>& errors);
/// Appends why tasks cannot be done on the links of the gauge block, those that work on them.
void check_links(const Job& job, const LoadedGauge& gauge, Backend& backend, std::vector<Error>& errors);

/// The resolved job, all defaults filled in; itself a valid job.
nlohmann::ordered_json job_json(const Job& job);

/// Where the numbers stand in job_json() that may be larger in a later run in the same folder, which then extends what
/// this one has done: "/run/0/configurations".
std::vector<std::string> extendable(const Job& job);

/// What decides the outcome of a task: its parameters, operator and solver, and the same of the tasks that it uses.
nlohmann::ordered_json task_json(const Job& job, const TaskSpec& task);

/// 64-bit FNV-1a hash of some bytes, as 16 hexadecimal digits; and of the text of a JSON value, in whatever order its
/// keys are.
std::string text_hash(const std::string& text);
std::string json_hash(const nlohmann::ordered_json& value);

}  // namespace quadrille
