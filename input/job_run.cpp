#include "input/job_run.h"

#include "core/build_id.h"
#include "core/isa.h"
#include "core/log.h"
#include "input/document.h"
#include "input/outputs.h"
#include "modules/loader.h"

#include <fmt/format.h>

#include <omp.h>

#include <algorithm>
#include <cstring>

namespace quadrille {

using Json = nlohmann::ordered_json;

JobRun::JobRun(const Job& job, LoadedGauge gauge, OutputFolder& folder, Backend& backend)
    : job_(job), gauge_(std::move(gauge)), folder_(folder), backend_(backend) {}

std::string JobRun::key_of(const TaskSpec& task) const {
  Json key = {{"task", task_json(job_, task)}, {"version", QUADRILLE_VERSION}};
  if (task.entry->needs_links) {
    key["gauge"] = to_json(*job_.gauge);
    key["checksum"] = gauge_.checksum;
  }
  if (task.entry->module != nullptr) key["module"] = module_state(task);
  return json_hash(key);
}

Json JobRun::module_state(const TaskSpec& task) const {
  const quadrille_module& module = task.entry->module->descriptor;
  Json files = Json::array();
  for (const std::filesystem::path& file : input_files(task)) {
    std::error_code failed;
    files.push_back({std::filesystem::file_size(file, failed),
                     std::filesystem::last_write_time(file, failed).time_since_epoch().count()});
  }
  // That of the program itself does not count: what an earlier build finished is not done again.
  const char* build = task.entry->module->file.empty() ? "" : module.build_id;
  return {{"name", module.name}, {"version", module.version}, {"build_id", build}, {"files", files}};
}

void JobRun::warn(const std::string& text) {
  log().warn(text);
  record_.warnings.push_back(text);
}

bool JobRun::used_after(const std::string& name, std::size_t position) const {
  return std::any_of(job_.run.begin() + std::ptrdiff_t(position), job_.run.end(), [&](const TaskSpec& later) {
    return std::find(later.uses.begin(), later.uses.end(), name) != later.uses.end();
  });
}

void JobRun::keep(const TaskSpec& task, SolvedPropagator propagator) {
  // While an earlier task is done again, the task at hand is the one that uses it.
  if (used_after(task.name, position_)) kept_[task.name] = std::move(propagator);
}

const SolvedPropagator& JobRun::propagator(const std::string& name) {
  const auto known = kept_.find(name);
  if (known != kept_.end()) return known->second;
  const auto task = std::find_if(job_.run.begin(), job_.run.end(), [&](const TaskSpec& t) { return t.name == name; });
  if (!task->entry->restore || !task->entry->restore(*this, *task)) {
    log().info("{}: done by an earlier run, but not kept in double precision: solving again", name);
    TaskRecord mine;
    std::swap(mine, record_);
    do_task(*task);
    std::swap(mine, record_);
  }
  return kept_.at(name);
}

Json JobRun::unfinished(const TaskSpec& task, Threads threads) {
  const Json kept = folder_.unfinished(task.name, record_.key);
  if (kept.is_null()) {
    if (folder_.unfinished_of_another(task.name, record_.key)) {
      warn(
          fmt::format("{} begins anew: an interrupted run kept its state with another version of the program, its "
                      "module or its input files",
                      task.name));
    }
    return nullptr;
  }
  const std::string isa = kept.at("isa");
  if (isa != record_.isa) {
    warn(
        fmt::format("{} begins anew: an interrupted run kept its state with {}, this one works with {}, whose bits "
                    "differ",
                    task.name, isa, record_.isa));
    return nullptr;
  }
  const int their_threads = kept.at("threads");
  if (threads == Threads::same && their_threads != record_.threads) {
    warn(fmt::format("{} begins anew: an interrupted run kept its state with threads: {}, this one works with {}",
                     task.name, their_threads, record_.threads));
    return nullptr;
  }
  const std::string build = kept.value("build_id", "unknown");
  if (build != build_id()) {
    warn(
        fmt::format("{} goes on with the build {} of the program from a state of the build {}: the bits of what "
                    "follows may differ",
                    task.name, build_id(), build));
  }
  return kept.at("so_far");
}

void JobRun::keep_unfinished(const TaskSpec& task, Json so_far) {
  folder_.keep_unfinished(
      task.name, record_.key,
      {{"isa", record_.isa}, {"threads", record_.threads}, {"build_id", build_id()}, {"so_far", std::move(so_far)}});
}

void JobRun::do_task(const TaskSpec& task) {
  record_ = {};
  record_.key = key_of(task);
  record_.isa = instruction_set();
  record_.threads = omp_get_max_threads();
  task.entry->run(*this, task);
  folder_.finish(task.name, record_);
}

bool JobRun::run() {
  write_results();
  for (position_ = 0; position_ < job_.run.size(); ++position_) {
    const TaskSpec& task = job_.run[position_];
    if (folder_.finished(task.name, key_of(task))) {
      log().info("{}: done by an earlier run", task.name);
    } else {
      do_task(task);
      write_results();
    }
    std::erase_if(kept_, [&](const auto& kept) { return !used_after(kept.first, position_ + 1); });
  }
  bool converged = true;
  for (const TaskSpec& task : job_.run) {
    for (const Json& solve : folder_.records().at(task.name).solves) {
      converged = converged && solve.at("converged").get<bool>();
    }
  }
  return converged;
}

std::string JobRun::instruction_set() const {
  if (backend_.host_memory()) return to_string(active_isa());
  return backend_.architecture({}, Precision::Double);
}

void JobRun::write_results() const {
  Json out;
  out["schema_version"] = 1;
  out["version"] = QUADRILLE_VERSION;
  out["backend"] = backend_.name();
  out["isa"] = instruction_set();
  out["threads"] = omp_get_max_threads();
  out["job"] = job_json(job_);
  if (gauge_.lattice) {
    out["lattice"] = {{"dims", lattice().global_dims()}};
    out["gauge"] = gauge_.report;
  }
  out["solves"] = Json::array();
  out["correlators"] = Json::object();
  Json warnings = gauge_.warnings;
  int with_pion = 0;
  Json pion;
  for (const TaskSpec& task : job_.run) {
    const bool counts = task.entry->name == "mesons";
    with_pion += counts;
    const TaskRecord* record = folder_.finished(task.name, key_of(task));
    if (!record) continue;
    for (const Json& solve : record->solves) out["solves"].push_back(solve);
    for (const std::string& warning : record->warnings) warnings.push_back(task.name + ": " + warning);
    const bool solved = !record->solves.empty() || record->blocks.contains("studies");
    if (solved && (Json(record->isa) != out["isa"] || Json(record->threads) != out["threads"])) {
      warnings.push_back(fmt::format("{}: solved by an earlier run, with {} and threads: {}", task.name, record->isa,
                                     record->threads));
    }
    for (const auto& [block, entry] : record->blocks.items()) out[block][task.name] = entry;
    if (!record->result.is_null()) out[task.name] = record->result;
    if (record->correlators.is_null()) continue;
    out["correlators"][task.name] = record->correlators;
    if (counts) pion = record->correlators;
  }
  out["warnings"] = std::move(warnings);
  if (with_pion == 1 && !pion.is_null()) out["correlators"]["pion"] = pion;
  folder_.write_results(std::move(out));
}

std::string data_hash(const HostPropagator& field) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const Complex& number : field.data) {
    std::uint64_t words[2];
    std::memcpy(words, &number, sizeof words);
    for (const std::uint64_t word : words) {
      hash = (hash ^ word) * 0x100000001b3u;
      hash ^= hash >> 29;  // FNV by words alone would not carry high bits downwards
    }
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace quadrille
