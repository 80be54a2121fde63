#include "input/ensemble/ensemble_run.h"

#include "core/comm/agreement.h"
#include "core/comm/process_grid.h"
#include "core/simd/isa.h"
#include "core/system/log.h"
#include "input/ensemble/correlator_file.h"
#include "input/ensemble/ensemble_check.h"
#include "input/ensemble/ensemble_results.h"
#include "input/ensemble/parts.h"
#include "input/job/gauge.h"
#include "input/run/outputs.h"
#include "input/run/run.h"
#include "input/run/stop_signal.h"

#include <fmt/format.h>

#include <omp.h>

#include <fstream>

namespace quadrille {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using State = ConfigurationState::State;

Json read_json(const fs::path& file) {
  std::ifstream stream(file);
  Json found = Json::parse(stream, nullptr, false);
  if (found.is_object()) return found;
  throw Error(ErrorCode::file, "this is not JSON, or it is incomplete", {.file = file.string()});
}

/// Removes what an earlier run has made for configurations that are no more in the job.
void remove_others(const fs::path& folder, const std::vector<Configuration>& configurations) {
  std::error_code ignored;
  std::vector<fs::path> others;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    const auto same = [&](const Configuration& one) { return one.name == entry->path().filename(); };
    const bool ours = fs::exists(entry->path() / "restart.json", ignored);
    if (ours && std::none_of(configurations.begin(), configurations.end(), same)) others.push_back(entry->path());
  }
  for (const fs::path& other : others) {
    { OutputFolder(other, Json::object(), {.force = true}).begin(); }
    for (const char* file : {"results.json", "restart.json"}) fs::remove(other / file, ignored);
    fs::remove(other, ignored);  // unless it holds something of somebody else's
  }
}

/// Those that its tasks read.
std::vector<fs::path> files_of_tasks(const Job& part) {
  std::vector<fs::path> files;
  for (const TaskSpec& task : part.run) {
    for (fs::path& file : input_files(task)) files.push_back(std::move(file));
  }
  return files;
}

/// Of the record of a configuration: anything may stand in a restart.json.
bool says_whether_converged(const Json& result) {
  return result.is_object() && result.contains("converged") && result["converged"].is_boolean();
}

class EnsembleRun {
 public:
  EnsembleRun(const Job& job, const std::vector<Configuration>& configurations, const fs::path& place,
              FolderRules rules, Backend& backend, JobClock& clock, std::vector<Error>& errors, const RankGrid& grid)
      : job_(job),
        configurations_(configurations),
        rules_(rules),
        backend_(backend),
        clock_(clock),
        errors_(errors),
        grid_(grid),
        all_(grid.all()),
        folder_(place, ensemble_identity(job), rules, all_, extendable(job)),
        states_(configurations.size()),
        dims_(ensemble_dims(job, configurations)) {}

  std::optional<EnsembleOutcome> run() {
    if (!begin()) return {};
    try {
      for (std::size_t k = 0; k < states_.size(); ++k) one(k);
    } catch (...) {
      if (all_->rank() == 0) say_what_is_done();
      throw;
    }
    folder_.set_timing(clock_.json());
    write_results(true);
    folder_.end();
    return outcome_;
  }

 private:
  bool begin() {
    on_first_rank(*all_, [&] { remove_leftovers(job_, folder_.place(), {correlator_file_name}); });
    if (job_.ensemble->has("from")) {
      if (!carry_out_in(folder_, generating_part(job_), backend_, {}, clock_, errors_, grid_)) return false;
      on_first_rank(*all_, [&] { generation_ = read_json(folder_.path("results.json")); });
    } else {
      clock_.continue_from(folder_.timing());
      agree_on_signals_over(all_);
      folder_.begin(inputs_of(job_));
    }
    (void)folder_.output(correlator_file_name);
    on_first_rank(*all_, [&] {
      if (rules_.force) remove_others(folder_.path(configurations_folder), configurations_);
    });
    return true;
  }

  void one(std::size_t k) {
    const Configuration& configuration = configurations_[k];
    const Job part = measuring_part(job_, configuration);
    if (is_done(part, configuration)) {
      log().info("{}: already done, skipped", configuration.name);
    } else {
      (void)agreed_stop_signal();
      stop_if_asked(fmt::format("before {}", configuration.name));
      log().info("configuration {} of {}: {}", k + 1, states_.size(), configuration.file);
      if (!measure(part, configuration, states_[k])) return;
    }
    on_first_rank(*all_, [&] {
      states_[k].results = kept_results(read_json(results_file(configuration)));
      states_[k].state = State::done;
    });
    outcome_.converged = outcome_.converged && folder_.records().at(folder_of(configuration)).result.at("converged");
    write_results(false);
  }

