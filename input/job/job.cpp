#include "input/job/job.h"

#include "core/comm/process_grid.h"
#include "core/field/site_format.h"
#include "core/system/memory.h"
#include "input/job/blocks.h"
#include "input/job/document.h"
#include "input/job/gauge.h"
#include "input/job/overrides.h"
#include "input/job/yaml.h"
#include "modules/shared/plugin/loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

const Value* find(const Value& map, const std::string& key) {
  const auto* entries = std::get_if<Value::Map>(&map.data);
  if (!entries) return nullptr;
  for (const auto& entry : *entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

BlockPtr block_of(const Parameters& parameters, const std::string& name) {
  return parameters.has(name) ? std::make_shared<const Parameters>(parameters.group(name)) : nullptr;
}

bool good_name(const std::string& name) {
  const auto good = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '_' || c == '-' || c == '.'); };
  return !name.empty() && name.size() <= 64 && name[0] != '.' && std::all_of(name.begin(), name.end(), good);
}

/// Turns the tree of a job into a Job, collecting what is wrong.
class JobReader {
 public:
  JobReader(Job& job, const Value& root, std::vector<Error>& errors, const std::vector<std::string>& allowed)
      : job_(job), root_(root), errors_(errors), allowed_(allowed) {}

  /// `on_links`: there are links already.
  void read(bool on_links) {
    const Parameters blocks = resolve(job_table(), root_, errors_, {"run"});
    if (blocks.has("modules")) load_modules(blocks.list("modules"));
    job_.gauge = block_of(blocks, "gauge");
    job_.op = block_of(blocks, "operator");
    job_.solver = block_of(blocks, "solver");
    const Value* run = find(root_, "run");
    if (run) read_tasks(*run);
    if (job_.gauge || !find(root_, "gauge")) read_ensemble(block_of(blocks, "ensemble"));
    const bool any_task = run && !job_.run.empty();
    const bool links_needed = !any_task || std::any_of(job_.run.begin(), job_.run.end(),
                                                       [](const TaskSpec& task) { return task.entry->needs_links; });
    if (job_.gauge && on_links) add(job_.gauge->where(), "the job runs on the host's links: leave out 'gauge'");
    if (!find(root_, "gauge") && !on_links && links_needed && errors_.empty()) {
      add(root_.where, any_task ? "'gauge' is missing: the tasks need links; give a map such as {file: field.lime}"
                                : "nothing to do: give 'gauge' and 'run', a list of tasks");
    }
  }

 private:
  void add(const Location& where, std::string message) {
    errors_.emplace_back(ErrorCode::invalid_input, std::move(message), where);
  }

  void load_modules(const std::vector<Parameters::Item>& list) {
    for (const Parameters::Item& item : list) {
      const std::string& given = std::get<std::string>(item.scalar);
      const std::filesystem::path path = job_.input_path(given);
      job_.modules.push_back(given);
      const auto same = [&](const std::string& allowed) {
        std::error_code failed;
        return std::filesystem::equivalent(path, allowed, failed) || path == allowed;
      };
      if (!std::any_of(allowed_.begin(), allowed_.end(), same)) {
        add(item.where,
            fmt::format("a module can do anything that a program can: permit this one with --allow-module '{}'",
                        path.string()));
        continue;
      }
      try {
        load_tasks(path.string());
      } catch (const Error& error) {
        errors_.emplace_back(error.code(), error.message(), item.where);
      }
    }
  }

  void read_ensemble(BlockPtr block) {
    const bool files = job_.gauge && job_.gauge->has("files");
    if (files && !block) block = default_ensemble(job_.gauge->where("files"));
    job_.ensemble = block;
    if (!block) return;
    if (block->has("from")) {
      if (files) {
        add(block->where("from"),
            fmt::format("'ensemble.from' cannot be combined with 'gauge.files' ({}): leave it out",
                        to_string(job_.gauge->where("files"))));
      }
      check_maker(block->text("from"), block->where("from"));
    } else if (!files) {
      add(block->where(),
          "'ensemble' is for several configurations: give 'gauge.files', or here 'from', the name of a "
          "task that saves them");
    }
  }

