#include "modules/block_dft/product/driver.h"

#include "core/error.h"
#include "core/simd/isa.h"
#include "core/simd/of_isa.h"
#include "modules/mgemm/product/blas.h"

namespace quadrille::block_dft {
namespace {

template <class T>
RunKernel<T> own_kernel() {
  return QUADRILLE_OF_ISA(active_isa(), find_run_kernel, <T>)();
}

template <class T>
void multiply_blas(const Factors<T>& f, std::int32_t m, std::int32_t n, T* c) {
  // C by columns is C^T by rows: C^T += B^T A^T.
  mgemm::dense_product(T(1), DenseView<const T>{f.b, n, f.k, n, false}, DenseView<const T>{f.a, f.k, m, f.k, false},
                       T(1), DenseView<T>{c, n, m, n, false});
}

/// Products of one run, those of OpenBLAS one by one and the others in stretches.
template <class T>
void multiply_mixed(const Factors<T>* factors, const Run<T>& run, RunKernel<T> kernel, std::int64_t blas_from) {
  const std::int64_t area = std::int64_t(run.m) * run.n;
  for (std::int64_t at = 0; at < run.count;) {
    std::int64_t end = at;
    while (end < run.count && area * factors[end].k < blas_from) ++end;
    if (end > at) kernel(factors + at, end - at, run.m, run.n, run.c);
    if (end < run.count) multiply_blas(factors[end++], run.m, run.n, run.c);
    at = end;
  }
}

#ifndef QUADRILLE_HAVE_XSMM
template <class T>
RunKernel<T> xsmm_kernel() {
  throw Error(ErrorCode::unsupported,
              "this build has no libxsmm: build with -DQUADRILLE_XSMM=ON, or use the driver own");
}
#else
template <class T>
RunKernel<T> xsmm_kernel() {
  return multiply_run_xsmm<T>;
}
#endif

}  // namespace

std::string to_string(Driver driver) {
  switch (driver) {
    case Driver::automatic: return "automatic";
    case Driver::own: return "own";
    case Driver::xsmm: return "xsmm";
    default: return "blas";
  }
}

bool has_xsmm() {
#ifdef QUADRILLE_HAVE_XSMM
  return true;
#else
  return false;
#endif
}

Driver driver_named(const std::string& name) {
  for (Driver driver : {Driver::automatic, Driver::own, Driver::xsmm, Driver::blas}) {
    if (name != to_string(driver)) continue;
    if (driver == Driver::xsmm) (void)xsmm_kernel<double>();
    return driver;
  }
  throw Error(ErrorCode::invalid_input, "unknown driver '" + name + "': use automatic, own, xsmm or blas");
}

template <class T>
void multiply_stack(const ProductStack<T>& stack, Driver driver) {
  const RunKernel<T> kernel = driver == Driver::xsmm ? xsmm_kernel<T>() : own_kernel<T>();
  for (const Run<T>& run : stack.runs) {
    const Factors<T>* factors = stack.factors.data() + run.first;
    if (driver == Driver::automatic || driver == Driver::blas) {
      multiply_mixed(factors, run, kernel, driver == Driver::blas ? 0 : blas_work);
    } else {
      kernel(factors, run.count, run.m, run.n, run.c);
    }
  }
}

template void multiply_stack(const ProductStack<double>&, Driver);
template void multiply_stack(const ProductStack<float>&, Driver);

}  // namespace quadrille::block_dft
