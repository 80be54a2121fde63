// From a band to a tridiagonal matrix by bulge chasing, and the places of its reflections.
#pragma once

#include "modules/eigen/cuda/numbers.h"

#include <cstdint>

namespace quadrille::eigen {

constexpr int bandwidth = 64;

/// Where the reflections of a group of `bandwidth` sweeps stand: diamond t of group g at base(g) + t.
__host__ __device__ inline long steps_of_sweep(long n, long sweep) {
  return (n - 1 - sweep + bandwidth - 1) / bandwidth;
}
__host__ __device__ inline long diamond_base(long n, long group) {  // sum of steps_of_sweep(n, g b), g < group
  const long first = steps_of_sweep(n, 0);                          // falls by one a group
  return group * first - group * (group - 1) / 2;
}
__host__ __device__ inline long groups_of(long n) { return (n - 1 + bandwidth - 1) / bandwidth; }

/// A Hermitian band of n rows in the device's memory, and what becomes of it: Q2^H B Q2 is tridiagonal and real.
template <class T>
struct Bulge {
  T* band;  ///< 2 b x n: element (c + d, c) at d + c 2 b; holds the tridiagonal matrix in d = 0, 1 at the end
  int n;
  T* v;           ///< diamonds x b x b: vectors, [diamond][sweep][row]; zero at the start; null: not kept
  T* tau;         ///< diamonds x b; zero at the start
  int* progress;  ///< n: steps done of each sweep; zero at the start
  int* next;      ///< the next sweep; zero at the start
};

/// The device must have passed require_limits() (device_needs.h).
template <class T>
void chase_bulges(const Bulge<T>& bulge);

}  // namespace quadrille::eigen