  void check_maker(const std::string& wanted, const Location& where) {
    std::vector<std::string> known;
    for (const TaskSpec& task : job_.run) {
      if (!task.entry->makes_links) continue;
      if (task.name == wanted) return;
      known.push_back(task.name);
    }
    if (broken_.count(wanted)) return;
    add(where, fmt::format("'ensemble.from' must name a task that makes gauge fields, got '{}'; {}", wanted,
                           known.empty() ? "there is none" : fmt::format("the job has {}", fmt::join(known, ", "))));
  }

  void read_tasks(const Value& run) {
    const auto* list = std::get_if<Value::List>(&run.data);
    if (!list) {
      add(run.where, "'run' must be a list of tasks such as [{task: propagator, ...}]");
      return;
    }
    Parameter block = task_block();
    for (std::size_t k = 0; k < list->size(); ++k) {
      block.name = fmt::format("run[{}]", k);
      const BlockPtr parameters = resolve_variant(block, (*list)[k], errors_);
      if (parameters) {
        read_task(parameters, (*list)[k]);
      } else {
        remember_broken((*list)[k]);
      }
    }
  }

  /// A task that is wrong still has a name, so that one mistake gives one message.
  void remember_broken(const Value& value) {
    for (const char* key : {"name", "task"}) {
      const Value* name = find(value, key);
      const auto* scalar = name ? std::get_if<Value::Scalar>(&name->data) : nullptr;
      if (scalar && broken_.insert({scalar->text, {}}).second) return;
      if (scalar) return;
    }
  }

  void read_task(const BlockPtr& parameters, const Value& value) {
    TaskSpec task;
    const std::string kind = parameters->text("task");
    for (const TaskEntry* entry : task_registry()) {
      if (entry->name == kind) task.entry = entry;
    }
    task.parameters = parameters;
    task.job_folder = job_.file.parent_path();
    const bool named = parameters->has("name");
    task.name = named ? parameters->text("name") : kind;
    const Location where = named ? parameters->where("name") : value.where;
    if (!good_name(task.name)) {
      add(where,
          fmt::format("'name' must be at most 64 letters, digits, '_', '-' or '.', and not begin with '.', got '{}'",
                      task.name));
    }
    if (task.entry->module != nullptr && is_results_block(task.name)) {
      add(where, fmt::format("the name '{}' is taken: results.json has a block of that name", task.name));
    }
    const auto twin =
        std::find_if(job_.run.begin(), job_.run.end(), [&](const TaskSpec& other) { return other.name == task.name; });
    if (twin != job_.run.end()) {
      add(where,
          fmt::format("a task named '{}' exists already ({}); {}", task.name, to_string(twin->parameters->where()),
                      named ? "names are unique" : "give this one a 'name'"));
    }
    task.gauge = job_.gauge;
    task.op = choose_block("operator", task.entry->needs_operator, job_.op, task, value);
    task.solver = choose_block("solver", task.entry->needs_solver, job_.solver, task, value);
    for (const TaskReference& reference : task.entry->references) check_reference(reference, task);
    task.links_from = links_for(*task.entry);
    const std::string& with = task.entry->links_of_used;
    if (!with.empty() && task.parameters->has(with) && !task.uses.empty())
      task.links_from = find_task(job_, task.uses.front()).links_from;
    job_.run.push_back(std::move(task));
  }

  /// Tasks work on the links that the last task before them has made. Those on propagators only work on no links.
  std::string links_for(const TaskEntry& entry) const {
    if (!entry.needs_links || !(entry.needs_operator || entry.module != nullptr)) return {};
    std::string from;
    for (const TaskSpec& earlier : job_.run) {
      if (earlier.entry->makes_links) from = earlier.name;
    }
    return from;
  }

  BlockPtr choose_block(const std::string& block, bool needed, const BlockPtr& of_job, const TaskSpec& task,
                        const Value& value) {
    if (!needed) return nullptr;
    if (task.parameters->has(block)) return block_of(*task.parameters, block);
    if (!of_job && !find(root_, block) && block == "solver") return job_.solver = default_solver(value.where);
    if (!of_job && !find(root_, block)) {
      add(value.where, fmt::format("task '{}' needs '{}': give the job or this task a block '{}'; "
                                   "`quadrille help {}` lists its keys",
                                   task.name, block, block, block));
    }
    return of_job;
  }

