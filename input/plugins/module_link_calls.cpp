#include "core/backend/backend.h"
#include "core/system/memory.h"
#include "input/files/gauge_file.h"
#include "input/job/job.h"
#include "input/plugins/module_calls.h"
#include "input/plugins/module_parameters.h"
#include "input/run/job_run.h"

#include <algorithm>
#include <cctype>

namespace quadrille::module_calls {

using Json = nlohmann::ordered_json;

namespace {

/// What gauge files of the task say about their links.
LinkOrigin origin_of(const quadrille_run& run) {
  LinkOrigin origin = {{"program", "Quadrille " QUADRILLE_VERSION}, {"task", run.task.entry->name}};
  for (const auto& [name, value] : run.origin.items()) {
    origin.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return origin;
}

/// What a gauge file says of its links; nothing for one that cannot be read, of which others say so.
LinkOrigin origin_in(const std::string& path) {
  try {
    return locate_gauge_field(LimeInput(path)).origin;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

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

quadrille_status write_gauge(quadrille_run* run, const char* name, quadrille_gauge* gauge, int bits) {
  return running_call(run, "write_gauge", [&](JobRun& job) {
    const GaugeStore& links = handles_of(run).links(gauge);
    const std::string file = given(name, "the name of a file");
    const Checksum sum =
        write_gauge_file(output_path(run, file), links, {.precision = bits, .origin = origin_of(*run)});
    job.folder().wrote(file);
    run->written_links.of(bits)[to_string(sum)] = file;
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

}  // namespace quadrille::module_calls
