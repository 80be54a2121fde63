#include "input/plugins/module_host.h"

#include "core/backend/backend.h"
#include "core/comm/agreement.h"
#include "core/system/memory.h"
#include "input/capi/call.h"
#include "input/capi/functions.h"
#include "input/job/job.h"
#include "input/plugins/module_calls.h"
#include "input/plugins/module_parameters.h"
#include "input/plugins/module_run.h"
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

namespace module_calls {

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

namespace {

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

quadrille_status scratch_file(quadrille_run* run, const char* name, const char** out) {
  return running_call(run, {"scratch_file", {out}}, [&](JobRun& job) {
    const std::string file = given(name, "the name of a file");
    const std::string problem = problem_of_scratch(job.job(), job.folder().path(""), file);
    if (!problem.empty()) {
      throw std::invalid_argument(fmt::format("it asks for the scratch file '{}', which {}", file, problem));
    }
    // As with an output, the folder knows of it: what a killed run leaves is not taken for somebody else's file.
    *out = keep_text(run, job.folder().output(file).string());
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

quadrille_status finishing(quadrille_run* run) {
  return running_call(run, "finishing", [&](JobRun& job) {
    job.finishing();
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

}  // namespace
}  // namespace module_calls

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
    .output_file = module_calls::output_file,
    .output_named = module_calls::output_named,
    .task_name = module_calls::task_name,
    .backend = module_calls::backend,
    .threads = module_calls::threads,
    .result = module_calls::set_result,
    .warn = module_calls::warn,
    .progress = module_calls::progress,
    .fail = module_calls::fail,
    .functions = &capi::function_table,
    .context = module_calls::context,
    .gauge = module_calls::gauge,
    .dirac_operator = module_calls::dirac_operator,
    .solver = module_calls::solver,
    .propagator = module_calls::propagator,
    .object = module_calls::object,
    .handle_of_gauge = module_calls::handle_of_gauge,
    .write_gauge = module_calls::write_gauge,
    .device = module_calls::device,
    .allocate = module_calls::allocate,
    .release = module_calls::release,
    .put_state = module_calls::put_state,
    .put_state_gauge = module_calls::put_state_gauge,
    .keep_state = module_calls::keep_state,
    .state = module_calls::state,
    .get_state = module_calls::get_state,
    .get_state_gauge = module_calls::get_state_gauge,
    .links_file = module_calls::links_file,
    .should_stop = module_calls::should_stop,
    .stopped = module_calls::stopped,
    .rank_grid = module_calls::rank_grid,
    .sum = module_calls::sum,
    .gather = module_calls::gather,
    .broadcast = module_calls::broadcast,
    .exchange = module_calls::exchange,
    .log = module_calls::write_log,
    .finishing = module_calls::finishing,
    .set_links = module_calls::set_links,
    .describe_links = module_calls::describe_links,
    .links_origin = module_calls::links_origin,
    .scratch_file = module_calls::scratch_file,
};

}  // namespace quadrille
