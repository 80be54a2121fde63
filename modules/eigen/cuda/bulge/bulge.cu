// Bulge chasing: one persistent kernel, a block a sweep.
//
// Sweep s makes column s tridiagonal and chases the bulge to the end: step t reflects rows s + 1 + t b and the b - 1
// below them. Step t of sweep s + 1 touches what step t + 1 of sweep s leaves, and nothing later, so a sweep follows
// the one before it at a distance of two steps. Sweeps are taken in order from a counter: the oldest one that is not
// finished waits for nobody, hence no set of resident blocks can wait for ever.
#include "modules/eigen/cuda/bulge/bulge.h"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/warps.cuh"
#include "modules/eigen/device_needs.h"

#include <cuda/atomic>

#include <algorithm>

namespace quadrille::eigen {
namespace {

/// Threads of a row, which share its columns: as many as a processor has registers for.
template <class T>
constexpr int parts = sizeof(T) == 8 ? 8 : 4;
template <class T>
constexpr int bulge_threads = parts<T>* bandwidth;

template <class T>
struct BulgeTile {
  static constexpr int b = bandwidth, ld = b + 1;
  T below[b * ld], diagonal[b * ld], part[parts<T> * b], other[parts<T> * b], v[2][b], u[b], w[b];
};

/// The sum of row r over the parts of its columns.
template <class T>
__device__ inline T sum_of_parts(const T* part, int r) {
  T sum = part[r];
#pragma unroll
  for (int k = 1; k < parts<T>; ++k) sum += part[k * bandwidth + r];
  return sum;
}

template <class T>
__global__ void __launch_bounds__(bulge_threads<T>) chase(const Bulge<T> p) {
  constexpr int b = bandwidth, ld = BulgeTile<T>::ld, columns = b / parts<T>;
  extern __shared__ double2 shared_bytes[];
  auto& tile = *reinterpret_cast<BulgeTile<T>*>(shared_bytes);
  __shared__ int taken;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = threadIdx.x % b, part = threadIdx.x / b, from = part * columns;
  const auto element = [&](long r, long c) { return p.band + (r - c) + c * (2 * b); };
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) taken = atomicAdd(p.next, 1);
    __syncthreads();
    const int s = taken;
    if (s >= p.n - 1) return;
    const int steps = steps_of_sweep(p.n, s), before = s > 0 ? steps_of_sweep(p.n, s - 1) : 0;
    const long group = s / b, base = diamond_base(p.n, group);
    T tau_before(0.0);
    for (int t = 0; t < steps; ++t) {
      if (s > 0 && threadIdx.x == 0) {
        const int needed = min(t + 2, before);
        ::cuda::atomic_ref<int, ::cuda::thread_scope_device> done(p.progress[s - 1]);
        while (done.load(::cuda::memory_order_acquire) < needed) {
        }
      }
      __syncthreads();
      const long r0 = s + 1 + long(t) * b;
      const int rows = min(long(b), p.n - r0);
      // Of the thread's columns: the next one is `next` numbers further.
      constexpr int next = 2 * b - 1;
      T* const below_at = element(r0 + row, r0 - b + from);
      T* const diagonal_at = element(r0 + row, r0 + from);
      T* const old_v = tile.v[t % 2];
      T* const new_v = tile.v[1 - t % 2];
      // Load: the block below the last diagonal block (or column s), and the next diagonal block.
      T below[columns], diagonal[columns];
#pragma unroll
      for (int k = 0; k < columns; ++k) {
        const int c = from + k;
        if (t > 0) {
          below[k] = row < rows ? load_l2(below_at + k * next) : T(0.0);
        }
        diagonal[k] = row < rows && row >= c ? load_l2(diagonal_at + k * next) : T(0.0);
      }
      T x[2], y[2];
      if (t > 0) {
        T sum(0.0);
#pragma unroll
        for (int k = 0; k < columns; ++k) {
          tile.below[row + (from + k) * ld] = below[k];
          sum += below[k] * old_v[from + k];
        }
        tile.part[part * b + row] = sum;
      }
#pragma unroll
      for (int k = 0; k < columns; ++k) {
        const int c = from + k;
        if (row >= c) {
          tile.diagonal[row + c * ld] = diagonal[k];
          tile.diagonal[c + row * ld] = row == c ? T(real(diagonal[k])) : conj(diagonal[k]);
        }
      }
      __syncthreads();
      // y = B v of the last reflection, x = first column of B H, and the new reflection: by every warp for itself.
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int r = lane + 32 * half;
        if (t > 0) {
          y[half] = sum_of_parts(tile.part, r);
          x[half] = tile.below[r] - tau_before * y[half];
        } else {
          y[half] = T(0.0);
          x[half] = r < rows ? load_l2(element(r0 + r, s)) : T(0.0);
        }
      }
      const double sum = warp_sum((lane > 0 ? norm2(x[0]) : 0.0) + norm2(x[1]));
      const T alpha = of_first_lane(x[0]);
      const Reflector<T> h = reflector(alpha, sum);
      T v[2] = {lane == 0 ? T(1.0) : h.scale * x[0], h.scale * x[1]};
      if (warp == 0) {
        new_v[lane] = v[0];
        new_v[lane + 32] = v[1];
        if (p.v != nullptr) {
          const long place = (base + t) * b + s % b;
          p.v[place * b + lane] = v[0];
          p.v[place * b + lane + 32] = v[1];
          if (lane == 0) p.tau[place] = h.tau;
        }
      }
      __syncthreads();
      // u = v^H B of the original B, and p = D v.
      {
        T sum_u(0.0), sum_p(0.0);
#pragma unroll
        for (int k = 0; k < columns; ++k) {
          if (t > 0) sum_u += conj(new_v[from + k]) * tile.below[from + k + row * ld];
          sum_p += tile.diagonal[row + (from + k) * ld] * new_v[from + k];
        }
        tile.part[part * b + row] = sum_u;
        tile.other[part * b + row] = sum_p;
      }
      __syncthreads();
      if (warp == 0 && t > 0) {
        const T overlap = warp_sum(conj(v[0]) * y[0] + conj(v[1]) * y[1]);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int c = lane + 32 * half;
          const T u = sum_of_parts(tile.part, c);
          tile.u[c] = conj(h.tau) * (u - tau_before * overlap * conj(old_v[c]));
        }
      }
      if (warp == 1) {
        T product[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int r = lane + 32 * half;
          product[half] = sum_of_parts(tile.other, r);
        }
        const double gamma = warp_sum(real(conj(v[0]) * product[0]) + real(conj(v[1]) * product[1]));
        const double factor = 0.5 * norm2(h.tau) * gamma;
#pragma unroll
        for (int half = 0; half < 2; ++half) tile.w[lane + 32 * half] = h.tau * product[half] - factor * v[half];
      }
      __syncthreads();
      if (row < rows) {
        const T mine = warp % 2 ? v[1] : v[0], w = tile.w[row];
        if (t > 0) {
          const T factor = tau_before * (warp % 2 ? y[1] : y[0]);
#pragma unroll
          for (int k = 0; k < columns; ++k) {
            const int c = from + k;
            const T changed = below[k] - (factor * conj(old_v[c]) + mine * tile.u[c]);
            store_l2(below_at + k * next, c > 0 ? changed : row == 0 ? T(h.beta) : T(0.0));
          }
        } else if (part == 0) {
          store_l2(element(r0 + row, s), row == 0 ? T(h.beta) : T(0.0));
        }
#pragma unroll
        for (int k = 0; k < columns; ++k) {
          const int c = from + k;
          if (row >= c) {
            const T d = diagonal[k] - (w * conj(new_v[c]) + mine * conj(tile.w[c]));
            store_l2(diagonal_at + k * next, row == c ? T(real(d)) : d);
          }
        }
      }
      tau_before = h.tau;
      __syncthreads();  // what all have stored is before what the first thread releases
      if (threadIdx.x == 0) {
        ::cuda::atomic_ref<int, ::cuda::thread_scope_device> done(p.progress[s]);
        done.store(t + 1, ::cuda::memory_order_release);
      }
    }
  }
}

}  // namespace

template <class T>
void chase_bulges(const Bulge<T>& bulge) {
  constexpr int bytes = sizeof(BulgeTile<T>);
  static_assert(bytes + int(sizeof(int)) <= most_shared_bytes<T>);
  QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(chase<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  int blocks = 0;
  QUADRILLE_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, chase<T>, bulge_threads<T>, bytes));
  chase<T><<<processors() * std::max(1, std::min(blocks, 3)), bulge_threads<T>, bytes, cuda::stream()>>>(bulge);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}

template void chase_bulges(const Bulge<double>&);
template void chase_bulges(const Bulge<Complex>&);

}  // namespace quadrille::eigen
