#include "core/comm/communicator.h"
#include "input/plugins/module_calls.h"
#include "input/run/job_run.h"

#include <algorithm>
#include <stdexcept>

namespace quadrille::module_calls {
namespace {

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

}  // namespace

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

}  // namespace quadrille::module_calls
