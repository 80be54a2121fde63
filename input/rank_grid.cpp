#include "input/rank_grid.h"

#include "core/comm/process_grid.h"
#include "core/error.h"

#include <fmt/format.h>

namespace quadrille {

std::shared_ptr<const Communicator> RankGrid::for_lattice(const Dims& global) const {
  if (ranks == nullptr) {
    if (wanted) (void)choose_grid(global, 1, wanted);
    return single_process();
  }
  return ranks->communicator(choose_grid(global, size(), wanted));
}

std::shared_ptr<const Communicator> RankGrid::all() const {
  return ranks == nullptr ? single_process() : ranks->communicator({1, 1, 1, size()});
}

}  // namespace quadrille