  fs::path results_file(const Configuration& configuration) const {
    return folder_.path(folder_of(configuration)) / "results.json";
  }

  static std::string key_of(const Job& part) {
    return json_hash({{"job", job_json(part)}, {"version", QUADRILLE_VERSION}});
  }

  /// Whether an earlier run has finished it, with the same links and files.
  bool is_done(const Job& part, const Configuration& configuration) {
    std::string why;
    const TaskRecord* record = folder_.verified(folder_of(configuration), key_of(part), why);
    if (record != nullptr && !says_whether_converged(record->result)) return false;
    if (record != nullptr) {
      on_first_rank(*all_, [&] { why = change_since(record->result, part, configuration); });
      why = share(*all_, why);
    }
    if (!why.empty()) log().warn("{}: looked at again, as {}", configuration.name, why);
    return record != nullptr && why.empty();
  }

  /// What has changed since a configuration was finished; empty when nothing has. Of rank 0.
  std::string change_since(const Json& result, const Job& part, const Configuration& configuration) const {
    const auto difference = [](const Json& stamp, const fs::path& file) {
      const std::optional<FileStamp> then = file_stamp_of(stamp);
      const std::string what = then ? difference_from(*then, file, Depth::content) : "may not be complete";
      return what.empty() ? what : fmt::format("{} {}", file.string(), what);
    };
    std::string what = difference(result.value("gauge", Json()), part.input_path(configuration.file));
    const Json read = result.value("read", Json::object());
    for (const fs::path& file : files_of_tasks(part)) {
      if (what.empty()) what = difference(read.value(file.string(), Json()), file);
    }
    const Json written = result.value("written", Json::object());
    for (const auto& [file, stamp] : written.items()) {
      if (what.empty()) what = difference(stamp, folder_.path(folder_of(configuration)) / file);
    }
    return what;
  }

  /// False for a configuration that is left out. Throws where that ends the job.
  bool measure(const Job& part, const Configuration& configuration, ConfigurationState& state) {
    const std::string name = folder_of(configuration);
    (void)folder_.output(name + "/results.json");
    JobClock own;
    std::optional<Error> problem;
    std::optional<LoadedGauge> links = load(part, own, problem);
    std::optional<bool> converged;
    if (all_good(problem)) {
      std::vector<Error> found;
      check_tasks(part, links->lattice->global_dims(), found);
      if (found.empty()) {
        converged = carry_out(part, folder_.path(name), rules_, backend_, std::move(links), own, found, grid_);
      }
      if (!found.empty()) problem = found.front();
    }
    if (!converged) {
      leave_out(configuration, problem, state);
      return false;
    }
    finish(part, configuration, *converged);
    return true;
  }

  std::optional<LoadedGauge> load(const Job& part, JobClock& own, std::optional<Error>& problem) const {
    const JobClock::Span reading(own, Phase::read, backend_);
    try {
      std::optional<LoadedGauge> links = load_gauge(part, backend_, grid_);
      const std::string other = dims_ ? extents_problem(links->lattice->global_dims(), *dims_) : "";
      if (!other.empty()) throw Error(ErrorCode::invalid_input, other);
      return links;
    } catch (const Error& error) {
      problem = error;
    } catch (const FailedElsewhere&) {  // that rank says why
      problem = Error(ErrorCode::file, "another rank cannot read it");
    }
    return {};
  }

  /// Whether no rank has a problem.
  bool all_good(const std::optional<Error>& problem) const {
    double failed = problem ? 1 : 0;
    all_->maximum(&failed, 1);
    return failed == 0;
  }

  void leave_out(const Configuration& configuration, const std::optional<Error>& problem, ConfigurationState& state) {
    const std::string mine = problem ? problem->what() : "";
    const std::string why = all_->size() == 1 ? mine : first_reason(*all_, mine);
    if (job_.ensemble->text("on_error") == "stop") {
      const char* way_out = "ensemble.on_error: continue goes on without it";
      throw Error(problem ? problem->code() : ErrorCode::file,
                  fmt::format("configuration {}: {}; {}", configuration.name, why, way_out), configuration.where);
    }
    log().error("{} is left out: {}", configuration.name, why);
    state.state = State::failed;
    state.error = why;
    ++outcome_.failed;
  }

