// Back-transformation by the reflections of the reduction to a band, several panels as one block reflection I - Y T
// Y^H. T is not formed: T^-1 is the upper half of Y^H Y with 1 / tau on its diagonal (Puglisi).
#include "modules/eigen/cuda/band.h"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/products.h"

#include <algorithm>

namespace quadrille::eigen {
namespace {

/// Columns of a block reflection.
constexpr std::int64_t widest = 512;

/// Unit lower trapezoids of the panels at columns j0..j0+k of A into Y (rows from j0 + b).
template <class T>
__global__ void take_vectors(const T* a, long lda, int n, int b, int j0, T* y, long ldy) {
  const int c = blockIdx.y, j = j0 + c, pivot = j + b;  // the row of the unit of column j
  const int r = j0 + b + blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  y[r + c * ldy] = r < pivot ? T(0.0) : r == pivot ? T(1.0) : a[r + long(j) * lda];
}
/// T^-1 of I - Y T Y^H: upper half of S = Y^H Y, 1 / tau on the diagonal; where tau = 0 the vector is dropped.
template <class T>
__global__ void inverse_t(T* s, const T* tau, int k) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y;
  if (r >= k || r > c) return;
  const bool none = norm2(tau[c]) == 0, none_r = norm2(tau[r]) == 0;
  s[r + long(c) * k] = r == c ? (none ? T(1.0) : inverse(tau[c])) : none || none_r ? T(0.0) : s[r + long(c) * k];
}
template <class T>
__global__ void drop_vectors(T* y, long ldy, int n, int from, const T* tau) {
  const int c = blockIdx.y;
  const int r = from + blockIdx.x * blockDim.x + threadIdx.x;
  if (r < n && norm2(tau[c]) == 0) y[r + c * ldy] = T(0.0);
}

}  // namespace

template <class T>
void apply_q1(std::int64_t n, const T* a, std::int64_t lda, const T* tau, T* e, std::int64_t lde, std::int64_t count) {
  constexpr std::int64_t b = bandwidth;
  if (n <= b || count == 0) return;
  const auto y = device_array<T>(n * widest), s = device_array<T>(widest * widest), x = device_array<T>(widest * count);
  for (std::int64_t j = (n - b - 1) / widest * widest; j >= 0; j -= widest) {
    const std::int64_t first = j + b, rows = n - first, width = std::min(widest, rows);
    const dim3 grid(unsigned((rows + 255) / 256), unsigned(width));
    T* const vectors = y.get() + first;
    take_vectors<T><<<grid, 256, 0, cuda::stream()>>>(a, lda, int(n), int(b), int(j), y.get(), n);
    drop_vectors<T><<<grid, 256, 0, cuda::stream()>>>(y.get(), n, int(n), int(first), tau + j);
    product(Op::adjoint, Op::none, width, width, rows, 1, vectors, n, vectors, n, 0, s.get(), width);
    inverse_t<T><<<dim3(unsigned((width + 127) / 128), unsigned(width)), 128, 0, cuda::stream()>>>(s.get(), tau + j,
                                                                                                   int(width));
    QUADRILLE_CUDA_CHECK(cudaGetLastError());
    product(Op::adjoint, Op::none, width, count, rows, 1, vectors, n, e + first, lde, 0, x.get(), width);
    solve_triangle(Side::left, CUBLAS_FILL_MODE_UPPER, Op::none, width, count, s.get(), width, x.get(), width);
    product(Op::none, Op::none, rows, count, width, -1, vectors, n, x.get(), width, 1, e + first, lde);
  }
}

template void apply_q1(std::int64_t, const double*, std::int64_t, const double*, double*, std::int64_t, std::int64_t);
template void apply_q1(std::int64_t, const Complex*, std::int64_t, const Complex*, Complex*, std::int64_t,
                       std::int64_t);

}  // namespace quadrille::eigen