  void check_reference(const TaskReference& reference, TaskSpec& task) {
    const Parameters* block = task.parameters.get();
    std::string last = reference.parameter;
    for (std::size_t dot; (dot = last.find('.')) != std::string::npos; last.erase(0, dot + 1)) {
      if (!block->has(last.substr(0, dot))) return;
      block = &block->group(last.substr(0, dot));
    }
    for (const auto& [name, item] : block->items()) {
      if (name != last) continue;
      if (item.type != ParameterType::list) check_reference(reference, item, task);
      for (const Parameters::Item& entry : item.list) check_reference(reference, entry, task);
    }
  }

  void check_reference(const TaskReference& reference, const Parameters::Item& item, TaskSpec& task) {
    const std::string& wanted = std::get<std::string>(item.scalar);
    std::vector<std::string> known;
    for (const TaskSpec& earlier : job_.run) {
      if (earlier.entry->name != reference.kind) continue;
      known.push_back(earlier.name);
      if (earlier.name != wanted) continue;
      task.uses.push_back(wanted);
      return;
    }
    if (broken_.count(wanted)) return;
    add(item.where,
        fmt::format("'{}' must name an earlier {} task, got '{}'; {}", reference.parameter, reference.kind, wanted,
                    known.empty() ? "there is none" : fmt::format("the job has {}", fmt::join(known, ", "))));
  }

  Job& job_;
  const Value& root_;
  std::vector<Error>& errors_;
  const std::vector<std::string>& allowed_;
  std::map<std::string, Location> broken_;
};

/// Two tasks that use the job's operator find the same thing wrong with it.
void add_new(const std::vector<Error>& found, std::vector<Error>& errors) {
  for (const Error& error : found) {
    const std::string text = error.what();
    const bool known = std::any_of(errors.begin(), errors.end(), [&](const Error& e) { return e.what() == text; });
    if (!known) errors.push_back(error);
  }
}

}  // namespace

const TaskSpec& find_task(const Job& job, const std::string& name) {
  for (const TaskSpec& task : job.run) {
    if (task.name == name) return task;
  }
  throw Error(ErrorCode::internal, "the job has no task '" + name + "'");
}

std::filesystem::path Job::input_path(const std::string& name) const { return file.parent_path() / name; }

std::string origin_of_missing(const std::filesystem::path& file, const Location& where) {
  std::error_code failed;
  if (std::filesystem::exists(file, failed)) return {};
  const std::string origin = made_by(where);
  return origin.empty() ? origin : fmt::format(" (made by: {})", origin);
}

namespace {

void read_root(Job& job, const Value& root, bool on_links, std::vector<Error>& errors,
               const std::vector<std::string>& allowed) {
  const std::size_t before = errors.size();
  if (std::holds_alternative<Value::Map>(root.data)) {
    JobReader(job, root, errors, allowed).read(on_links);
  } else {
    errors.emplace_back(ErrorCode::invalid_input, "a job is a map with the keys gauge, operator, solver, run",
                        root.where);
  }
  const auto place = [](const Error& error) { return std::tuple(error.where().line, error.where().column); };
  std::stable_sort(errors.begin() + std::ptrdiff_t(before), errors.end(),
                   [&](const Error& a, const Error& b) { return place(a) < place(b); });
}

}  // namespace

Job read_job(const std::string& path, const std::vector<std::string>& overrides, std::vector<Error>& errors,
             const std::vector<std::string>& allowed) {
  Value root = read_yaml_file(path);
  for (const std::string& assignment : overrides) apply_override(root, assignment);
  Job job;
  job.file = path;
  read_root(job, root, false, errors, allowed);
  return job;
}

Job read_job_text(const std::string& text, const std::string& name, bool on_links, std::vector<Error>& errors) {
  Job job;
  job.file = name;  // in the working directory
  read_root(job, read_yaml_text(text, name), on_links, errors, {});
  return job;
}

double needed_memory(const Job& job, const Dims& dims) {
  constexpr double links = 4 * 18 * sizeof(double), spinor = spinor_numbers * sizeof(double),
                   propagator = spinor_components * spinor;
  const auto any = [&](auto&& holds) { return std::any_of(job.run.begin(), job.run.end(), holds); };
  double site = links;
  // Those that a task makes, beside those that it starts from.
  if (any([](const TaskSpec& task) { return !task.links_from.empty(); })) site += links;
  // The operator's own links, a right-hand side, a solution and a few vectors of the solver.
  if (any([](const TaskSpec& task) { return task.entry->needs_operator; })) site += links + 6 * spinor;
  if (any([](const TaskSpec& task) { return task.entry->name == "propagator"; })) site += propagator;
  for (const int extent : dims) site *= extent;
  return site;
}

