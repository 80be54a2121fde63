#include "input/job/rank_grid.h"

#include "core/comm/agreement.h"
#include "core/comm/process_grid.h"
#include "core/error.h"

#include <fmt/format.h>

namespace quadrille {

std::shared_ptr<const Communicator> RankGrid::for_lattice(const Dims& global) const {
  if (fixed) return fixed;
  if (ranks == nullptr && !wanted) return single_process();
  try {
    const Dims grid = choose_grid(global, size(), wanted);
    return ranks == nullptr ? single_process() : ranks->communicator(grid);
  } catch (const Error& error) {
    if (!wanted || error.where().known()) throw;
    throw Error(error.code(), error.message(), {.file = name});
  }
}

Backend& RankGrid::backend(const std::string& name, int device) const {
  if (ranks == nullptr) return find_backend(name, device);
  Backend* found = nullptr;
  all_or_none(*all(), [&] { found = &find_backend(name, device < 0 ? device_in_turn(ranks->local_rank()) : device); });
  require_same(*all(), found->name(), [&](const std::string& of_first) {
    const std::string trouble = backend_trouble(of_first);
    return Error(
        ErrorCode::unsupported,
        fmt::format("the backend of this rank is {}, that of rank 0 {}{}: start ranks only where all of them have a "
                    "usable GPU, or use --backend cpu",
                    found->name(), of_first, trouble.empty() ? "" : fmt::format(" (here {})", trouble)));
  });
  return *found;
}

std::shared_ptr<const Communicator> RankGrid::all() const {
  if (fixed) return fixed;
  return ranks == nullptr ? single_process() : ranks->communicator({1, 1, 1, size()});
}

}  // namespace quadrille
