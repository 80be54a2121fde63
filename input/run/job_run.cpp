#include "input/run/job_run.h"

#include "core/comm/agreement.h"
#include "core/simd/isa.h"
#include "core/system/build_id.h"
#include "core/system/log.h"
#include "input/job/document.h"
#include "input/run/outputs.h"
#include "input/run/stop_signal.h"
#include "modules/shared/plugin/loader.h"

#include <fmt/format.h>

#include <omp.h>

#include <algorithm>

namespace quadrille {

using Json = nlohmann::ordered_json;

namespace {

/// Equal texts as one, with their number.
std::vector<std::string> counted(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (auto text = texts.begin(); text != texts.end(); ++text) {
    if (std::find(texts.begin(), text, *text) != text) continue;
    const auto times = std::count(text, texts.end(), *text);
    out.push_back(times == 1 ? *text : fmt::format("{} ({} times)", *text, times));
  }
  return out;
}

/// Whether the result of a module's task has `converged: false` (quadrille_host.result).
bool says_not_converged(const Json& result) {
  const auto found = result.is_object() ? result.find("converged") : result.end();
  return found != result.end() && found->is_boolean() && !found->get<bool>();
}

bool uses(const TaskSpec& task, const std::string& name) {
  return std::find(task.uses.begin(), task.uses.end(), name) != task.uses.end();
}

/// Sizes and times of the files that a task reads.
Json file_states(const TaskSpec& task) {
  Json files = Json::array();
  for (const std::filesystem::path& file : input_files(task)) {
    std::error_code failed;
    files.push_back({std::filesystem::file_size(file, failed),
                     std::filesystem::last_write_time(file, failed).time_since_epoch().count()});
  }
  return files;
}

/// What a deflation space depends on besides the links.
Json deflated_system(const TaskSpec& task) {
  Json solver = to_json(*task.solver);
  solver.erase("tolerance");
  solver.erase("max_iterations");
  return {to_json(*task.op), solver};
}

bool same_system(const TaskSpec& a, const TaskSpec& b) {
  const bool solve = a.op && a.solver && b.op && b.solver;
  return solve && a.links_from == b.links_from && deflated_system(a) == deflated_system(b);
}

}  // namespace

JobRun::JobRun(const Job& job, LoadedGauge gauge, std::shared_ptr<const Communicator> ranks, OutputFolder& folder,
               Backend& backend, JobClock& clock)
    : job_(job), gauge_(std::move(gauge)), ranks_(std::move(ranks)), folder_(folder), backend_(backend), clock_(clock) {
  backend_.when_short([this] { return give_way(); });
  count_memory("links", backend_.allocated_bytes());
}

JobRun::~JobRun() { backend_.when_short({}); }

const TaskSpec& JobRun::spec(const std::string& name) const {
  return *std::find_if(job_.run.begin(), job_.run.end(), [&](const TaskSpec& task) { return task.name == name; });
}

bool JobRun::depends_on_more(const TaskSpec& task) const {
  return !task.links_from.empty() || !input_files(task).empty() ||
         std::any_of(task.uses.begin(), task.uses.end(),
                     [&](const std::string& name) { return depends_on_more(spec(name)); });
}

std::string JobRun::key_of(const TaskSpec& task, bool extends) const {
  Json key = {{"task", task_json(job_, task)}, {"version", QUADRILLE_VERSION}};
  if (!extends) {
    for (const std::string& name : task.entry->extends) key["task"].erase(name);
  }
  if (task.entry->needs_links) {
    if (job_.gauge) key["gauge"] = to_json(*job_.gauge);
    key["checksum"] = gauge_.checksum;
  }
  if (!task.links_from.empty()) {
    const TaskRecord* maker = folder_.finished(task.links_from, key_of(spec(task.links_from)));
    if (maker == nullptr) return {};
    key["links"] = maker->data_hash;
  }
  for (const std::string& name : task.uses) {
    if (!depends_on_more(spec(name))) continue;
    key["uses"].push_back(key_of(spec(name)));
    if (key["uses"].back() == "") return {};
  }
  if (task.entry->module != nullptr) {
    key["module"] = module_state(task);
  } else if (const Json files = file_states(task); !files.empty()) {
    key["files"] = files;
  }
  return json_hash(key);
}

Json JobRun::module_state(const TaskSpec& task) const {
  const quadrille_module& module = task.entry->module->descriptor;
  // That of the program itself does not count: what an earlier build finished is not done again.
  const char* build = task.entry->module->file.empty() ? "" : module.build_id;
  return {{"name", module.name}, {"version", module.version}, {"build_id", build}, {"files", file_states(task)}};
}

void JobRun::add_solve(const Json& solve) {
  Json entry = {{"task", at_hand_->name}};
  entry.update(solve);
  record_.solves.push_back(std::move(entry));
}

void JobRun::warn(const std::string& text) {
  if (std::find(record_.warnings.begin(), record_.warnings.end(), text) == record_.warnings.end()) log().warn(text);
  record_.warnings.push_back(text);
}

bool JobRun::used_after(const std::string& name, std::size_t position) const {
  return std::any_of(job_.run.begin() + std::ptrdiff_t(position), job_.run.end(),
                     [&](const TaskSpec& later) { return uses(later, name); });
}

bool JobRun::used_later(const TaskSpec& task) const {
  return used_after(task.name, position_) || std::any_of(brought_back_.begin(), brought_back_.end(),
                                                         [&](const TaskSpec* one) { return uses(*one, task.name); });
}

const LoadedGauge& JobRun::gauge() const {
  return at_hand_ == nullptr || at_hand_->links_from.empty() ? gauge_ : made_.at(at_hand_->links_from);
}

bool JobRun::links_used(const std::string& name, std::size_t position) const {
  return std::any_of(job_.run.begin() + std::ptrdiff_t(position), job_.run.end(),
                     [&](const TaskSpec& task) { return task.links_from == name; });
}

std::shared_ptr<const GaugeStore> JobRun::copy_of(const GaugeStore& links) const {
  // Those of a state have a lattice of their own, which ends with it.
  if (&links.lattice() != &lattice()) return std::make_shared<GaugeStore>(lattice(), links.host_links(), backend_);
  Field copy(FieldDesc::links(lattice(), Precision::Double, Reconstruct::R18, backend_));
  links.copy_to(copy);
  return std::make_shared<GaugeStore>(copy);
}

void JobRun::set_links(const GaugeStore& links) {
  const std::string& name = at_hand_->name;
  if (!links_used(name, 0)) return;
  LoadedGauge made = held_gauge(gauge_.lattice, copy_of(links), fmt::format("links of the task {}", name));
  log().info("{}: its links, plaquette {:.12f}, are those of the tasks after it", name, made.plaquette);
  record_.data_hash = made.checksum;
  made_[name] = std::move(made);
}

void JobRun::prepare_links(const TaskSpec& task) {
  if (!task.links_from.empty() && !made_.contains(task.links_from)) do_again(spec(task.links_from));
}

// Counted beforehand: each propagator of a later task that will be kept while this one still is takes as much.
bool JobRun::stays_on_backend(const TaskSpec& task, std::size_t bytes) const {
  if (backend_.host_memory()) return true;
  constexpr std::size_t buffers = std::size_t(64) << 20;  // for data on their way, sums
  std::size_t together = 1;
  for (std::size_t later = position_ + 1; later < job_.run.size() && used_after(task.name, later); ++later) {
    const TaskSpec& other = job_.run[later];
    together += other.entry->name == task.entry->name && used_after(other.name, later + 1);
  }
  return together * bytes + buffers <= backend_.available_bytes();
}

void JobRun::keep(const TaskSpec& task, SolvedPropagator propagator) {
  // While an earlier task is done again, the task at hand is the one that uses it.
  if (!used_later(task)) return;
  if (propagator.field.backend().host_memory() && !backend_.host_memory()) on_host_.insert(task.name);
  kept_[task.name] = std::move(propagator);
  count_memory("propagators", kept_bytes());
}

bool JobRun::give_way() {
  for (auto& [name, propagator] : kept_) {
    if (name == in_use_ || propagator.field.backend().host_memory()) continue;
    log().info("{}: its propagator moves to the host: the {} backend needs the memory", name, backend_.name());
    move_to_host(propagator.field);
    on_host_.insert(name);
    return true;
  }
  const auto idle =
      std::find_if(low_modes_.begin(), low_modes_.end(), [](const auto& kept) { return kept.second.use_count() == 1; });
  if (idle == low_modes_.end()) return false;
  log().info("{}: its deflation space goes: the {} backend needs the memory", idle->first->name, backend_.name());
  low_modes_.erase(idle);
  return true;
}

std::shared_ptr<DeflationSpace> JobRun::low_modes(const TaskSpec& task) const {
  for (const auto& [from, space] : low_modes_) {
    if (same_system(*from, task)) return space;
  }
  return nullptr;
}

void JobRun::keep_low_modes(const TaskSpec& task, std::shared_ptr<DeflationSpace> space) {
  if (low_modes(task) || !solved_after(task, position_ + 1)) return;
  low_modes_.emplace_back(&task, std::move(space));
}

bool JobRun::solved_after(const TaskSpec& task, std::size_t position) const {
  return std::any_of(job_.run.begin() + std::ptrdiff_t(position), job_.run.end(),
                     [&](const TaskSpec& later) { return same_system(task, later); });
}

std::size_t JobRun::kept_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [name, propagator] : kept_) {
    if (&propagator.field.backend() == &backend_) bytes += propagator.field.bytes();
  }
  return bytes;
}

