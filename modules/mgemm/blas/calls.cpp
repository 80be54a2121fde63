// The functions that libquadrille_blas.so takes the place of (exports.map): those of BLAS, which Fortran calls, and of
// CBLAS; and by the names under which numpy's and scipy's wheels of PyPI have them, whose OpenBLAS has a prefix and,
// for numpy, counts in 64 bits. Each call is Quadrille's, or goes on to the same function below.
#include "modules/mgemm/blas/below.h"
#include "modules/mgemm/blas/take_over.h"

#include <complex>
#include <cstddef>
#include <cstdint>

namespace quadrille::preloaded {
namespace {

using Complex = std::complex<double>;

/// Fortran's lengths of the transposes come last. C leaves them out, but the function below may use their place.
template <class T, class Int>
using FortranGemm = void(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T*, const Int*,
                         const T*, const Int*, const T*, T*, const Int*, std::size_t, std::size_t);

/// CBLAS passes complex scalars by their addresses.
template <class T>
struct Scalar {
  using Type = T;
  static T value(T scalar) { return scalar; }
};
template <>
struct Scalar<Complex> {
  using Type = const void*;
  static Complex value(const void* scalar) { return *static_cast<const Complex*>(scalar); }
};
template <class T>
using ScalarOf = typename Scalar<T>::Type;

template <class T, class Int>
using CGemm = void(int, int, int, Int, Int, Int, ScalarOf<T>, const T*, Int, const T*, Int, ScalarOf<T>, T*, Int);

char order_of(int order) { return order == 101 ? 'R' : order == 102 ? 'C' : '?'; }
char transpose_of(int transpose) {
  return transpose == 111 ? 'N' : transpose == 112 ? 'T' : transpose == 113 ? 'C' : '?';
}

}  // namespace
}  // namespace quadrille::preloaded

// Each call looks for the function below once: the libraries of its first caller decide.
#define QUADRILLE_FORTRAN(name, T, Int)                                                                             \
  extern "C" void name(const char* trans_a, const char* trans_b, const Int* m, const Int* n, const Int* k,          \
                       const T* alpha, const T* a, const Int* lda, const T* b, const Int* ldb, const T* beta, T* c, \
                       const Int* ldc) {                                                                            \
    using namespace quadrille::preloaded;                                                                           \
    const void* const caller = __builtin_return_address(0);                                                         \
    if (multiplied(Product<T>{'C', *trans_a, *trans_b, *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc},       \
                   caller)) {                                                                                       \
      return;                                                                                                       \
    }                                                                                                               \
    static const auto below = reinterpret_cast<FortranGemm<T, Int>*>(find_below(#name, caller));                    \
    const InBelow inside;                                                                                           \
    below(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, 1, 1);                                    \
  }

#define QUADRILLE_C(name, T, Int)                                                                         \
  extern "C" void name(int order, int trans_a, int trans_b, Int m, Int n, Int k,                          \
                       quadrille::preloaded::ScalarOf<T> alpha, const T* a, Int lda, const T* b, Int ldb, \
                       quadrille::preloaded::ScalarOf<T> beta, T* c, Int ldc) {                           \
    using namespace quadrille::preloaded;                                                                 \
    const void* const caller = __builtin_return_address(0);                                               \
    if (multiplied(Product<T>{order_of(order), transpose_of(trans_a), transpose_of(trans_b), m, n, k,     \
                              Scalar<T>::value(alpha), a, lda, b, ldb, Scalar<T>::value(beta), c, ldc},   \
                   caller)) {                                                                             \
      return;                                                                                             \
    }                                                                                                     \
    static const auto below = reinterpret_cast<CGemm<T, Int>*>(find_below(#name, caller));                \
    const InBelow inside;                                                                                 \
    below(order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                         \
  }

QUADRILLE_FORTRAN(dgemm_, double, std::int32_t)
QUADRILLE_FORTRAN(sgemm_, float, std::int32_t)
QUADRILLE_FORTRAN(zgemm_, std::complex<double>, std::int32_t)
QUADRILLE_FORTRAN(scipy_dgemm_, double, std::int32_t)
QUADRILLE_FORTRAN(scipy_sgemm_, float, std::int32_t)
QUADRILLE_FORTRAN(scipy_zgemm_, std::complex<double>, std::int32_t)
QUADRILLE_C(cblas_dgemm, double, std::int32_t)
QUADRILLE_C(cblas_sgemm, float, std::int32_t)
QUADRILLE_C(cblas_zgemm, std::complex<double>, std::int32_t)
QUADRILLE_C(scipy_cblas_dgemm64_, double, std::int64_t)
QUADRILLE_C(scipy_cblas_sgemm64_, float, std::int64_t)
QUADRILLE_C(scipy_cblas_zgemm64_, std::complex<double>, std::int64_t)
