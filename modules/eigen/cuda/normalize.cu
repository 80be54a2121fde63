#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/normalize.h"

#include <climits>

namespace quadrille::eigen {
namespace {

constexpr int threads = 256;

__global__ void widen_all(std::int64_t count, const double* from, Complex* to) {
  for (std::int64_t k = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x; k < count;
       k += gridDim.x * std::int64_t(blockDim.x)) {
    to[k] = Complex(from[k]);
  }
}

template <class T>
__global__ void __launch_bounds__(threads) normalize(int n, T* x, std::int64_t ldx, double factor) {
  T* const column = x + blockIdx.x * ldx;
  __shared__ double largest;
  __shared__ double of_warp[threads / 32];
  __shared__ int chosen;
  double mine = 0;
  for (int r = threadIdx.x; r < n; r += threads) mine = fmax(mine, norm2(column[r]));
  for (int by = 16; by > 0; by /= 2) mine = fmax(mine, __shfl_xor_sync(0xffffffffu, mine, by));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  if (threadIdx.x == 0) chosen = INT_MAX;
  __syncthreads();
  if (threadIdx.x == 0) {
    largest = 0;
    for (const double w : of_warp) largest = fmax(largest, w);
  }
  __syncthreads();
  constexpr double as_large = (1 - 1e-6) * (1 - 1e-6);
  int first = INT_MAX;
  for (int r = threadIdx.x; r < n && first == INT_MAX; r += threads) {
    if (norm2(column[r]) >= as_large * largest) first = r;
  }
  if (first != INT_MAX) atomicMin(&chosen, first);
  __syncthreads();
  if (chosen == INT_MAX || largest == 0) return;
  const T pivot = column[chosen];
  const double length = sqrt(norm2(pivot));
  const T phase = (factor / length) * conj(pivot);
  __syncthreads();
  for (int r = threadIdx.x; r < n; r += threads) column[r] = r == chosen ? T(factor * length) : phase * column[r];
}

}  // namespace

void widen(std::int64_t count, const double* from, Complex* to) {
  if (count == 0) return;
  widen_all<<<4096, threads, 0, cuda::stream()>>>(count, from, to);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}

template <class T>
void normalize_vectors(std::int64_t n, std::int64_t count, T* x, std::int64_t ldx, double factor) {
  if (count == 0) return;
  normalize<T><<<unsigned(count), threads, 0, cuda::stream()>>>(int(n), x, ldx, factor);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}
template void normalize_vectors(std::int64_t, std::int64_t, double*, std::int64_t, double);
template void normalize_vectors(std::int64_t, std::int64_t, Complex*, std::int64_t, double);

}  // namespace quadrille::eigen
