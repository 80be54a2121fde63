// The numbers of a site by chirality on a GPU, and sums over threads: what the kernels of multigrid share. As
// ChiralSites of solvers/multigrid/chiral_sites.h; numbers go in pairs of complex ones.
#pragma once

#include "core/field/field.h"
#include "core/host_device.h"
#include "core/layout/grouped_layout.h"

#include <cuda_runtime.h>

#include <cstdint>

namespace quadrille::multigrid::device {

template <class T>
struct Complex {
  T re, im;
};

template <class T>
__device__ __forceinline__ void add_product(Complex<T>& sum, const Complex<T>& a, const Complex<T>& b) {
  sum.re = fma(a.re, b.re, sum.re);
  sum.re = fma(-a.im, b.im, sum.re);
  sum.im = fma(a.re, b.im, sum.im);
  sum.im = fma(a.im, b.re, sum.im);
}
/// sum += conj(a) b
template <class T>
__device__ __forceinline__ void add_conjugate_product(Complex<T>& sum, const Complex<T>& a, const Complex<T>& b) {
  sum.re = fma(a.re, b.re, sum.re);
  sum.re = fma(a.im, b.im, sum.re);
  sum.im = fma(a.re, b.im, sum.im);
  sum.im = fma(-a.im, b.re, sum.im);
}

/// Two complex numbers that lie together: 16 bytes in single precision.
template <class T>
struct alignas(sizeof(T) == 4 ? 16 : 32) Pair {
  Complex<T> at[2];
};
__device__ __forceinline__ Pair<float> load_pair(const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  return {{{four.x, four.y}, {four.z, four.w}}};
}
__device__ __forceinline__ Pair<double> load_pair(const double* from) {
  const double2 one = *reinterpret_cast<const double2*>(from), two = *reinterpret_cast<const double2*>(from + 2);
  return {{{one.x, one.y}, {two.x, two.y}}};
}
__device__ __forceinline__ void store_pair(float* to, const Pair<float>& p) {
  *reinterpret_cast<float4*>(to) = make_float4(p.at[0].re, p.at[0].im, p.at[1].re, p.at[1].im);
}
__device__ __forceinline__ void store_pair(double* to, const Pair<double>& p) {
  *reinterpret_cast<double2*>(to) = make_double2(p.at[0].re, p.at[0].im);
  *reinterpret_cast<double2*>(to + 2) = make_double2(p.at[1].re, p.at[1].im);
}

/// The fields of a list, in the memory of a kernel's parameters: numbers of both parities; null where there are none.
template <class T, int most>
struct FieldList {
  T* of[most][2];
};

/// Where the numbers of a site lie. Spinors in the grouped layout have chiralities (upper + lower) / sqrt 2 and (upper
/// - lower) / sqrt 2; coarse vectors, in one lane, have their sections.
template <class T>
struct DeviceSites {
  bool mixed;
  int components;

  explicit DeviceSites(const FieldDesc& desc) : mixed(desc.layout.grouped()), components(desc.components()) {}
  /// Complex numbers of a chirality, and pairs of them.
  QUADRILLE_HOST_DEVICE int numbers() const { return components / 4; }
  QUADRILLE_HOST_DEVICE int pairs() const { return components / 8; }

  /// Chirality c of pair number `pair` is both[c].
  __device__ __forceinline__ void load(const T* field, std::int64_t site, int pair, Pair<T>* both) const {
    if (!mixed) {
      const T* const from = field + site * components + 4 * pair;
      both[0] = load_pair(from);
      both[1] = load_pair(from + components / 2);
      return;
    }
    const Pair<T> upper = grouped_pair(field, site, 4 * pair), lower = grouped_pair(field, site, section + 4 * pair);
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      both[0].at[n] = {factor * (upper.at[n].re + lower.at[n].re), factor * (upper.at[n].im + lower.at[n].im)};
      both[1].at[n] = {factor * (upper.at[n].re - lower.at[n].re), factor * (upper.at[n].im - lower.at[n].im)};
    }
  }

  __device__ __forceinline__ void store(T* field, std::int64_t site, int pair, const Pair<T>* both) const {
    if (!mixed) {
      T* const to = field + site * components + 4 * pair;
      store_pair(to, both[0]);
      store_pair(to + components / 2, both[1]);
      return;
    }
    Pair<T> upper, lower;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const Complex<T>&first = both[0].at[n], &second = both[1].at[n];
      upper.at[n] = {factor * (first.re + second.re), factor * (first.im + second.im)};
      lower.at[n] = {factor * (first.re - second.re), factor * (first.im - second.im)};
    }
    put_grouped_pair(field, site, 4 * pair, upper);
    put_grouped_pair(field, site, section + 4 * pair, lower);
  }

 private:
  static constexpr T factor = T(0.70710678118654752440);
  static constexpr int section = site_formats::spinor.section;
  static __device__ __forceinline__ std::int64_t place(std::int64_t site, int n) {
    return grouped_place(site, n, site_formats::spinor.numbers(), section, group_bytes / int(sizeof(T)));
  }
  /// The numbers n ... n + 3: in single precision one group, in double two.
  static __device__ __forceinline__ Pair<T> grouped_pair(const T* field, std::int64_t site, int n) {
    if constexpr (sizeof(T) == 4) {
      return load_pair(field + place(site, n));
    } else {
      const T *one = field + place(site, n), *two = field + place(site, n + 2);
      return {{{one[0], one[1]}, {two[0], two[1]}}};
    }
  }
  static __device__ __forceinline__ void put_grouped_pair(T* field, std::int64_t site, int n, const Pair<T>& pair) {
    if constexpr (sizeof(T) == 4) {
      store_pair(field + place(site, n), pair);
    } else {
      T *one = field + place(site, n), *two = field + place(site, n + 2);
      one[0] = pair.at[0].re, one[1] = pair.at[0].im;
      two[0] = pair.at[1].re, two[1] = pair.at[1].im;
    }
  }
};

}  // namespace quadrille::multigrid::device
