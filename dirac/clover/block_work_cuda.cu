#include "core/gauge/work/site_loops.cuh"
#include "dirac/clover/block_work_of.h"

namespace quadrille {

const BlockWork& block_work_cuda() {
  static const BlockWorkOf<DeviceLoops> work;
  return work;
}

}  // namespace quadrille
