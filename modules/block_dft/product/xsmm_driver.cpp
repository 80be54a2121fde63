// Runs of small products by libxsmm, which compiles a kernel for each size when it is first needed.
#include "core/error.h"
#include "modules/block_dft/product/driver.h"

#include <libxsmm.h>

#include <fmt/format.h>

namespace quadrille::block_dft {
namespace {

// libxsmm knows matrices by columns: C^T (n x m) += B^T (n x k) A^T (k x m).

auto dispatch(double, std::int32_t m, std::int32_t n, std::int32_t k) {
  const double one = 1;
  const int flags = LIBXSMM_GEMM_FLAG_NONE;
  return libxsmm_dmmdispatch(n, m, k, nullptr, nullptr, nullptr, &one, &one, &flags, nullptr);
}

auto dispatch(float, std::int32_t m, std::int32_t n, std::int32_t k) {
  const float one = 1;
  const int flags = LIBXSMM_GEMM_FLAG_NONE;
  return libxsmm_smmdispatch(n, m, k, nullptr, nullptr, nullptr, &one, &one, &flags, nullptr);
}

}  // namespace

template <class T>
void multiply_run_xsmm(const Factors<T>* factors, std::int64_t count, std::int32_t m, std::int32_t n, T* c) {
  decltype(dispatch(T{}, m, n, 0)) kernel = nullptr;
  std::int32_t k = -1;
  for (std::int64_t f = 0; f < count; ++f) {
    if (factors[f].k != k) {
      k = factors[f].k;
      kernel = dispatch(T{}, m, n, k);
      if (kernel == nullptr) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("libxsmm has no kernel for {} x {} x {}: use the driver own", m, n, k));
      }
    }
    kernel(factors[f].b, factors[f].a, c);
  }
}

template void multiply_run_xsmm(const Factors<double>*, std::int64_t, std::int32_t, std::int32_t, double*);
template void multiply_run_xsmm(const Factors<float>*, std::int64_t, std::int32_t, std::int32_t, float*);

}  // namespace quadrille::block_dft
