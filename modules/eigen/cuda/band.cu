#include "modules/eigen/cuda/band.h"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/panel.cuh"
#include "modules/eigen/cuda/products.h"
#include "modules/eigen/cuda/triangles.h"
#include "modules/eigen/device_needs.h"

#include <algorithm>

namespace quadrille::eigen {
namespace {

constexpr int b = bandwidth;
static_assert(b == panel_width);
/// Columns whose updates the rest of A takes at once.
constexpr std::int64_t deferred = 512;

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

template <class T>
__global__ void take_band(const T* a, long lda, int n, int b, T* band) {
  const int c = blockIdx.x;
  for (int d = threadIdx.x; d < 2 * b; d += blockDim.x) {
    band[d + long(c) * 2 * b] = d <= b && c + d < n ? (d == 0 ? T(real(a[c + c * lda])) : a[c + d + c * lda]) : T(0.0);
  }
}

/// What the panels of one block of `deferred` columns leave for the rest of A.
template <class T>
struct Workspace {
  explicit Workspace(std::int64_t n)
      : y(zeros<T>(n * deferred)),
        z(zeros<T>(n * deferred)),
        w(device_array<T>(n * b)),
        s(device_array<T>(b * b)),
        t(device_array<T>(b * b)),
        x(device_array<T>(deferred * b)),
        partial(device_array<T>(2 * (processors() + 1) * b)),
        arrived(device_array<unsigned>(1)) {}
  cuda::DeviceArray<T> y, z;  ///< n x deferred
  cuda::DeviceArray<T> w;     ///< n x b
  cuda::DeviceArray<T> s, t;  ///< b x b
  cuda::DeviceArray<T> x;     ///< deferred x b
  cuda::DeviceArray<T> partial;
  cuda::DeviceArray<unsigned> arrived;
};

/// T of the panel whose vectors are y, and W = Y T.
template <class T>
void form_w(std::int64_t n, std::int64_t rows, const T* y, const T* tau, const Workspace<T>& work, T* w) {
  constexpr int bytes = b * b * sizeof(T);
  static_assert(bytes <= most_shared_bytes<T>);
  product(Op::adjoint, Op::none, b, b, rows, 1, y, n, y, n, 0, work.s.get(), b);
  QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(form_t<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  form_t<T><<<1, 4 * b, bytes, cuda::stream()>>>(work.s.get(), tau, work.t.get(), b, b);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
  product(Op::none, Op::none, rows, b, b, 1, y, n, work.t.get(), b, 0, w, n);
}

/// Z = P - Y (W^H P) / 2 with P = A W, where A still lacks the updates Y Z^H + Z Y^H of `before` columns.
template <class T>
void form_z(std::int64_t n, std::int64_t first, std::int64_t before, const T* a, std::int64_t lda,
            const Workspace<T>& work) {
  const std::int64_t rows = n - first, offset = first + before * n;
  const T *const w = work.w.get() + first, *const y = work.y.get() + first, *const older = work.z.get() + first;
  T *const z = work.z.get() + offset, *const x = work.x.get();
  product(Op::none, Op::none, rows, b, rows, 1, a + first + first * lda, lda, w, n, 0, z, n);
  product(Op::adjoint, Op::none, before, b, rows, 1, older, n, w, n, 0, x, deferred);
  if (before > 0) product(Op::none, Op::none, rows, b, before, -1, y, n, x, deferred, 1, z, n);
  product(Op::adjoint, Op::none, before, b, rows, 1, y, n, w, n, 0, x, deferred);
  if (before > 0) product(Op::none, Op::none, rows, b, before, -1, older, n, x, deferred, 1, z, n);
  product(Op::adjoint, Op::none, b, b, rows, 1, w, n, z, n, 0, work.s.get(), b);
  product(Op::none, Op::none, rows, b, b, -0.5, work.y.get() + offset, n, work.s.get(), b, 1, z, n);
}

}  // namespace

template <class T>
double band_bytes(std::int64_t n) {
  return sizeof(T) * double(n) * (2 * deferred + 3 * b + 1);
}

template <class T>
Band<T> reduce_to_band(std::int64_t n, T* a, std::int64_t lda) {
  Band<T> out{device_array<T>(2 * b * n), zeros<T>(n + b)};
  const Workspace<T> work(n);
  T *const y = work.y.get(), *const z = work.z.get();
  for (std::int64_t block = 0; block + b < n; block += deferred) {
    std::int64_t k = 0, first = 0;  // columns of the block that are done; the first row below the band
    for (; k < deferred && block + k + b < n; k += b) {
      const std::int64_t j = block + k;  // columns j to j + b of A are up to date
      first = j + b;
      const std::int64_t rows = n - first;
      T* const vectors = y + first + k * n;
      factor_on_device(Panel<T>{a + first + j * lda, lda, int(rows), vectors, n, out.tau.get() + j, work.partial.get(),
                                work.partial.get() + 2 * processors() * b, work.arrived.get()},
                       processors());
      form_w(n, rows, vectors, out.tau.get() + j, work, work.w.get() + first);
      form_z(n, first, k, a, lda, work);
      const bool last = k + b >= deferred || first + b >= n;
      if (!last) {  // the columns of the next panel
        T* const next = a + first + first * lda;
        product(Op::none, Op::adjoint, rows, b, k + b, -1, y + first, n, z + first, n, 1, next, lda);
        product(Op::none, Op::adjoint, rows, b, k + b, -1, z + first, n, y + first, n, 1, next, lda);
      }
    }
    T* const rest = a + first + first * lda;
    subtract_rank_2k(n - first, k, y + first, n, z + first, n, rest, lda);
    fill_upper(n - first, rest, lda);
  }
  take_band<T><<<unsigned(n), 2 * b, 0, cuda::stream()>>>(a, lda, int(n), b, out.band.get());
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
  return out;
}

template double band_bytes<double>(std::int64_t);
template double band_bytes<Complex>(std::int64_t);
template Band<double> reduce_to_band(std::int64_t, double*, std::int64_t);
template Band<Complex> reduce_to_band(std::int64_t, Complex*, std::int64_t);

}  // namespace quadrille::eigen
