// What a build without CUDA has in place of products on a GPU.
#include "core/error.h"
#include "modules/mgemm/device.h"
#include "modules/mgemm/product/compared_products.h"

namespace quadrille::mgemm {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::unsupported,
              "products on a GPU: this build has no CUDA kernels; configure it with -DQUADRILLE_CUDA=ON");
}

}  // namespace

MgemmReport mgemm_on_device(const Gemm<double>&, const Cutoff&, const MgemmOptions&) { refuse(); }
MgemmReport mgemm_through_device(const Gemm<double>&, const Cutoff&, const MgemmOptions&) { refuse(); }
template <class T>
CleaverReport multiply_panels_on_device(const Operands<T>&, std::int64_t) {
  refuse();
}
template CleaverReport multiply_panels_on_device(const Operands<double>&, std::int64_t);
template CleaverReport multiply_panels_on_device(const Operands<float>&, std::int64_t);

std::unique_ptr<ComparedProducts> products_on_device(ComparedCase) { refuse(); }

}  // namespace quadrille::mgemm
