#include "input/files/gauge_file.h"
#include "input/plugins/module_calls.h"
#include "input/plugins/module_state.h"
#include "input/run/job_run.h"

namespace quadrille::module_calls {

quadrille_status put_state(quadrille_run* run, const char* name, const void* bytes, std::size_t size) {
  return running_call(run, "put_state", [&](JobRun&) {
    state_of(run).put(given(name, "the name of a part"), bytes, size);
    return QUADRILLE_DONE;
  });
}

quadrille_status put_state_gauge(quadrille_run* run, const char* name, quadrille_gauge* gauge, int bits) {
  return running_call(run, "put_state_gauge", [&](JobRun&) {
    state_of(run).put(given(name, "the name of a part"), handles_of(run).links(gauge), bits, run->written_links);
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

}  // namespace quadrille::module_calls
