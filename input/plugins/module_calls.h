// The calls of quadrille_host (modules/shared/plugin/module.h) by subject: of a task (module_host.cpp), on links and
// memory, on states, and between ranks.
#pragma once

#include "input/plugins/module_handles.h"
#include "input/plugins/module_run.h"
#include "modules/shared/plugin/module.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace quadrille::module_calls {

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

/// A call that gives something in *out, which `find` finds among the handles of the task.
template <class T, class Find>
quadrille_status give(quadrille_run* run, const char* name, T* out, Find&& find) noexcept {
  return running_call(run, {name, {out}}, [&](JobRun&) {
    *out = find(handles_of(run));
    return QUADRILLE_DONE;
  });
}

/// The path of an output of the task, whose folders are there then and which the record of the task names.
std::string output_path(quadrille_run* run, const std::string& name);

// ---- links and memory (module_link_calls.cpp)
quadrille_status context(quadrille_run* run, quadrille_context** context);
quadrille_status gauge(quadrille_run* run, quadrille_gauge** gauge);
quadrille_status dirac_operator(quadrille_run* run, quadrille_operator** op);
quadrille_status solver(quadrille_run* run, quadrille_solver** solver);
quadrille_status propagator(quadrille_run* run, const char* path, std::size_t index, quadrille_propagator** out);
quadrille_status object(quadrille_run* run, const void* handle, const void** object);
quadrille_status handle_of_gauge(quadrille_run* run, const void* gauge_store, quadrille_gauge** gauge);
quadrille_status write_gauge(quadrille_run* run, const char* name, quadrille_gauge* gauge, int bits);
quadrille_status device(quadrille_run* run, int* ordinal, void** stream);
quadrille_status allocate(quadrille_run* run, std::size_t bytes, void** memory);
quadrille_status release(quadrille_run* run, void* memory);
const char* links_file(quadrille_run* run);
const char* links_origin(quadrille_run* run);
quadrille_status set_links(quadrille_run* run, quadrille_gauge* gauge);
quadrille_status describe_links(quadrille_run* run, const char* json);

// ---- states (module_state_calls.cpp)
quadrille_status put_state(quadrille_run* run, const char* name, const void* bytes, std::size_t size);
quadrille_status put_state_gauge(quadrille_run* run, const char* name, quadrille_gauge* gauge, int bits);
quadrille_status keep_state(quadrille_run* run);
quadrille_status state(quadrille_run* run, std::uint64_t* generation, const char** hash);
quadrille_status get_state(quadrille_run* run, const char* name, const void** bytes, std::size_t* size);
quadrille_status get_state_gauge(quadrille_run* run, const char* name, quadrille_gauge** gauge);

// ---- ranks (module_rank_calls.cpp)
quadrille_status rank_grid(quadrille_run* run, int grid[4], int place[4]);
quadrille_status sum(quadrille_run* run, double* values, std::size_t count);
quadrille_status gather(quadrille_run* run, const void* mine, std::size_t bytes, void* all);
quadrille_status broadcast(quadrille_run* run, void* data, std::size_t bytes, int root);
quadrille_status exchange(quadrille_run* run, int direction, const void* send, void* receive, std::size_t bytes);

}  // namespace quadrille::module_calls
