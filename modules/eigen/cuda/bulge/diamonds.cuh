// The block reflections of bulge chasing, ready to be applied: I - V T V^H of 32 sweeps at one step.
//
// The reflections of step t of the b = 64 sweeps of group g, diamond t of the group, are a parallelogram of 127 rows.
// Half of its sweeps, 32, have 95 of them; the latter half is applied first.
#pragma once

#include "modules/eigen/cuda/bulge/bulge.h"
#include "modules/eigen/cuda/warps.cuh"

namespace quadrille::eigen {

constexpr int half_sweeps = bandwidth / 2;

/// V and T of half a diamond, as apply_q2.cu has them in shared memory; of complex ones real and imaginary parts apart.
/// Rows of V are told apart by twos: a thread reads 16 bytes at a time without conflicts of banks, as terms of V^H E
/// and as columns of V X.
template <class T>
struct HalfDiamond {
  static constexpr int parts = sizeof(T) / sizeof(double), ldv = 82, ldt = 40;
  double v[parts][half_sweeps * ldv];  ///< [sweep][row - 16 (sweep / 16)]: 80 rows, zero outside the 64 of the vector
  double t[parts][half_sweeps * ldt];  ///< [row][column], upper triangular
};
static_assert(sizeof(HalfDiamond<double>) % 16 == 0);

/// What form_diamonds() takes of shared memory: V [sweep][row], and S below the diagonal of T.
template <class T>
constexpr int forming_bytes = int(sizeof(T)) * bandwidth * 2 * (bandwidth + 1);

/// The real or imaginary parts of the 32 sweeps from `sweep` on.
template <int part, class T>
__device__ void put_part(HalfDiamond<T>& to, int sweep, const T* v, const T* t) {
  constexpr int b = bandwidth, ld = b + 1, h = half_sweeps;
  const auto taken = [](T a) { return part == 0 ? real(a) : imag(a); };
  for (int k = threadIdx.x; k < h * HalfDiamond<T>::ldv; k += blockDim.x) {
    const int i = k / HalfDiamond<T>::ldv, r = k % HalfDiamond<T>::ldv - i % 16;
    to.v[part][k] = r >= 0 && r < b ? taken(v[(sweep + i) * ld + r]) : 0.0;
  }
  for (int k = threadIdx.x; k < h * HalfDiamond<T>::ldt; k += blockDim.x) {
    const int i = k / HalfDiamond<T>::ldt, j = k % HalfDiamond<T>::ldt;
    to.t[part][k] = i <= j && j < h ? taken(t[sweep + i + (sweep + j) * ld]) : 0.0;
  }
}

/// A block a diamond: v [sweep][row] and tau of each give both halves, the latter first.
template <class T>
__global__ void __launch_bounds__(256) form_diamonds(const T* v, const T* tau, HalfDiamond<T>* halves) {
  constexpr int b = bandwidth, ld = b + 1;
  extern __shared__ double2 shared_bytes[];
  T* const vs = reinterpret_cast<T*>(shared_bytes);
  T* const out = vs + b * ld;  // T_ij at i + j ld, i <= j; S_ij at j + i ld, i < j
  const T* const mine = v + long(blockIdx.x) * b * b;
  for (int k = threadIdx.x; k < b * b; k += blockDim.x) vs[(k / b) * ld + k % b] = mine[k];
  __syncthreads();
  // S_ij = v_i^H v_j, i < j: rows j..b+i-1 of the frame of v_i are those of both
  for (int k = threadIdx.x; k < b * b; k += blockDim.x) {
    const int i = k % b, j = k / b;
    if (i >= j) continue;
    T sum(0.0);
    for (int r = 0; r < b - (j - i); ++r) sum += conj(vs[i * ld + r + j - i]) * vs[j * ld + r];
    out[j + i * ld] = sum;
  }
  __syncthreads();
  const int row = threadIdx.x / 4, part = threadIdx.x % 4;
  for (int j = 0; j < b; ++j) {  // each half by itself
    const int from = j / half_sweeps * half_sweeps;
    T sum(0.0);
    if (row >= from && row < j) {
      for (int k = row + part; k < j; k += 4) sum += out[row + k * ld] * out[j + k * ld];
    }
    sum += shuffled_xor(sum, 1);
    sum += shuffled_xor(sum, 2);
    const T factor = tau[long(blockIdx.x) * b + j];
    if (part == 0 && row >= from && row <= j) out[row + j * ld] = row < j ? -(factor * sum) : factor;
    __syncthreads();
  }
  for (int half = 0; half < 2; ++half) {
    auto& to = halves[2 * long(blockIdx.x) + half];
    const int sweep = (1 - half) * half_sweeps;
    put_part<0>(to, sweep, vs, out);
    if constexpr (HalfDiamond<T>::parts == 2) put_part<1>(to, sweep, vs, out);
  }
}

}  // namespace quadrille::eigen
