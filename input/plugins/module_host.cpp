#include "input/plugins/module_host.h"

#include "core/backend/backend.h"
#include "core/comm/agreement.h"
#include "core/system/memory.h"
#include "input/capi/call.h"
#include "input/capi/functions.h"
#include "input/files/gauge_file.h"
#include "input/job/job.h"
#include "input/plugins/module_handles.h"
#include "input/plugins/module_parameters.h"
#include "input/plugins/module_run.h"
#include "input/plugins/module_state.h"
#include "input/run/job_run.h"
#include "input/run/outputs.h"
#include "input/run/stop_signal.h"
#include "modules/shared/plugin/loader.h"

#include <omp.h>

#include <algorithm>
#include <cctype>
#include <cstring>

namespace quadrille {

using Json = nlohmann::ordered_json;

namespace {

/// host_call() of a function that makes no sense while the job is only checked.
template <class Body>
quadrille_status running_call(quadrille_run* run, const HostFunction& function, Body&& body) noexcept {
  return host_call(run, function, [&] {
    if (run->job == nullptr) {
      return defect(run, fmt::format("it calls '{}' while the job is only checked", function.name));
    }
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
    throw std::invalid_argument(
        fmt::format("it writes '{}', which is not an output of the task: neither a parameter of type "
                    "QUADRILLE_FILE_OUT nor its function 'outputs' names it",
                    name));
  }
  const std::string file = run->job->folder().output(name).string();
  std::vector<std::string>& files = run->job->record().files;
  if (std::find(files.begin(), files.end(), name) == files.end()) files.push_back(name);
  return file;
}

quadrille_status output_file(quadrille_run* run, const char* path, std::size_t index, const char** out) {
  return running_call(run, {"output_file", {out}}, [&](JobRun&) {
    const Parameters::Item& item = asked_value(run, path, index, {ParameterType::file_out});
    *out = keep_text(run, output_path(run, std::get<std::string>(item.scalar)));
    return QUADRILLE_DONE;
  });
}

quadrille_status output_named(quadrille_run* run, const char* name, const char** out) {
  return running_call(run, {"output_named", {out}}, [&](JobRun&) {
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
      return defect(
          run, fmt::format("it reports under '{}', which is not one of the blocks that its descriptor names", block));
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

void write_log(quadrille_run* run, quadrille_log_level level, const char* text) {
  (void)host_call(run, "log", [&] {
    const std::string said = given(text, "a text for the log");
    switch (level) {
      case QUADRILLE_LOG_DEBUG: log().debug("{}", said); return QUADRILLE_DONE;
      case QUADRILLE_LOG_INFO: log().info("{}", said); return QUADRILLE_DONE;
      case QUADRILLE_LOG_WARNING: log().warn("{}", said); return QUADRILLE_DONE;
      case QUADRILLE_LOG_ERROR: log().error("{}", said); return QUADRILLE_DONE;
    }
    throw std::invalid_argument(fmt::format("{} is not a log level; levels are 1 to 4", int(level)));
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
    const std::string why = given(message, "the reason for a failure");
    if (code == QUADRILLE_NO_MEMORY) {
      set_failure(run, std::make_exception_ptr(NotEnoughMemory(why)));
      return QUADRILLE_DONE;
    }
    if (code == QUADRILLE_FAILED_ELSEWHERE) {  // that rank says why
      set_failure(run, std::make_exception_ptr(FailedElsewhere(why)));
      return QUADRILLE_DONE;
    }
    const std::string name = path == nullptr ? run->task.name : fmt::format("'{}'", path);
    set_failure(run, std::make_exception_ptr(Error(code_of(code), fmt::format("{}: {}", name, why),
                                                   item ? item->where : run->task.parameters->where())));
    return QUADRILLE_DONE;
  });
}

/// A call that gives something in *out, which `find` finds among the handles of the task.
template <class T, class Find>
quadrille_status give(quadrille_run* run, const char* name, T* out, Find&& find) noexcept {
  return running_call(run, {name, {out}}, [&](JobRun&) {
    *out = find(handles_of(run));
    return QUADRILLE_DONE;
  });
}

quadrille_status context(quadrille_run* run, quadrille_context** context) {
  return give(run, "context", context, [](ModuleHandles& handles) { return handles.context(); });
}

quadrille_status gauge(quadrille_run* run, quadrille_gauge** gauge) {
  return give(run, "gauge", gauge, [](ModuleHandles& handles) { return handles.gauge(); });
}

quadrille_status dirac_operator(quadrille_run* run, quadrille_operator** op) {
  return give(run, "dirac_operator", op, [](ModuleHandles& handles) { return handles.dirac_operator(); });
}

quadrille_status solver(quadrille_run* run, quadrille_solver** solver) {
  return give(run, "solver", solver, [](ModuleHandles& handles) { return handles.solver(); });
}

quadrille_status propagator(quadrille_run* run, const char* path, std::size_t index, quadrille_propagator** out) {
  return give(run, "propagator", out, [&](ModuleHandles& handles) {
    const auto& task = std::get<std::string>(asked_value(run, path, index, {ParameterType::text}).scalar);
    const std::vector<TaskReference>& references = run->task.entry->references;
    const bool of_solves = std::any_of(references.begin(), references.end(), [&](const TaskReference& reference) {
      return reference.parameter == path && reference.kind == "propagator";
    });
    if (!of_solves) throw std::invalid_argument(fmt::format("'{}' does not name a task of the kind propagator", path));
    return handles.propagator(task);
  });
}

quadrille_status object(quadrille_run* run, const void* handle, const void** object) {
  return give(run, "object", object, [&](ModuleHandles& handles) { return handles.object(handle); });
}

quadrille_status handle_of_gauge(quadrille_run* run, const void* gauge_store, quadrille_gauge** gauge) {
  return give(run, "handle_of_gauge", gauge, [&](ModuleHandles& handles) {
    const auto* links = static_cast<const GaugeStore*>(given(gauge_store, "a gauge field"));
    return handles.handle_of(*links);
  });
}

/// What gauge files of the task say about their links.
LinkOrigin origin_of(const quadrille_run& run) {
  LinkOrigin origin = {{"program", "Quadrille " QUADRILLE_VERSION}, {"task", run.task.entry->name}};
  for (const auto& [name, value] : run.origin.items()) {
    origin.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return origin;
}

quadrille_status write_gauge(quadrille_run* run, const char* name, quadrille_gauge* gauge, int bits) {
  return running_call(run, "write_gauge", [&](JobRun& job) {
    const GaugeStore& links = handles_of(run).links(gauge);
    const std::string file = given(name, "the name of a file");
    const Checksum sum =
        write_gauge_file(output_path(run, file), links, {.precision = bits, .origin = origin_of(*run)});
    job.folder().wrote(file);
    if (bits == 64) run->written_links[to_string(sum)] = file;
    return QUADRILLE_DONE;
  });
}

quadrille_status device(quadrille_run* run, int* ordinal, void** stream) {
  return running_call(run, {"device", {ordinal, stream}}, [&](JobRun& job) {
    *ordinal = job.backend().ordinal();
    *stream = job.backend().native_stream();
    return QUADRILLE_DONE;
  });
}

quadrille_status allocate(quadrille_run* run, std::size_t bytes, void** memory) {
  if (memory != nullptr) *memory = nullptr;
  return running_call(run, {"allocate", {memory}}, [&](JobRun&) {
    try {
      *memory = handles_of(run).allocate(bytes);
      return QUADRILLE_DONE;
    } catch (const NotEnoughMemory&) {
      note_exception(run);
      return QUADRILLE_NO_MEMORY;
    }
  });
}

quadrille_status release(quadrille_run* run, void* memory) {
  return running_call(run, "release", [&](JobRun&) {
    handles_of(run).release(memory);
    return QUADRILLE_DONE;
  });
}

quadrille_status put_state(quadrille_run* run, const char* name, const void* bytes, std::size_t size) {
  return running_call(run, "put_state", [&](JobRun&) {
    state_of(run).put(given(name, "the name of a part"), bytes, size);
    return QUADRILLE_DONE;
  });
}

quadrille_status put_state_gauge(quadrille_run* run, const char* name, quadrille_gauge* gauge) {
  return running_call(run, "put_state_gauge", [&](JobRun&) {
    state_of(run).put(given(name, "the name of a part"), handles_of(run).links(gauge), run->written_links);
    return QUADRILLE_DONE;
  });
}

quadrille_status keep_state(quadrille_run* run) {
  return running_call(run, "keep_state", [&](JobRun&) {
    state_of(run).keep();
    return QUADRILLE_DONE;
  });
}

quadrille_status state(quadrille_run* run, std::uint64_t* generation, const char** hash) {
  return running_call(run, {"state", {generation, hash}}, [&](JobRun&) {
    const ModuleState& kept = state_of(run);
    *generation = kept.generation();
    *hash = kept.generation() == 0 ? nullptr : keep_text(run, kept.hash());
    return QUADRILLE_DONE;
  });
}

quadrille_status get_state(quadrille_run* run, const char* name, const void** bytes, std::size_t* size) {
  return running_call(run, {"get_state", {bytes, size}}, [&](JobRun&) {
    const std::string* found = state_of(run).bytes(given(name, "the name of a part"));
    *bytes = found == nullptr ? nullptr : found->data();
    *size = found == nullptr ? 0 : found->size();
    return QUADRILLE_DONE;
  });
}

quadrille_status get_state_gauge(quadrille_run* run, const char* name, quadrille_gauge** gauge) {
  return give(run, "get_state_gauge", gauge, [&](ModuleHandles& handles) -> quadrille_gauge* {
    const GaugeFile* found = state_of(run).links(given(name, "the name of a part"));
    return found == nullptr ? nullptr : handles.handle_of(*found->links);
  });
}

/// The name of the file that the job's links come from, as the job has it.
const char* links_file(quadrille_run* run) {
  const char* name = nullptr;
  (void)host_call(run, "links_file", [&] {
    const BlockPtr& gauge = run->task.gauge;
    if (run->task.links_from.empty() && gauge && gauge->has("file")) name = keep_text(run, gauge->text("file"));
    return QUADRILLE_DONE;
  });
  return name;
}

/// What a gauge file says of its links; nothing for one that cannot be read, of which others say so.
LinkOrigin origin_in(const std::string& path) {
  try {
    return locate_gauge_field(LimeInput(path)).origin;
  } catch (const Error&) {
    return {};
  }
}

const char* links_origin(quadrille_run* run) {
  const char* text = nullptr;
  (void)host_call(run, "links_origin", [&] {
    const BlockPtr& gauge = run->task.gauge;
    Json out;
    if (!run->task.links_from.empty()) {
      out["task"] = run->task.links_from;
    } else if (gauge && gauge->has("file")) {
      const std::string& file = gauge->text("file");
      out["file"] = file;
      const LinkOrigin origin = origin_in((run->task.job_folder / file).string());
      if (!origin.empty()) out["origin"] = origin_json(origin);
    }
    if (!out.is_null()) text = keep_text(run, out.dump());
    return QUADRILLE_DONE;
  });
  return text;
}

quadrille_status finishing(quadrille_run* run) {
  return running_call(run, "finishing", [&](JobRun& job) {
    job.finishing();
    return QUADRILLE_DONE;
  });
}

quadrille_status set_links(quadrille_run* run, quadrille_gauge* gauge) {
  return running_call(run, "set_links", [&](JobRun& job) {
    if (!run->task.entry->makes_links)
      throw std::invalid_argument("it sets links without the flag QUADRILLE_MAKES_LINKS");
    job.set_links(handles_of(run).links(gauge));
    run->has_set_links = true;
    return QUADRILLE_DONE;
  });
}

quadrille_status describe_links(quadrille_run* run, const char* json) {
  return running_call(run, "describe_links", [&](JobRun&) {
    Json origin = Json::parse(given(json, "a description of links"), nullptr, false);
    const auto good = [](const auto& item) {
      const auto letter = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '_'); };
      const std::string& name = item.key();
      return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
             std::all_of(name.begin(), name.end(), letter) && (item.value().is_string() || item.value().is_number());
    };
    const auto items = origin.items();
    if (!origin.is_object() || !std::all_of(items.begin(), items.end(), good)) {
      return defect(run, fmt::format("its description of links is not an object of strings and numbers whose names are "
                                     "those of XML elements: {:.100}",
                                     json));
    }
    run->origin = std::move(origin);
    return QUADRILLE_DONE;
  });
}

/// The same on all ranks.
int should_stop(quadrille_run* run) {
  int stop = 0;
  (void)host_call(run, "should_stop", [&] {
    if (run->job == nullptr) return QUADRILLE_DONE;
    stop = agreed_stop_signal() != 0 ? 1 : 0;
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

/// Calls body(communicator) with that of the job.
template <class Body>
quadrille_status rank_call(quadrille_run* run, const HostFunction& function, Body&& body) noexcept {
  return running_call(run, function, [&](JobRun& job) {
    body(job.communicator());
    return QUADRILLE_DONE;
  });
}

/// What a module shares with other ranks: null, unless there is nothing, makes the call fail.
template <class T>
T* shared(T* data, std::size_t count) {
  return count == 0 ? data : given(data, "data to share with other ranks");
}

quadrille_status rank_grid(quadrille_run* run, int grid[4], int place[4]) {
  return rank_call(run, {"rank_grid", {grid, place}}, [&](const Communicator& ranks) {
    std::copy(ranks.grid().begin(), ranks.grid().end(), grid);
    std::copy(ranks.coordinates().begin(), ranks.coordinates().end(), place);
  });
}

quadrille_status sum(quadrille_run* run, double* values, std::size_t count) {
  return rank_call(run, "sum", [&](const Communicator& ranks) { ranks.sum(shared(values, count), count); });
}

quadrille_status gather(quadrille_run* run, const void* mine, std::size_t bytes, void* all) {
  return rank_call(run, "gather",
                   [&](const Communicator& ranks) { ranks.gather(shared(mine, bytes), bytes, shared(all, bytes)); });
}

quadrille_status broadcast(quadrille_run* run, void* data, std::size_t bytes, int root) {
  return rank_call(run, "broadcast", [&](const Communicator& ranks) {
    if (root < 0 || root >= ranks.size()) throw std::invalid_argument(fmt::format("there is no rank {}", root));
    ranks.broadcast(shared(data, bytes), bytes, root);
  });
}

quadrille_status exchange(quadrille_run* run, int direction, const void* send, void* receive, std::size_t bytes) {
  return rank_call(run, "exchange", [&](const Communicator& ranks) {
    if (direction < 0 || direction > 7) throw std::invalid_argument(fmt::format("there is no direction {}", direction));
    ranks.exchange({{direction, shared(send, bytes), shared(receive, bytes), bytes}});
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
    .functions = &capi::function_table,
    .context = context,
    .gauge = gauge,
    .dirac_operator = dirac_operator,
    .solver = solver,
    .propagator = propagator,
    .object = object,
    .handle_of_gauge = handle_of_gauge,
    .write_gauge = write_gauge,
    .device = device,
    .allocate = allocate,
    .release = release,
    .put_state = put_state,
    .put_state_gauge = put_state_gauge,
    .keep_state = keep_state,
    .state = state,
    .get_state = get_state,
    .get_state_gauge = get_state_gauge,
    .links_file = links_file,
    .should_stop = should_stop,
    .stopped = stopped,
    .rank_grid = rank_grid,
    .sum = sum,
    .gather = gather,
    .broadcast = broadcast,
    .exchange = exchange,
    .log = write_log,
    .finishing = finishing,
    .set_links = set_links,
    .describe_links = describe_links,
    .links_origin = links_origin,
};

}  // namespace quadrille
