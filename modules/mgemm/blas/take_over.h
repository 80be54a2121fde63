// Which calls of GEMM Quadrille takes over.
#pragma once

#include <complex>
#include <cstdint>

namespace quadrille::preloaded {

/// C = alpha op(A) op(B) + beta C, as quadrille_mgemm has it (modules/mgemm/capi/c_api.h): order 'C' or 'R', transposes
/// 'N', 'T' or 'C'; another letter is one that the caller got wrong.
template <class T>
struct Product {
  char order, trans_a, trans_b;
  std::int64_t m, n, k;
  T alpha;
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  T beta;
  T* c;
  std::int64_t ldc;
};

/// Whether Quadrille has done the product. If not, C is as it was and the BLAS below is to do it, which also has an
/// answer to wrong arguments and to numbers that are not finite. `caller`: an address in the code that calls. T is
/// double, float or std::complex<double>. Where the environment asks for what cannot be, or a device fails in the
/// middle of a product, the process ends with a message.
template <class T>
bool multiplied(const Product<T>& product, const void* caller);

}  // namespace quadrille::preloaded
