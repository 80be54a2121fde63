// The operations of core/blas/ops.h on the device.
#define QUADRILLE_ISA cuda
#include "core/backend/cuda/field_algebra.cuh"

#include "core/blas/ops.h"

namespace quadrille::blas {

void run_cuda(const ::quadrille::cuda::AlgebraCall& call, double* sums) {
  ::quadrille::cuda::run_set(Ops{}, call, sums);
}

}  // namespace quadrille::blas
