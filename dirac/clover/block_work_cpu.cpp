#include "core/gauge/work/site_loops.h"
#include "dirac/clover/block_work_of.h"

namespace quadrille {

const BlockWork& block_work_cpu() {
  static const BlockWorkOf<HostLoops> work;
  return work;
}

const BlockWork& block_work(const Backend& backend) { return QUADRILLE_OF_BACKEND(backend.name(), block_work)(); }

}  // namespace quadrille
