// What a build without CUDA has in place of cuda/.
#include "core/error.h"
#include "modules/md/pair_engine.h"

namespace quadrille::md {

std::unique_ptr<PairEngine> make_cuda_engine(const PairOrder&, const ListedPairs&) {
  throw Error(ErrorCode::unsupported, "this build has no CUDA backend: QUADRILLE_CUDA=ON builds it");
}

}  // namespace quadrille::md
