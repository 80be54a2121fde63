#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/products.h"
#include "modules/eigen/cuda/standard_form.h"
#include "modules/eigen/cuda/triangles.h"
#include "modules/eigen/device_needs.h"

namespace quadrille::eigen {
namespace {

constexpr int leaf = 64;
/// Blocks of A that are transformed by two triangular solves.
constexpr std::int64_t standard_leaf = 1024;

/// Cholesky factor of a block of at most 64 rows; `first`: of the block, for the number of a minor that is not
/// positive.
template <class T>
__global__ void __launch_bounds__(256)
    factor_leaf(int n, T* b, std::int64_t ldb, std::int64_t first, long long* failed) {
  extern __shared__ double2 shared_bytes[];
  T* const tile = reinterpret_cast<T*>(shared_bytes);  // leaf x leaf
  constexpr int ld = leaf + 1;
  for (int k = threadIdx.x; k < n * n; k += blockDim.x) tile[k % n + k / n * ld] = b[k % n + k / n * ldb];
  __syncthreads();
  for (int j = 0; j < n; ++j) {
    const double pivot = real(tile[j + j * ld]);
    if (!(pivot > 0)) {  // the same in all threads
      if (threadIdx.x == 0) atomicMin(failed, (long long)(first + j + 1));
      return;
    }
    const double root = sqrt(pivot);
    __syncthreads();
    for (int r = j + threadIdx.x; r < n; r += blockDim.x)
      tile[r + j * ld] = r == j ? T(root) : (1 / root) * tile[r + j * ld];
    __syncthreads();
    const int rest = n - j - 1;
    for (int k = threadIdx.x; k < rest * rest; k += blockDim.x) {
      const int r = j + 1 + k % rest, c = j + 1 + k / rest;
      if (r >= c) tile[r + c * ld] -= tile[r + j * ld] * conj(tile[c + j * ld]);
    }
    __syncthreads();
  }
  for (int k = threadIdx.x; k < n * n; k += blockDim.x) {
    if (k % n >= k / n) b[k % n + k / n * ldb] = tile[k % n + k / n * ld];
  }
}

template <class T>
void factor(std::int64_t n, T* b, std::int64_t ldb, std::int64_t first, long long* failed) {
  if (n <= leaf) {
    constexpr int bytes = leaf * (leaf + 1) * sizeof(T);
    static_assert(bytes <= most_shared_bytes<T>);
    QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(factor_leaf<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    factor_leaf<T><<<1, 256, bytes, cuda::stream()>>>(int(n), b, ldb, first, failed);
    QUADRILLE_CUDA_CHECK(cudaGetLastError());
    return;
  }
  const std::int64_t n1 = (n / 2 + leaf - 1) / leaf * leaf, n2 = n - n1;
  T *const below = b + n1, *const rest = b + n1 + n1 * ldb;
  factor(n1, b, ldb, first, failed);
  solve_triangle(Side::right, CUBLAS_FILL_MODE_LOWER, Op::adjoint, n2, n1, b, ldb, below, ldb);
  subtract_rank_k(n2, n1, below, ldb, rest, ldb);
  factor(n2, rest, ldb, first + n1, failed);
}

template <class T>
void transform(std::int64_t n, T* a, std::int64_t lda, const T* l, std::int64_t ldl) {
  if (n <= standard_leaf) {
    fill_upper_half(n, a, lda);
    solve_triangle(Side::left, CUBLAS_FILL_MODE_LOWER, Op::none, n, n, l, ldl, a, lda);
    solve_triangle(Side::right, CUBLAS_FILL_MODE_LOWER, Op::adjoint, n, n, l, ldl, a, lda);
    fill_upper_half(n, a, lda);
    return;
  }
  const std::int64_t n1 = n / 2 / leaf * leaf, n2 = n - n1;
  T *const a21 = a + n1, *const a22 = a + n1 + n1 * lda;
  const T *const l21 = l + n1, *const l22 = l + n1 + n1 * ldl;
  transform(n1, a, lda, l, ldl);
  solve_triangle(Side::right, CUBLAS_FILL_MODE_LOWER, Op::adjoint, n2, n1, l, ldl, a21, lda);
  product(Op::none, Op::none, n2, n1, n1, -0.5, l21, ldl, a, lda, 1, a21, lda);
  subtract_rank_2k(n2, n1, a21, lda, l21, ldl, a22, lda);
  product(Op::none, Op::none, n2, n1, n1, -0.5, l21, ldl, a, lda, 1, a21, lda);
  solve_triangle(Side::left, CUBLAS_FILL_MODE_LOWER, Op::none, n2, n1, l22, ldl, a21, lda);
  transform(n2, a22, lda, l22, ldl);
  fill_upper_half(n, a, lda);
}

}  // namespace

MinorFinder::MinorFinder() : first_(cuda::sent(std::vector<long long>{INT64_MAX}, "an eigenproblem", "")) {}
std::int64_t MinorFinder::minor() const {
  const long long first = cuda::fetched(first_.get(), 1).front();
  return first == INT64_MAX ? 0 : first;
}

template <class T>
void factor_cholesky(std::int64_t n, T* b, std::int64_t ldb, std::int64_t before, const MinorFinder& failed) {
  factor(n, b, ldb, before, failed.get());
}
template <class T>
std::int64_t factor_cholesky(std::int64_t n, T* b, std::int64_t ldb) {
  const MinorFinder failed;
  factor_cholesky(n, b, ldb, 0, failed);
  return failed.minor();
}
template <class T>
void to_standard_form(std::int64_t n, T* a, std::int64_t lda, const T* l, std::int64_t ldl) {
  transform(n, a, lda, l, ldl);
}
template <class T>
void to_general_vectors(std::int64_t n, const T* l, std::int64_t ldl, T* x, std::int64_t ldx, std::int64_t count) {
  solve_triangle(Side::left, CUBLAS_FILL_MODE_LOWER, Op::adjoint, n, count, l, ldl, x, ldx);
}

#define QUADRILLE_STANDARD_FORM(T)                                                                 \
  template void factor_cholesky(std::int64_t, T*, std::int64_t, std::int64_t, const MinorFinder&); \
  template std::int64_t factor_cholesky(std::int64_t, T*, std::int64_t);                           \
  template void to_standard_form(std::int64_t, T*, std::int64_t, const T*, std::int64_t);          \
  template void to_general_vectors(std::int64_t, const T*, std::int64_t, T*, std::int64_t, std::int64_t);
QUADRILLE_STANDARD_FORM(double)
QUADRILLE_STANDARD_FORM(Complex)
#undef QUADRILLE_STANDARD_FORM

}  // namespace quadrille::eigen
