#include "solvers/steps.h"

#include "core/backend/of_backend.h"
#include "core/simd/isa.h"
#include "core/simd/of_isa.h"

namespace quadrille::steps {

QUADRILLE_DECLARE_FOR_ISAS(ChunkKernel, find_kernel, (int op, Precision precision, int lanes))
void run_cuda(const cuda::AlgebraCall& call, double* sums);

const OpSet& op_set() {
  static const OpSet set = blas::make_set(
      Steps{},
      [](Isa isa, int op, Precision precision, int lanes) {
        return QUADRILLE_OF_ISA(isa, find_kernel)(op, precision, lanes);
      },
      [](auto) { return &run_cuda; });
  return set;
}

}  // namespace quadrille::steps
