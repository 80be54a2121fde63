#include "input/tasks/module_host.h"

#include "core/backend/backend.h"
#include "core/system/memory.h"
#include "input/files/checksum.h"
#include "input/job.h"
#include "input/job_run.h"
#include "input/outputs.h"
#include "input/stop_signal.h"
#include "input/tasks/module_parameters.h"
#include "modules/loader.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

namespace quadrille {

using Json = nlohmann::ordered_json;

std::string of_module(const TaskSpec& task, const std::string& what) {
  return fmt::format("the module '{}': {}", task.entry->module->descriptor.name, what);
}

quadrille_status defect(quadrille_run* run, const std::string& what) {
  set_failure(run, std::make_exception_ptr(Error(ErrorCode::internal, of_module(run->task, what))));
  return QUADRILLE_FAILED;
}

void set_failure(quadrille_run* run, std::exception_ptr failure) {
  if (!run->failure) run->failure = std::move(failure);
}

void note_foreign_call(quadrille_run* run) {
  if (const char* name = run->foreign_call) {
    (void)defect(run, fmt::format("it calls the host's function '{}' from a thread that it was not called on", name));
  }
}

void note_exception(quadrille_run* run) {
  try {
    throw;
  } catch (const Error&) {
    set_failure(run, std::current_exception());
  } catch (const std::bad_alloc&) {
    set_failure(run, std::current_exception());
  } catch (const std::exception& error) {
    (void)defect(run, error.what());
  } catch (...) {
    (void)defect(run, "an exception of an unknown type");
  }
}

const char* keep_text(quadrille_run* run, std::string text) { return run->texts.emplace_back(std::move(text)).c_str(); }

namespace {

/// host_call() of a function that makes no sense while the job is only checked.
template <class Body>
quadrille_status running_call(quadrille_run* run, const char* name, Body&& body) noexcept {
  return host_call(run, name, [&] {
    if (run->job == nullptr) return defect(run, fmt::format("it calls '{}' while the job is only checked", name));
    return body(*run->job);
  });
}

const char* task_name(quadrille_run* run) {
  const char* name = "";
  (void)host_call(run, "task_name", [&] {
    name = run->task.name.c_str();
    return QUADRILLE_DONE;
  });
  return name;
}

int threads(quadrille_run* run) {
  int count = 0;
  (void)host_call(run, "threads", [&] {
    count = omp_get_max_threads();
    return QUADRILLE_DONE;
  });
  return count;
}

const char* backend(quadrille_run* run) {
  const char* name = "";
  (void)host_call(run, "backend", [&] {
    if (run->backend != nullptr) name = keep_text(run, run->backend->name());
    return QUADRILLE_DONE;
  });
  return name;
}

/// A file in the output folder, with its folders: one of those that the job has been checked for.
std::string output_path(quadrille_run* run, const std::string& name) {
  if (!run->outputs) {
    const std::vector<std::string> names = output_names(run->task);
    run->outputs.emplace(names.begin(), names.end());
  }
  if (!run->outputs->contains(name)) {
    throw std::invalid_argument(fmt::format(
        "it writes '{}', which is no output of the task: neither a parameter of type QUADRILLE_FILE_OUT nor "
        "its function 'outputs' names it",
        name));
  }
  const std::string file = run->job->folder().prepare(name).string();
  std::vector<std::string>& files = run->job->record().files;
  if (std::find(files.begin(), files.end(), name) == files.end()) files.push_back(name);
  return file;
}

quadrille_status output_file(quadrille_run* run, const char* path, std::size_t index, const char** out) {
  return running_call(run, "output_file", [&](JobRun&) {
    const Parameters::Item& item = asked_value(run, path, index, {ParameterType::file_out});
    *out = keep_text(run, output_path(run, std::get<std::string>(item.scalar)));
    return QUADRILLE_DONE;
  });
}

quadrille_status output_named(quadrille_run* run, const char* name, const char** out) {
  return running_call(run, "output_named", [&](JobRun&) {
    *out = keep_text(run, output_path(run, given(name, "the name of a file")));
    return QUADRILLE_DONE;
  });
}

quadrille_status set_result(quadrille_run* run, const char* block, const char* text) {
  return host_call(run, "result", [&] {
    const Json json = Json::parse(given(text, "a result"), nullptr, false);
    if (!json.is_object()) return defect(run, fmt::format("its result is not a JSON object: {:.100}", text));
    const std::vector<std::string>& blocks = run->task.entry->module->blocks;
    if (block != nullptr && std::find(blocks.begin(), blocks.end(), block) == blocks.end()) {
      return defect(run,
                    fmt::format("it reports under '{}', which is none of the blocks that its descriptor names", block));
    }
    Json& target = block == nullptr ? run->result : run->blocks[block];
    if (target.is_null()) target = Json::object();
    target.update(json);
    return QUADRILLE_DONE;
  });
}

void warn(quadrille_run* run, const char* text) {
  (void)host_call(run, "warn", [&] {
    given(text, "a warning");
    if (run->job != nullptr) run->job->warn(text);
    return QUADRILLE_DONE;
  });
}

void progress(quadrille_run* run, const char* text, double fraction) {
  (void)host_call(run, "progress", [&] {
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
    case QUADRILLE_UNSUPPORTED: return ErrorCode::unsupported;
    case QUADRILLE_NUMERICAL: return ErrorCode::numerical;
    default: return ErrorCode::internal;
  }
}

void fail(quadrille_run* run, quadrille_status code, const char* path, const char* message) {
  (void)host_call(run, "fail", [&] {
    const Parameters::Item* item = path == nullptr ? nullptr : asked_item(run, path);
    const std::string why = given(message, "the reason of a failure");
    if (code == QUADRILLE_NO_MEMORY) {
      set_failure(run, std::make_exception_ptr(NotEnoughMemory(why)));
      return QUADRILLE_DONE;
    }
    const std::string name = path == nullptr ? run->task.name : fmt::format("'{}'", path);
    set_failure(run, std::make_exception_ptr(Error(code_of(code), fmt::format("{}: {}", name, why),
                                                   item ? item->where : run->task.parameters->where())));
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
  return running_call(run, "gauge", [&](JobRun& job) {
    if (!run->task.entry->needs_links) return defect(run, "it asks for links without QUADRILLE_NEEDS_LINKS");
    *links = reinterpret_cast<const quadrille_gauge*>(job.gauge().links.get());
    return QUADRILLE_DONE;
  });
}

quadrille_status links(quadrille_run* run, int dims[4], const double** numbers) {
  const quadrille_gauge* store = nullptr;
  if (gauge(run, &store) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  return running_call(run, "links", [&](JobRun&) {
    if (run->host_links.data.empty()) run->host_links = store_of(store).host_links();
    give_links(run->host_links, dims, numbers);
    return QUADRILLE_DONE;
  });
}

quadrille_status write_gauge(quadrille_run* run, const char* name, const quadrille_gauge* links, int bits) {
  return running_call(run, "write_gauge", [&](JobRun&) {
    write_gauge_file(output_path(run, given(name, "the name of a file")), store_of(links), {.precision = bits});
    return QUADRILLE_DONE;
  });
}

quadrille_status write_links(quadrille_run* run, const char* name, const int dims[4], const double* numbers, int bits) {
  return running_call(run, "write_links", [&](JobRun&) {
    write_gauge_file(output_path(run, given(name, "the name of a file")), links_of(dims, numbers), {.precision = bits});
    return QUADRILLE_DONE;
  });
}

template <class Links>
quadrille_status keep(quadrille_run* run, const char* function, const char* json, const Links& links) {
  return running_call(run, function, [&](JobRun& job) {
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
  return keep(run, "keep_unfinished_gauge", json, [&]() -> const GaugeStore& { return store_of(links); });
}

quadrille_status keep_unfinished(quadrille_run* run, const char* json, const int dims[4], const double* numbers) {
  return keep(run, "keep_unfinished", json, [&] { return links_of(dims, numbers); });
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
  return host_call(run, "unfinished_gauge", [&] {
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
  return host_call(run, "unfinished", [&] {
    run->unfinished_host_links = store_of(store).host_links();
    give_links(run->unfinished_host_links, dims, numbers);
    return QUADRILLE_DONE;
  });
}

/// The name of the file that the job's links come from, as the job has it.
const char* links_file(quadrille_run* run) {
  const char* name = nullptr;
  (void)host_call(run, "links_file", [&] {
    const BlockPtr& gauge = run->task.gauge;
    if (gauge && gauge->has("file")) name = keep_text(run, gauge->text("file"));
    return QUADRILLE_DONE;
  });
  return name;
}

int should_stop(quadrille_run* run) {
  int stop = 0;
  (void)host_call(run, "should_stop", [&] {
    stop = run->job != nullptr && stop_signal() != 0 ? 1 : 0;
    return QUADRILLE_DONE;
  });
  return stop;
}

void stopped(quadrille_run* run, const char* where) {
  (void)host_call(run, "stopped", [&] {
    run->stopped_where = given(where, "where it stopped");
    return QUADRILLE_DONE;
  });
}

}  // namespace

const quadrille_host module_host = {
    .abi_version = QUADRILLE_MODULE_ABI,
    .struct_size = sizeof(quadrille_host),
    .has = has_parameter,
    .count = count_parameter,
    .boolean = boolean_parameter,
    .integer = integer_parameter,
    .real = real_parameter,
    .text = text_parameter,
    .input_file = input_file,
    .output_file = output_file,
    .output_named = output_named,
    .task_name = task_name,
    .backend = backend,
    .threads = threads,
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
