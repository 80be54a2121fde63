// The kernels of solvers/steps.h for one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "core/blas/chunk_kernels.h"
#include "solvers/step_list.h"

namespace quadrille::steps {

ChunkKernel QUADRILLE_JOIN(find_kernel_, QUADRILLE_ISA)(int op, Precision precision, int lanes) {
  return find_in(Steps{}, op, precision, lanes);
}

}  // namespace quadrille::steps