std::optional<Dims> check_gauge(const Job& job, std::vector<Error>& errors, const RankGrid& ranks) {
  Dims dims;
  const Location& where = job.gauge->where(job.gauge->has("file") ? "file" : "dims");
  try {
    dims = gauge_dims(job);
  } catch (const Error& error) {
    errors.emplace_back(error.code(),
                        fmt::format("'gauge.file': {}{}", error.what(),
                                    origin_of_missing(job.input_path(job.gauge->text("file")), where)),
                        where);
    return {};
  }
  const double needed = needed_memory(job, dims) * ranks.share_of_host(), total = memory_here().total;
  if (needed > total) {
    errors.emplace_back(ErrorCode::unsupported,
                        fmt::format("not enough memory: a lattice of {} sites needs at least {}, this machine has {}",
                                    fmt::join(dims, " x "), bytes_text(needed), bytes_text(total)),
                        where);
  }
  try {
    (void)choose_grid(dims, ranks.size(), ranks.wanted);
  } catch (const Error& error) {
    errors.emplace_back(error.code(), error.message(), ranks.wanted ? Location{.file = ranks.name} : where);
  }
  return dims;
}

void check_inputs(const Job& job, std::vector<Error>& errors, const RankGrid& ranks) {
  if (!job.gauge && ranks.wanted) {
    errors.emplace_back(ErrorCode::invalid_input,
                        "divides a lattice over ranks, and this job has no 'gauge' block: leave it out",
                        Location{.file = ranks.name});
  }
  check_tasks(job, job.gauge ? check_gauge(job, errors, ranks) : Dims{}, errors);
}

void check_tasks(const Job& job, const std::optional<Dims>& dims, std::vector<Error>& errors) {
  for (const TaskSpec& task : job.run) {
    if (!dims && task.entry->needs_links) continue;
    std::vector<Error> found;
    if (task.entry->check) task.entry->check(task, dims.value_or(Dims{}), found);
    if (task.entry->check_used) task.entry->check_used(task, job, found);
    add_new(found, errors);
  }
}

void check_backend(const Job& job, Backend& backend, std::vector<Error>& errors) {
  for (const TaskSpec& task : job.run) {
    std::vector<Error> found;
    if (task.entry->check_backend) task.entry->check_backend(task, backend, found);
    add_new(found, errors);
  }
}

void check_links(const Job& job, const LoadedGauge& gauge, Backend& backend, std::vector<Error>& errors) {
  for (const TaskSpec& task : job.run) {
    std::vector<Error> found;
    if (task.entry->check_links && task.links_from.empty()) task.entry->check_links(task, gauge, backend, found);
    add_new(found, errors);
  }
}

Json job_json(const Job& job) {
  Json out = Json::object();
  if (!job.modules.empty()) out["modules"] = job.modules;
  if (job.gauge) out["gauge"] = to_json(*job.gauge);
  if (job.ensemble) out["ensemble"] = to_json(*job.ensemble);
  if (job.op) out["operator"] = to_json(*job.op);
  if (job.solver) out["solver"] = to_json(*job.solver);
  out["run"] = Json::array();
  for (const TaskSpec& task : job.run) {
    Json one = {{"task", task.entry->name}, {"name", task.name}};
    one.update(to_json(*task.parameters));
    out["run"].push_back(std::move(one));
  }
  return out;
}

std::vector<std::string> extendable(const Job& job) {
  std::vector<std::string> out;
  for (std::size_t k = 0; k < job.run.size(); ++k) {
    for (const std::string& name : job.run[k].entry->extends) out.push_back(fmt::format("/run/{}/{}", k, name));
  }
  return out;
}

Json task_json(const Job& job, const TaskSpec& task) {
  Json out = to_json(*task.parameters);
  out["name"] = task.name;
  if (task.op) out["operator"] = to_json(*task.op);
  if (task.solver) out["solver"] = to_json(*task.solver);
  if (!task.uses.empty()) {
    out["uses"] = Json::array();
    for (const std::string& name : task.uses) out["uses"].push_back(task_json(job, find_task(job, name)));
  }
  return out;
}

std::string text_hash(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

std::string json_hash(const Json& value) { return text_hash(nlohmann::json(value).dump()); }

}  // namespace quadrille