Json JobRun::memory_json() const {
  Json out = {{"host_peak", host_peak_bytes()}, {"backend_peak", backend_.peak_bytes()}};
  out["parts"] = Json::object();
  for (const auto& [part, bytes] : parts_) out["parts"][part] = bytes;
  out["propagators_on_host"] = Json::array();
  for (const std::string& name : on_host_) out["propagators_on_host"].push_back(name);
  return out;
}

const SolvedPropagator& JobRun::propagator(const std::string& name) {
  if (!kept_.contains(name)) bring_back(spec(name));
  const auto found = kept_.find(name);
  if (found == kept_.end())
    throw Error(ErrorCode::internal, fmt::format("the task '{}' was done again and has kept no propagator", name));
  in_use_ = name;
  return found->second;
}

void JobRun::bring_back(const TaskSpec& task) {
  brought_back_.push_back(&task);
  if (!task.entry->restore || !task.entry->restore(*this, task)) {
    log().info("{}: already done, but not saved in double precision: solving again", task.name);
    do_again(task);
  }
  brought_back_.pop_back();
  std::erase_if(kept_, [&](const auto& kept) { return !used_later(spec(kept.first)); });  // what it was made of
}

Json JobRun::unfinished(const TaskSpec& task, Threads threads) {
  const std::string key = key_of(task, false);
  const Json kept = folder_.unfinished(task.name, key);
  if (kept.is_null()) {
    if (folder_.unfinished_of_another(task.name, key)) {
      start_over(task, "since the interrupted run, the program, the task's module or an input file has changed");
    }
    return nullptr;
  }
  const std::string isa = kept.at("isa");
  const bool ended = folder_.records().contains(task.name);  // work that is done is not thrown away
  if (isa != record_.isa && ended) {
    warn(fmt::format("{} continues with {} from a state of {}: results differ in rounding from those of one run",
                     task.name, record_.isa, isa));
  } else if (isa != record_.isa) {
    start_over(task, fmt::format("the interrupted run used {}, this one uses {}, whose results differ in rounding", isa,
                                 record_.isa));
    return nullptr;
  }
  const int their_threads = kept.at("threads");
  if (threads == Threads::same && their_threads != record_.threads) {
    start_over(task,
               fmt::format("the interrupted run used threads: {}, this one uses {}", their_threads, record_.threads));
    return nullptr;
  }
  continues_ = true;
  const std::string build = kept.value("build_id", "unknown");
  if (build != build_id()) {
    warn(fmt::format(
        "{} continues with build {} of the program from a state written by build {}: results may differ in rounding",
        task.name, build_id(), build));
  }
  return kept.at("so_far");
}

