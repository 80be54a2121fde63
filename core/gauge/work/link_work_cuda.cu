// Work on links on the GPU: one thread per item.
#define QUADRILLE_ISA device
#include "core/gauge/work/link_work_of.h"
#include "core/gauge/work/site_loops.cuh"

namespace quadrille {

const LinkWork& link_work_cuda() {
  static const LinkWorkOf<DeviceLoops> work;
  return work;
}

}  // namespace quadrille
