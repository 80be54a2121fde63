// What a build without CUDA has in place of cuda/.
#include "core/error.h"
#include "modules/md/dynamics/dynamics_engine.h"
#include "modules/md/lists/list_engine.h"
#include "modules/md/pairs/pair_engine.h"

namespace quadrille::md {

namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::unsupported, "this build has no CUDA backend: QUADRILLE_CUDA=ON builds it");
}

}  // namespace

std::unique_ptr<PairEngine> make_cuda_engine(const PairOrder&, const ListedPairs&, const Communicator*) { refuse(); }
std::unique_ptr<DeviceListEngine> make_cuda_list_engine(const System&, const ListOptions&) { refuse(); }
std::unique_ptr<DynamicsEngine> make_cuda_dynamics(const System&, std::span<const double>, const DynamicsOptions&) {
  refuse();
}

}  // namespace quadrille::md