void JobRun::start_over(const TaskSpec& task, const std::string& why) {
  continues_ = false;
  warn(fmt::format("{} starts over: {}", task.name, why));
}

void JobRun::keep_unfinished(const TaskSpec& task, Json so_far) {
  folder_.set_timing(clock_.json());
  folder_.keep_unfinished(
      task.name, key_of(task, false),
      {{"isa", record_.isa}, {"threads", record_.threads}, {"build_id", build_id()}, {"so_far", std::move(so_far)}});
}

void JobRun::do_again(const TaskSpec& task) {
  TaskRecord mine;
  std::swap(mine, record_);
  const bool stays = state_stays_, continues = continues_;
  do_task(task);
  state_stays_ = stays;
  continues_ = continues;
  std::swap(mine, record_);
}

void JobRun::do_task(const TaskSpec& task) {
  prepare_links(task);
  const TaskSpec* const before = std::exchange(at_hand_, &task);
  state_stays_ = false;
  record_ = {};
  record_.key = key_of(task);
  record_.isa = instruction_set();
  record_.threads = omp_get_max_threads();
  continues_ = false;
  if (task.entry->check_links && !task.links_from.empty()) {
    std::vector<Error> found;
    task.entry->check_links(task, gauge(), backend_, found);
    if (!found.empty()) throw found.front();
  }
  try {
    task.entry->run(*this, task);
  } catch (const Json::exception&) {
    if (!continues_) throw;
    throw folder_.damaged(fmt::format("'unfinished.{}' is not a state of this task", task.name));
  }
  record_.warnings = counted(record_.warnings);
  const bool kept = folder_.has_unfinished(task.name);
  folder_.set_timing(clock_.json());
  folder_.finish(task.name, record_, state_stays_);
  in_use_.clear();
  at_hand_ = before;
  if (kept) remove_unfinished(task);
}

