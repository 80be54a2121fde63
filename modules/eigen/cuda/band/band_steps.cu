#include "modules/eigen/cuda/band/band_steps.h"

#include "modules/eigen/cuda/band/panel.cuh"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/products.h"
#include "modules/eigen/device_needs.h"

namespace quadrille::eigen {

static_assert(bandwidth == panel_width);

namespace {

/// T of I - Y T Y^H from S = Y^H Y and tau; n <= 64.
template <class T>
__global__ void __launch_bounds__(256) form_t(const T* s, const T* tau, T* t, int n, int ld) {
  extern __shared__ double2 shared_bytes[];
  T* const out = reinterpret_cast<T*>(shared_bytes);  // n x n
  for (int k = threadIdx.x; k < n * n; k += blockDim.x) out[k] = T(0.0);
  __syncthreads();
  const int row = threadIdx.x / 4, part = threadIdx.x % 4;
  for (int j = 0; j < n; ++j) {
    T sum(0.0);
    if (row < j) {
      for (int k = row + part; k < j; k += 4) sum += out[row + k * n] * s[k + j * ld];
    }
    sum += shuffled_xor(sum, 1);
    sum += shuffled_xor(sum, 2);
    __syncthreads();
    if (part == 0 && row <= j) out[row + j * n] = row < j ? -(tau[j] * sum) : tau[j];
    __syncthreads();
  }
  for (int k = threadIdx.x; k < n * n; k += blockDim.x) t[k % n + (k / n) * ld] = out[k];
}

/// Columns of the band from as many of A, of which the first is column `first`.
template <class T>
__global__ void copy_band(const T* a, long lda, int n, int first, T* band) {
  constexpr int b = bandwidth;
  const int c = first + blockIdx.x;
  const T* const column = a + blockIdx.x * lda;
  for (int d = threadIdx.x; d < 2 * b; d += blockDim.x) {
    band[d + long(c) * 2 * b] = d <= b && c + d < n ? (d == 0 ? T(real(column[c])) : column[c + d]) : T(0.0);
  }
}

}  // namespace

template <class T>
Workspace<T>::Workspace(std::int64_t n, std::int64_t columns)
    : y(zeros<T>(n * columns)),
      z(zeros<T>(n * columns)),
      w(device_array<T>(n * bandwidth)),
      s(device_array<T>(bandwidth * bandwidth)),
      t(device_array<T>(bandwidth * bandwidth)),
      x(device_array<T>(deferred * bandwidth)),
      partial(device_array<T>(2 * (processors() + 1) * bandwidth)),
      arrived(device_array<unsigned>(1)) {}

template <class T>
void factor_columns(T* a, std::int64_t lda, std::int64_t rows, T* y, std::int64_t ldy, T* tau,
                    const Workspace<T>& work) {
  factor_on_device(Panel<T>{a, lda, int(rows), y, ldy, tau, work.partial.get(),
                            work.partial.get() + 2 * processors() * bandwidth, work.arrived.get()},
                   processors());
}

template <class T>
void update_columns(std::int64_t n, std::int64_t first, std::int64_t done, T* next, std::int64_t lda,
                    const Workspace<T>& work) {
  const T *const y = work.y.get() + first, *const z = work.z.get() + first;
  product(Op::none, Op::adjoint, n - first, bandwidth, done, -1, y, n, z, n, 1, next, lda);
  product(Op::none, Op::adjoint, n - first, bandwidth, done, -1, z, n, y, n, 1, next, lda);
}

template <class T>
void form_w(std::int64_t n, std::int64_t rows, const T* y, const T* tau, const Workspace<T>& work, T* w) {
  constexpr int b = bandwidth, bytes = b * b * sizeof(T);
  static_assert(bytes <= most_shared_bytes<T>);
  product(Op::adjoint, Op::none, b, b, rows, 1, y, n, y, n, 0, work.s.get(), b);
  QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(form_t<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  form_t<T><<<1, 4 * b, bytes, cuda::stream()>>>(work.s.get(), tau, work.t.get(), b, b);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
  product(Op::none, Op::none, rows, b, b, 1, y, n, work.t.get(), b, 0, w, n);
}

template <class T>
void form_z(std::int64_t n, std::int64_t first, std::int64_t before, const Workspace<T>& work) {
  constexpr int b = bandwidth;
  const std::int64_t rows = n - first, offset = first + before * n;
  const T *const w = work.w.get() + first, *const y = work.y.get() + first, *const older = work.z.get() + first;
  T *const z = work.z.get() + offset, *const x = work.x.get();
  product(Op::adjoint, Op::none, before, b, rows, 1, older, n, w, n, 0, x, deferred);
  if (before > 0) product(Op::none, Op::none, rows, b, before, -1, y, n, x, deferred, 1, z, n);
  product(Op::adjoint, Op::none, before, b, rows, 1, y, n, w, n, 0, x, deferred);
  if (before > 0) product(Op::none, Op::none, rows, b, before, -1, older, n, x, deferred, 1, z, n);
  product(Op::adjoint, Op::none, b, b, rows, 1, w, n, z, n, 0, work.s.get(), b);
  product(Op::none, Op::none, rows, b, b, -0.5, work.y.get() + offset, n, work.s.get(), b, 1, z, n);
}

template <class T>
void take_band(std::int64_t n, std::int64_t first, std::int64_t count, const T* a, std::int64_t lda, T* band) {
  copy_band<T><<<unsigned(count), 2 * bandwidth, 0, cuda::stream()>>>(a, lda, int(n), int(first), band);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}

#define QUADRILLE_BAND_STEPS(T)                                                                                  \
  template struct Workspace<T>;                                                                                  \
  template void factor_columns(T*, std::int64_t, std::int64_t, T*, std::int64_t, T*, const Workspace<T>&);       \
  template void form_w(std::int64_t, std::int64_t, const T*, const T*, const Workspace<T>&, T*);                 \
  template void form_z(std::int64_t, std::int64_t, std::int64_t, const Workspace<T>&);                           \
  template void update_columns(std::int64_t, std::int64_t, std::int64_t, T*, std::int64_t, const Workspace<T>&); \
  template void take_band(std::int64_t, std::int64_t, std::int64_t, const T*, std::int64_t, T*);
QUADRILLE_BAND_STEPS(double)
QUADRILLE_BAND_STEPS(Complex)
#undef QUADRILLE_BAND_STEPS

}  // namespace quadrille::eigen
