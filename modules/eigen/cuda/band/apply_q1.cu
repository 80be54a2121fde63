// Back-transformation by the reflections of the reduction to a band, several panels as one block reflection I - Y T
// Y^H. T is not formed: T^-1 is the upper half of Y^H Y with 1 / tau on its diagonal (Puglisi).
#include "core/comm/agreement.h"
#include "modules/eigen/cuda/band/band.h"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/products.h"
#include "modules/eigen/cuda/ranks/band.h"
#include "modules/eigen/cuda/ranks/panels.h"

#include <algorithm>
#include <optional>

namespace quadrille::eigen {
namespace {

/// Columns of a block reflection.
constexpr std::int64_t widest = 1024;

/// The unit lower trapezoid of columns whose first row is that of the first unit.
template <class T>
__global__ void take_vectors(const T* a, long lda, int rows, T* y, long ldy) {
  const int c = blockIdx.y, r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) y[r + c * ldy] = r < c ? T(0.0) : r == c ? T(1.0) : a[r + long(c) * lda];
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
__global__ void drop_vectors(T* y, long ldy, int rows, const T* tau) {
  const int c = blockIdx.y, r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows && norm2(tau[c]) == 0) y[r + c * ldy] = T(0.0);
}

/// E := (I - Y T Y^H) E for rows first.. of E and `width` reflections, whose vectors are there.
template <class T>
class BlockReflection {
 public:
  BlockReflection(std::int64_t n, std::int64_t most, std::int64_t count)
      : n_(n), count_(count), s_(device_array<T>(most * most)), x_(device_array<T>(most * count)) {}

  void apply(std::int64_t first, std::int64_t width, T* vectors, std::int64_t ld, const T* tau, T* e,
             std::int64_t lde) const {
    const std::int64_t rows = n_ - first;
    const dim3 grid(unsigned((rows + 255) / 256), unsigned(width));
    drop_vectors<T><<<grid, 256, 0, cuda::stream()>>>(vectors, ld, int(rows), tau);
    product(Op::adjoint, Op::none, width, width, rows, 1, vectors, ld, vectors, ld, 0, s_.get(), width);
    inverse_t<T>
        <<<dim3(unsigned((width + 127) / 128), unsigned(width)), 128, 0, cuda::stream()>>>(s_.get(), tau, int(width));
    QUADRILLE_CUDA_CHECK(cudaGetLastError());
    product(Op::adjoint, Op::none, width, count_, rows, 1, vectors, ld, e + first, lde, 0, x_.get(), width);
    solve_triangle(Side::left, CUBLAS_FILL_MODE_UPPER, Op::none, width, count_, s_.get(), width, x_.get(), width);
    product(Op::none, Op::none, rows, count_, width, -1, vectors, ld, x_.get(), width, 1, e + first, lde);
  }

 private:
  std::int64_t n_, count_;
  cuda::DeviceArray<T> s_, x_;
};

/// Y (rows x width) of the panels from column j on; `a`: from that column on.
template <class T>
void take_panel(std::int64_t n, std::int64_t j, std::int64_t width, const T* a, std::int64_t lda, T* y,
                std::int64_t ldy) {
  const std::int64_t rows = n - j - bandwidth;
  take_vectors<T><<<dim3(unsigned((rows + 255) / 256), unsigned(width)), 256, 0, cuda::stream()>>>(
      a + j + bandwidth, lda, int(rows), y, ldy);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

template <class T>
double q1_bytes(std::int64_t n, std::int64_t count) {
  return sizeof(T) * double(widest) * double(n + count + widest);
}

template <class T>
void apply_q1(std::int64_t n, const T* a, std::int64_t lda, const T* tau, T* e, std::int64_t lde, std::int64_t count) {
  constexpr std::int64_t b = bandwidth;
  if (n <= b || count == 0) return;
  const auto y = device_array<T>(n * widest);
  const BlockReflection<T> reflection(n, widest, count);
  for (std::int64_t j = (n - b - 1) / widest * widest; j >= 0; j -= widest) {
    const std::int64_t first = j + b, width = std::min(widest, n - first);
    take_panel(n, j, width, a + j * lda, lda, y.get() + first, n);
    reflection.apply(first, width, y.get() + first, n, tau + j, e, lde);
  }
}

template <class T>
void apply_q1(Exchange& exchange, const Columns<T>& a, const T* tau, T* e, std::int64_t count, T* room) {
  constexpr std::int64_t b = bandwidth;
  const std::int64_t n = a.n(), block = a.layout.block;
  if (n <= b) return;
  std::optional<BlockReflection<T>> reflection;
  all_or_none(exchange.ranks(), [&] { reflection.emplace(n, block, count); });
  const auto send = [&](std::int64_t j, T* panel) {
    const std::int64_t rows = n - j - b, width = std::min(block, rows);
    if (a.has(j)) take_panel(n, j, width, a.at(0, j), n, panel, rows);
    const DevicePiece piece{a.owner(j), panel, std::size_t(rows * width) * sizeof(T)};
    return exchange.share_beside({&piece, 1});
  };
  for_panels((n - b - 1) / block * block, -block, n, room, room + n * block, send, [&](std::int64_t j, T* panel) {
    const std::int64_t rows = n - j - b;
    reflection->apply(j + b, std::min(block, rows), panel, rows, tau + j, e, n);
  });
}

template void apply_q1(std::int64_t, const double*, std::int64_t, const double*, double*, std::int64_t, std::int64_t);
template void apply_q1(std::int64_t, const Complex*, std::int64_t, const Complex*, Complex*, std::int64_t,
                       std::int64_t);
template double q1_bytes<double>(std::int64_t, std::int64_t);
template double q1_bytes<Complex>(std::int64_t, std::int64_t);
template void apply_q1(Exchange&, const Columns<double>&, const double*, double*, std::int64_t, double*);
template void apply_q1(Exchange&, const Columns<Complex>&, const Complex*, Complex*, std::int64_t, Complex*);

}  // namespace quadrille::eigen