/// Once the task is finished in restart.json, and not before: a run that is killed in between must lose neither.
void JobRun::remove_unfinished(const TaskSpec& task) const {
  folder_.remove_beginning({unfinished_prefix(task), finished_prefix(task)});
}

void JobRun::remove_leftover_states() const {
  std::vector<std::string> prefixes;
  for (const TaskSpec& task : job_.run) {
    prefixes.push_back(unfinished_prefix(task));
    prefixes.push_back(finished_prefix(task));
  }
  folder_.remove_beginning(prefixes);
}

bool JobRun::run() {
  remove_leftover_states();
  write_results(true);
  try {
    for (position_ = 0; position_ < job_.run.size(); ++position_) {
      run_unless_done(job_.run[position_]);
      std::erase_if(made_, [&](const auto& made) { return !links_used(made.first, position_ + 1); });
      std::erase_if(kept_, [&](const auto& kept) { return !used_after(kept.first, position_ + 1); });
      std::erase_if(low_modes_, [&](const auto& kept) { return !solved_after(*kept.first, position_ + 1); });
    }
  } catch (...) {
    if (communicator().rank() == 0) say_what_is_done();
    throw;
  }
  folder_.set_timing(clock_.json());
  write_results(true);
  folder_.end();
  bool converged = true;
  for (const TaskSpec& task : job_.run) {
    const TaskRecord& record = folder_.records().at(task.name);
    for (const Json& solve : record.solves) converged = converged && solve.at("converged").get<bool>();
    converged = converged && !says_not_converged(record.result);
    for (const Json& result : record.blocks) converged = converged && !says_not_converged(result);
  }
  return converged;
}

void JobRun::run_unless_done(const TaskSpec& task) {
  std::string why;
  if (folder_.verified(task.name, key_of(task), why)) {
    log().info("{}: already done, skipped", task.name);
    return;
  }
  if (!why.empty()) log().warn("{}: done again, as {}", task.name, why);
  (void)agreed_stop_signal();
  stop_if_asked(fmt::format("before {}", task.name));
  do_task(task);
  write_results(false);
}

/// Whatever has ended the run early: it has its own message.
void JobRun::say_what_is_done() noexcept {
  try {
    folder_.write_results(results());
  } catch (...) {
  }
}

std::string JobRun::instruction_set() const {
  if (backend_.host_memory()) return to_string(active_isa());
  return backend_.architecture({}, Precision::Double);
}

void JobRun::write_results(bool now) {
  on_first_rank(communicator(), [&] {
    const double began = clock_.total();
    if (!now && began - results_ended_ < 20 * (results_ended_ - results_began_)) return;
    folder_.write_results(results());
    results_began_ = began;
    results_ended_ = clock_.total();
  });
}

// Physics first: what the tasks found, then how well it was solved, from which links, by what job, and how.
Json JobRun::results() const {
  const bool on_lattice = gauge_.lattice != nullptr;
  const std::string isa = instruction_set();
  const int threads = omp_get_max_threads();
  Json out = {{"schema_version", 2}};
  Json solves = Json::array(), warnings = gauge_.warnings;
  for (const TaskSpec& task : job_.run) {
    const TaskRecord* record = folder_.finished(task.name, key_of(task));
    if (!record) continue;
    if (!record->correlators.is_null()) out["correlators"][task.name] = record->correlators;
    for (const auto& [block, entry] : record->blocks.items()) out[block][task.name] = entry;
    if (!record->result.is_null()) out[task.name] = record->result;
    for (const Json& solve : record->solves) solves.push_back(solve);
    for (const std::string& warning : record->warnings) warnings.push_back(task.name + ": " + warning);
    const bool solved = !record->solves.empty() || record->blocks.contains("studies");
    if (solved && (record->isa != isa || record->threads != threads)) {
      warnings.push_back(fmt::format("{}: solved by an earlier run, with {} and threads: {}", task.name, record->isa,
                                     record->threads));
    }
  }
  if (on_lattice) {
    if (!out.contains("correlators")) out["correlators"] = Json::object();
    out["solves"] = std::move(solves);
  }
  out["warnings"] = std::move(warnings);
  if (on_lattice) {
    out["lattice"] = {{"dims", lattice().global_dims()}};
    out["gauge"] = gauge_.report;
  }
  out["job"] = job_json(job_);
  out["version"] = QUADRILLE_VERSION;
  out["backend"] = backend_.name();
  out["isa"] = isa;
  out["threads"] = threads;
  if (communicator().size() > 1) out["ranks"] = {{"count", communicator().size()}, {"grid", communicator().grid()}};
  out["timing"] = clock_.json();
  out["memory"] = memory_json();
  return out;
}

}  // namespace quadrille
