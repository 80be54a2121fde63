// What the threads of a warp tell each other, loads and stores past the first cache, and Householder reflections.
#pragma once

#include "modules/eigen/cuda/numbers.h"

namespace quadrille::eigen {

__device__ inline double of_first_lane(double a) { return __shfl_sync(0xffffffffu, a, 0); }
__device__ inline Complex of_first_lane(Complex a) { return {of_first_lane(a.re), of_first_lane(a.im)}; }
__device__ inline double shuffled_xor(double a, int by) { return __shfl_xor_sync(0xffffffffu, a, by); }
__device__ inline Complex shuffled_xor(Complex a, int by) { return {shuffled_xor(a.re, by), shuffled_xor(a.im, by)}; }
template <class T>
__device__ T warp_sum(T a) {  // the same bits in all lanes
  for (int by = 16; by > 0; by /= 2) a += shuffled_xor(a, by);
  return a;
}
__device__ inline double load_l2(const double* a) { return __ldcg(a); }
__device__ inline Complex load_l2(const Complex* a) {
  const double2 v = __ldcg(reinterpret_cast<const double2*>(a));
  return {v.x, v.y};
}

__device__ inline void store_l2(double* at, double a) { __stcg(at, a); }
__device__ inline void store_l2(Complex* at, Complex a) { __stcg(reinterpret_cast<double2*>(at), double2{a.re, a.im}); }

/// H = I - tau v v^H with H^H (alpha, x) = (beta, 0), beta real, v = (1, x scale): LAPACK's larfg. `sum` is |x|^2.
template <class T>
struct Reflector {
  T tau, scale;
  double beta;
};
template <class T>
__device__ Reflector<T> reflector(T alpha, double sum) {
  if (sum == 0 && imag(alpha) == 0) return {T(0.0), T(0.0), real(alpha)};
  const double length = sqrt(norm2(alpha) + sum);
  const double beta = real(alpha) >= 0 ? -length : length;
  return {(1 / beta) * (T(beta) - alpha), inverse(alpha - T(beta)), beta};
}

}  // namespace quadrille::eigen
