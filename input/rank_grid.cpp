#include "input/rank_grid.h"

#include "core/comm/agreement.h"
#include "core/comm/process_grid.h"
#include "core/error.h"

#include <fmt/format.h>

namespace quadrille {

std::shared_ptr<const Communicator> RankGrid::for_lattice(const Dims& global) const {
  if (fixed) return fixed;
  if (ranks == nullptr) {
    if (wanted) (void)choose_grid(global, 1, wanted);
    return single_process();
  }
  return ranks->communicator(choose_grid(global, size(), wanted));
}

Backend& RankGrid::backend(const std::string& name) const {
  if (ranks == nullptr) return find_backend(name);
  Backend* found = nullptr;
  all_or_none(*all(), [&] { found = &find_backend(name, ranks->local_rank()); });
  if (same_everywhere(*all(), found->name())) return *found;
  throw Error(ErrorCode::unsupported, fmt::format("some ranks have a usable GPU and some have not (the backend of rank "
                                                  "{} is {}): start them on the others only, or use --backend cpu",
                                                  ranks->rank(), found->name()));
}

std::shared_ptr<const Communicator> RankGrid::all() const {
  if (fixed) return fixed;
  return ranks == nullptr ? single_process() : ranks->communicator({1, 1, 1, size()});
}

}  // namespace quadrille
