// What a build without CUDA has in place of RI-MP2 on a GPU.
#include "core/error.h"
#include "modules/ri_mp2/device.h"

namespace quadrille::ri_mp2 {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::unsupported,
              "RI-MP2 on a GPU: this build has no CUDA kernels; configure it with -DQUADRILLE_CUDA=ON");
}

}  // namespace

void sum_on_device(const System&, const Options&, const std::vector<double>&, Energy&) { refuse(); }
std::vector<double> make_b_on_device(const System&, const Options&, const std::vector<double>&, Step&) { refuse(); }
template <class T>
SpinSums sum_batch_on_device(const System&, const Batch<T>&) {
  refuse();
}
template SpinSums sum_batch_on_device(const System&, const Batch<double>&);
template SpinSums sum_batch_on_device(const System&, const Batch<float>&);

}  // namespace quadrille::ri_mp2
