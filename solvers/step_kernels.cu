// The passes of solvers on the device.
#define QUADRILLE_ISA cuda
#include "core/backend/cuda/field_algebra.cuh"
#include "solvers/step_list.h"

namespace quadrille::steps {

void run_cuda(const ::quadrille::cuda::AlgebraCall& call, double* sums) {
  ::quadrille::cuda::run_set(Steps{}, call, sums);
}

}  // namespace quadrille::steps
