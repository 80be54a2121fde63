#include "input/tasks/module_host.h"

#include "core/backend/backend.h"
#include "input/files/checksum.h"
#include "input/job.h"
#include "input/job_run.h"
#include "input/outputs.h"
#include "input/results_blocks.h"
#include "input/stop_signal.h"
#include "modules/loader.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

namespace quadrille {
namespace {

using Item = Parameters::Item;
using Json = nlohmann::ordered_json;

/// The parameter that a path such as "save.file" names; null when the job has no value for it.
const Item* find_item(const Parameters& parameters, const std::string& path) {
  const std::size_t dot = path.find('.');
  for (const auto& [name, item] : parameters.items()) {
    if (name != path.substr(0, dot)) continue;
    if (dot == std::string::npos) return &item;
    return item.group ? find_item(*item.group, path.substr(dot + 1)) : nullptr;
  }
  return nullptr;
}

/// The first failure counts: what follows is its consequence.
void set_failure(quadrille_run* run, Error error) {
  if (!run->failure) run->failure = std::move(error);
}

}  // namespace

std::string of_module(const TaskSpec& task, const std::string& what) {
  return fmt::format("the module '{}': {}", task.entry->module->descriptor.name, what);
}

quadrille_status defect(quadrille_run* run, const std::string& what) {
  set_failure(run, Error(ErrorCode::internal, of_module(run->task, what)));
  return QUADRILLE_FAILED;
}

void note_exception(quadrille_run* run) {
  try {
    throw;
  } catch (const Error& error) {
    set_failure(run, error);
  } catch (const std::exception& error) {
    (void)defect(run, error.what());
  } catch (...) {
    (void)defect(run, "an exception of an unknown type");
  }
}

namespace {

const Item* asked_item(quadrille_run* run, const char* path) {
  return find_item(*run->task.parameters, given(path, "the name of a parameter"));
}

/// The same for what makes no sense while the job is only checked: `what` a module then does wrong.
template <class Body>
quadrille_status running_call(quadrille_run* run, const char* what, Body&& body) noexcept {
  return host_call(run, [&] {
    if (run->job == nullptr) return defect(run, fmt::format("it {} while the job is only checked", what));
    return body(*run->job);
  });
}

/// A value of one of `types`: of a list its entry `index`; null, with a failure, when the module may not ask so.
const Item* value_of(quadrille_run* run, const char* path, std::size_t index,
                     std::initializer_list<ParameterType> types) {
  const Item* item = asked_item(run, path);
  if (item == nullptr) return defect(run, fmt::format("there is no value for '{}'", path)), nullptr;
  if (item->type == ParameterType::list) {
    if (index >= item->list.size()) return defect(run, fmt::format("'{}' has no entry {}", path, index)), nullptr;
    item = &item->list[index];
  }
  if (std::find(types.begin(), types.end(), item->type) == types.end()) {
    return defect(run, fmt::format("'{}' is of another type", path)), nullptr;
  }
  return item;
}

int has(quadrille_run* run, const char* path) {
  bool found = false;
  (void)host_call(run, [&] {
    found = asked_item(run, path) != nullptr;
    return QUADRILLE_DONE;
  });
  return found ? 1 : 0;
}

std::size_t count(quadrille_run* run, const char* path) {
  std::size_t found = 0;
  (void)host_call(run, [&] {
    const Item* item = asked_item(run, path);
    if (item != nullptr) found = item->type == ParameterType::list ? item->list.size() : 1;
    return QUADRILLE_DONE;
  });
  return found;
}

template <class T, class Out>
quadrille_status get(quadrille_run* run, const char* path, std::size_t index, ParameterType type, Out* out) {
  return host_call(run, [&] {
    const Item* item = value_of(run, path, index, {type});
    if (item == nullptr) return QUADRILLE_FAILED;
    *out = Out(std::get<T>(item->scalar));
    return QUADRILLE_DONE;
  });
}

const char* keep_text(quadrille_run* run, std::string text) { return run->texts.emplace_back(std::move(text)).c_str(); }

quadrille_status get_text(quadrille_run* run, const char* path, std::size_t index, const char** out) {
  return host_call(run, [&] {
    const Item* item =
        value_of(run, path, index,
                 {ParameterType::text, ParameterType::choice, ParameterType::file_in, ParameterType::file_out});
    if (item == nullptr) return QUADRILLE_FAILED;
    *out = keep_text(run, std::get<std::string>(item->scalar));
    return QUADRILLE_DONE;
  });
}

const char* backend(quadrille_run* run) {
  const char* name = "";
  (void)host_call(run, [&] {
    if (run->backend != nullptr) name = keep_text(run, run->backend->name());
    return QUADRILLE_DONE;
  });
  return name;
}

quadrille_status input_file(quadrille_run* run, const char* path, std::size_t index, const char** out) {
  return host_call(run, [&] {
    const Item* item = value_of(run, path, index, {ParameterType::file_in});
    if (item == nullptr) return QUADRILLE_FAILED;
    *out = keep_text(run, (run->task.job_folder / std::get<std::string>(item->scalar)).string());
    return QUADRILLE_DONE;
  });
}

void add_file(JobRun& job, const std::string& name) {
  std::vector<std::string>& files = job.record().files;
  if (std::find(files.begin(), files.end(), name) == files.end()) files.push_back(name);
}

quadrille_status output_file(quadrille_run* run, const char* path, std::size_t index, const char** out) {
  return running_call(run, "asks for an output file", [&](JobRun& job) {
    const Item* item = value_of(run, path, index, {ParameterType::file_out});
    if (item == nullptr) return QUADRILLE_FAILED;
    const std::string& name = std::get<std::string>(item->scalar);
    *out = keep_text(run, job.folder().prepare(name).string());
    add_file(job, name);
    return QUADRILLE_DONE;
  });
}

/// Blocks of the program, and those of its own modules, are not for others; nor is the name of a task of the job.
bool may_report_under(const quadrille_run* run, const std::string& block) {
  if (is_program_block(block)) return false;
  if (is_results_block(block)) return run->task.entry->module->file.empty();
  if (run->job == nullptr) return true;
  const std::vector<TaskSpec>& tasks = run->job->job().run;
  return std::none_of(tasks.begin(), tasks.end(), [&](const TaskSpec& task) { return task.name == block; });
}

quadrille_status set_result(quadrille_run* run, const char* block, const char* text) {
  return host_call(run, [&] {
    const Json json = Json::parse(given(text, "a result"), nullptr, false);
    if (!json.is_object()) return defect(run, fmt::format("its result is not a JSON object: {:.100}", text));
    if (block != nullptr && !may_report_under(run, block)) {
      return defect(run, fmt::format("it reports under '{}', a name of the results that is taken: a block needs a name "
                                     "of its own",
                                     block));
    }
    Json& target = block == nullptr ? run->result : run->blocks[block];
    if (target.is_null()) target = Json::object();
    target.update(json);
    return QUADRILLE_DONE;
  });
}

void warn(quadrille_run* run, const char* text) {
  (void)host_call(run, [&] {
    given(text, "a warning");
    if (run->job != nullptr) run->job->warn(text);
    return QUADRILLE_DONE;
  });
}

void progress(quadrille_run* run, const char* text, double fraction) {
  (void)host_call(run, [&] {
    if (run->job == nullptr) return QUADRILLE_DONE;
    if (!run->line) run->line.emplace(run->task.name, 1);
    run->line->update(given(text, "what it does"), fraction);
    return QUADRILLE_DONE;
  });
}

ErrorCode code_of(quadrille_status code) {
  switch (code) {
    case QUADRILLE_INVALID_INPUT: return ErrorCode::invalid_input;
    case QUADRILLE_FILE_ERROR: return ErrorCode::file;
    case QUADRILLE_NO_MEMORY:
    case QUADRILLE_UNSUPPORTED: return ErrorCode::unsupported;
    case QUADRILLE_NUMERICAL: return ErrorCode::numerical;
    default: return ErrorCode::internal;
  }
}

void fail(quadrille_run* run, quadrille_status code, const char* path, const char* message) {
  (void)host_call(run, [&] {
    const Item* item = path == nullptr ? nullptr : find_item(*run->task.parameters, path);
    const std::string name = path == nullptr ? run->task.name : fmt::format("'{}'", path);
    set_failure(run, Error(code_of(code), fmt::format("{}: {}", name, given(message, "the reason of a failure")),
                           item ? item->where : run->task.parameters->where()));
    return QUADRILLE_DONE;
  });
}

HostLinks links_of(const int dims[4], const double* numbers) {
  HostLinks links({dims[0], dims[1], dims[2], dims[3]});
  std::memcpy(static_cast<void*>(links.data.data()), numbers, links.data.size() * sizeof(Complex));
  return links;
}

void give_links(const HostLinks& links, int dims[4], const double** numbers) {
  std::copy(links.dims.begin(), links.dims.end(), dims);
  *numbers = reinterpret_cast<const double*>(links.data.data());
}

const GaugeStore& store_of(const quadrille_gauge* links) {
  return *reinterpret_cast<const GaugeStore*>(given(links, "a gauge field"));
}

quadrille_status gauge(quadrille_run* run, const quadrille_gauge** links) {
  return running_call(run, "asks for links", [&](JobRun& job) {
    if (!run->task.entry->needs_links) return defect(run, "it asks for links without QUADRILLE_NEEDS_LINKS");
    *links = reinterpret_cast<const quadrille_gauge*>(job.gauge().links.get());
    return QUADRILLE_DONE;
  });
}

quadrille_status links(quadrille_run* run, int dims[4], const double** numbers) {
  const quadrille_gauge* store = nullptr;
  if (gauge(run, &store) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  return running_call(run, "asks for links", [&](JobRun&) {
    if (run->host_links.data.empty()) run->host_links = store_of(store).host_links();
    give_links(run->host_links, dims, numbers);
    return QUADRILLE_DONE;
  });
}

template <class Links>
quadrille_status write(quadrille_run* run, const char* name, const Links& links, int bits) {
  return running_call(run, "writes links", [&](JobRun& job) {
    write_gauge_file(job.folder().prepare(given(name, "the name of a file")).string(), links(), {.precision = bits});
    add_file(job, name);
    return QUADRILLE_DONE;
  });
}

quadrille_status write_gauge(quadrille_run* run, const char* name, const quadrille_gauge* links, int bits) {
  return write(
      run, name, [&]() -> const GaugeStore& { return store_of(links); }, bits);
}

quadrille_status write_links(quadrille_run* run, const char* name, const int dims[4], const double* numbers, int bits) {
  return write(
      run, name, [&] { return links_of(dims, numbers); }, bits);
}

template <class Links>
quadrille_status keep(quadrille_run* run, const char* json, const Links& links) {
  return running_call(run, "keeps a state", [&](JobRun& job) {
    const Json state = Json::parse(given(json, "a state"));
    const std::string name = unfinished_file(run->task, run->states_kept++);
    const Checksum checksum = write_gauge_file(job.folder().prepare(name).string(), links());
    job.keep_unfinished(run->task, {{"state", state},
                                    {"links", name},
                                    {"checksum", to_string(checksum)},
                                    {"turn", run->states_kept},
                                    {"files", job.record().files},
                                    {"warnings", job.record().warnings}});
    return QUADRILLE_DONE;
  });
}

quadrille_status keep_unfinished_gauge(quadrille_run* run, const char* json, const quadrille_gauge* links) {
  return keep(run, json, [&]() -> const GaugeStore& { return store_of(links); });
}

quadrille_status keep_unfinished(quadrille_run* run, const char* json, const int dims[4], const double* numbers) {
  return keep(run, json, [&] { return links_of(dims, numbers); });
}

/// What was said earlier, then what is new.
std::vector<std::string> joined(std::vector<std::string> earlier, const std::vector<std::string>& now) {
  for (const std::string& text : now) {
    if (std::find(earlier.begin(), earlier.end(), text) == earlier.end()) earlier.push_back(text);
  }
  return earlier;
}

/// What keep_unfinished() wrote, as restart.json has it.
struct KeptState {
  Json state;
  std::string links, checksum;
  int turn = 0;
  std::vector<std::string> files, warnings;

  KeptState(const Json& kept, const JobRun& job, const TaskSpec& task) try
      : state(kept.at("state")),
        links(kept.at("links")),
        checksum(kept.at("checksum")),
        turn(kept.at("turn")),
        files(kept.at("files")),
        warnings(kept.at("warnings")) {
  } catch (const Json::exception&) {
    throw job.folder().damaged(fmt::format("'unfinished.{}' is not a state of this task", task.name));
  }
};

quadrille_status unfinished_gauge(quadrille_run* run, const char** json, const quadrille_gauge** links) {
  return host_call(run, [&] {
    *json = nullptr;
    if (run->job == nullptr) return QUADRILLE_DONE;
    JobRun& job = *run->job;
    const Json found = job.unfinished(run->task, JobRun::Threads::any);
    if (found.is_null()) return QUADRILLE_DONE;
    const KeptState kept(found, job, run->task);
    const std::string file = job.folder().path(kept.links).string();
    try {
      run->unfinished = read_gauge_file(file, {.backend = &job.backend()});
    } catch (const Error& error) {
      job.warn(fmt::format("{} starts over: the state that an interrupted run kept cannot be read: {}", run->task.name,
                           error.what()));
      return QUADRILLE_DONE;
    }
    if (to_string(run->unfinished.info.checksum.computed) != kept.checksum) {
      job.warn(fmt::format("{} starts over: {} is not what the interrupted run kept", run->task.name, file));
      return QUADRILLE_DONE;
    }
    run->states_kept = kept.turn;
    job.record().files = kept.files;
    job.record().warnings = joined(kept.warnings, job.record().warnings);
    *json = keep_text(run, kept.state.dump());
    *links = reinterpret_cast<const quadrille_gauge*>(run->unfinished.links.get());
    return QUADRILLE_DONE;
  });
}

quadrille_status unfinished(quadrille_run* run, const char** json, int dims[4], const double** numbers) {
  const quadrille_gauge* store = nullptr;
  if (unfinished_gauge(run, json, &store) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (*json == nullptr) return QUADRILLE_DONE;
  return host_call(run, [&] {
    run->unfinished_host_links = store_of(store).host_links();
    give_links(run->unfinished_host_links, dims, numbers);
    return QUADRILLE_DONE;
  });
}

/// The name of the file that the job's links come from, as the job has it.
const char* links_file(quadrille_run* run) {
  const char* name = nullptr;
  (void)host_call(run, [&] {
    const BlockPtr& gauge = run->task.gauge;
    if (gauge && gauge->has("file")) name = keep_text(run, gauge->text("file"));
    return QUADRILLE_DONE;
  });
  return name;
}

int should_stop(quadrille_run* run) { return run->job != nullptr && stop_signal() != 0 ? 1 : 0; }

void stopped(quadrille_run* run, const char* where) {
  (void)host_call(run, [&] {
    run->stopped_where = given(where, "where it stopped");
    return QUADRILLE_DONE;
  });
}

}  // namespace

const quadrille_host module_host = {
    .abi_version = QUADRILLE_MODULE_ABI,
    .struct_size = sizeof(quadrille_host),
    .has = has,
    .count = count,
    .boolean = [](quadrille_run* run, const char* path, std::size_t index,
                  int* value) { return get<bool>(run, path, index, ParameterType::boolean, value); },
    .integer = [](quadrille_run* run, const char* path, std::size_t index,
                  std::int64_t* value) { return get<std::int64_t>(run, path, index, ParameterType::integer, value); },
    .real = [](quadrille_run* run, const char* path, std::size_t index,
               double* value) { return get<double>(run, path, index, ParameterType::real, value); },
    .text = get_text,
    .input_file = input_file,
    .output_file = output_file,
    .task_name = [](quadrille_run* run) { return run->task.name.c_str(); },
    .backend = backend,
    .threads = [](quadrille_run*) { return omp_get_max_threads(); },
    .result = set_result,
    .warn = warn,
    .progress = progress,
    .fail = fail,
    .links = links,
    .write_links = write_links,
    .keep_unfinished = keep_unfinished,
    .unfinished = unfinished,
    .gauge = gauge,
    .write_gauge = write_gauge,
    .keep_unfinished_gauge = keep_unfinished_gauge,
    .unfinished_gauge = unfinished_gauge,
    .links_file = links_file,
    .should_stop = should_stop,
    .stopped = stopped,
};

}  // namespace quadrille