  void finish(const Job& part, const Configuration& configuration, bool converged) {
    const std::string name = folder_of(configuration);
    TaskRecord record;
    record.key = key_of(part);
    record.isa = to_string(active_isa());
    record.threads = omp_get_max_threads();
    record.files = {name + "/results.json"};
    record.result = {{"converged", converged}};
    on_first_rank(*all_, [&] {
      record.result["gauge"] = to_json(stamp_of(part.input_path(configuration.file)));
      for (const fs::path& file : files_of_tasks(part)) record.result["read"][file.string()] = to_json(stamp_of(file));
      record.result["written"] = read_json(folder_.path(name) / "restart.json").value("written", Json::object());
    });
    folder_.set_timing(clock_.json());
    folder_.finish(name, std::move(record));
  }

  /// Whatever has ended the run early: it has its own message.
  void say_what_is_done() noexcept {
    try {
      write_files();
    } catch (...) {
    }
  }

  /// Not `now`: only where it takes less than a twentieth of the time.
  void write_results(bool now) {
    on_first_rank(*all_, [&] {
      const double began = clock_.total();
      if (!now && began - ended_ < 20 * (ended_ - began_)) return;
      write_files();
      began_ = began;
      ended_ = clock_.total();
    });
  }

  void write_files() const {
    const std::vector<Json> done = done_results(states_);
    const std::vector<CorrelatorRows> correlators =
        done.empty() ? std::vector<CorrelatorRows>() : correlator_rows(done);
    if (!correlators.empty()) {
      std::vector<std::string> names, files;
      for (std::size_t k = 0; k < states_.size(); ++k) {
        if (states_[k].state != State::done) continue;
        names.push_back(configurations_[k].name);
        files.push_back(configurations_[k].file);
      }
      write_correlator_file(folder_.path(correlator_file_name).string(), correlators, names, files);
    }
    folder_.write_results(results());
  }

  /// What the generation says comes first, then what its configurations gave.
  Json results() const {
    Json out = {{"schema_version", 2}};
    for (const auto& [key, value] : generation_.items()) {
      if (key != "correlators" && key != "solves") out[key] = value;
    }
    for (const char* key : {"warnings", "job", "version", "backend", "isa", "threads", "ranks", "timing", "memory"}) {
      const Json value = out.value(key, Json());
      out.erase(key);
      if (key == std::string("warnings") && value.is_array()) out[key] = value;  // behind the other results
    }
    add_configurations(job_, configurations_, states_, out);
    out["job"] = job_json(job_);
    out["version"] = QUADRILLE_VERSION;
    out["backend"] = backend_.name();
    out["isa"] = backend_.host_memory() ? to_string(active_isa()) : backend_.architecture({}, Precision::Double);
    out["threads"] = omp_get_max_threads();
    if (all_->size() > 1) out["ranks"] = ranks_json(out);
    out["timing"] = with_configurations(clock_.json(), states_);
    return out;
  }

  /// Of rank 0 alone, so nothing collective; `out` has the lattice where one is known.
  Json ranks_json(const Json& out) const {
    Json ranks = {{"count", all_->size()}};
    if (out.contains("lattice")) {
      ranks["grid"] = choose_grid(out["lattice"]["dims"].get<Dims>(), all_->size(), grid_.wanted);
    }
    return ranks;
  }

  const Job& job_;
  const std::vector<Configuration>& configurations_;
  const FolderRules rules_;
  Backend& backend_;
  JobClock& clock_;
  std::vector<Error>& errors_;
  const RankGrid& grid_;
  const std::shared_ptr<const Communicator> all_;
  OutputFolder folder_;
  std::vector<ConfigurationState> states_;
  EnsembleOutcome outcome_;
  Json generation_ = Json::object();  ///< results.json of the tasks that make the configurations; of rank 0
  std::optional<Dims> dims_;          ///< that all configurations must have
  double began_ = 0, ended_ = 0;      ///< when results.json was last written; seconds of the clock
};

}  // namespace

std::optional<EnsembleOutcome> carry_out_ensemble(const Job& job, const std::vector<Configuration>& configurations,
                                                  const fs::path& place, FolderRules rules, Backend& backend,
                                                  JobClock& clock, std::vector<Error>& errors, const RankGrid& grid) {
  return EnsembleRun(job, configurations, place, rules, backend, clock, errors, grid).run();
}

}  // namespace quadrille
