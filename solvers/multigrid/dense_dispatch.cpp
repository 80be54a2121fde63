#include "core/simd/isa.h"
#include "core/simd/of_isa.h"
#include "solvers/multigrid/dense_kernels.h"

namespace quadrille::multigrid {

QUADRILLE_DECLARE_FOR_ISAS(DenseKernels<float>, dense_single, ())
QUADRILLE_DECLARE_FOR_ISAS(DenseKernels<double>, dense_double, ())
QUADRILLE_DECLARE_FOR_ISAS(double, orthonormalise, (const Orthonormalise& what))

template <>
DenseKernels<float> dense_kernels<float>() {
  return QUADRILLE_OF_ISA(active_isa(), dense_single)();
}
template <>
DenseKernels<double> dense_kernels<double>() {
  return QUADRILLE_OF_ISA(active_isa(), dense_double)();
}
double orthonormalise(const Orthonormalise& what) { return QUADRILLE_OF_ISA(active_isa(), orthonormalise)(what); }

}  // namespace quadrille::multigrid
