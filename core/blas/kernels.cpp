// The kernels of core/blas/ops.h for one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "core/blas/chunk_kernels.h"
#include "core/blas/ops.h"

namespace quadrille::blas {

ChunkKernel QUADRILLE_JOIN(find_kernel_, QUADRILLE_ISA)(int op, Precision precision, int lanes) {
  return find_in(Ops{}, op, precision, lanes);
}

}  // namespace quadrille::blas
