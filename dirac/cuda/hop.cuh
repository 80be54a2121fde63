// What generated CUDA hopping kernels are made of: loads and stores, and the conversions of half precision. Compiled
// without CUDA the same bodies run on the host, with plain loads and stores.
#pragma once

#include "core/numbers/half_words.h"
#include "dirac/cuda/hop_args.h"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <type_traits>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include "dirac/cuda/host_device_types.h"
#endif

namespace quadrille::dirac {

/// The same number, for the compiler a new one in each round of a loop: what is computed from it is computed when it is
/// needed, and not kept in registers, of which a site needs all.
QUADRILLE_HOST_DEVICE unsigned fresh(unsigned number) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(number));
#endif
  return number;
}

/// Loads of what other threads of the block read too, and of what is read once.
template <class Vector>
QUADRILLE_HOST_DEVICE Vector load_shared(const Vector* p) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<Vector, uint1>) {
    return make_uint1(__ldg(&p->x));
  } else {
    return __ldg(p);
  }
#else
  return *p;
#endif
}

#ifdef __CUDA_ARCH__
__device__ __forceinline__ float4 load_past_l1(const float4* p) {
  float4 v;
  asm("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
  return v;
}
__device__ __forceinline__ float2 load_past_l1(const float2* p) {
  float2 v;
  asm("ld.global.nc.L1::no_allocate.v2.f32 {%0,%1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(p));
  return v;
}
__device__ __forceinline__ double2 load_past_l1(const double2* p) {
  double2 v;
  asm("ld.global.nc.L1::no_allocate.v2.f64 {%0,%1}, [%2];" : "=d"(v.x), "=d"(v.y) : "l"(p));
  return v;
}
__device__ __forceinline__ uint4 load_past_l1(const uint4* p) {
  uint4 v;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
  return v;
}
__device__ __forceinline__ uint2 load_past_l1(const uint2* p) {
  uint2 v;
  asm("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
  return v;
}
__device__ __forceinline__ uint1 load_past_l1(const uint1* p) {
  uint1 v;
  asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v.x) : "l"(p));
  return v;
}
#endif

template <class Vector>
QUADRILLE_HOST_DEVICE Vector load_once(const Vector* p) {
#ifdef __CUDA_ARCH__
  return load_past_l1(p);
#else
  return *p;
#endif
}

/// Which time links a kernel reads: all; in temporal gauge those of sites at the edges in t; or as its arguments say,
/// which kernels for lists of calls do.
enum class TimeLinks { all, at_edges, as_told };

template <TimeLinks which>
QUADRILLE_HOST_DEVICE bool loads_time_link(const CudaHopShared& args, bool edge) {
  if constexpr (which == TimeLinks::all) return true;
  if constexpr (which == TimeLinks::as_told) return edge || !args.temporal_gauge;
  return edge;
}

/// Of links and blocks: threads of the block that work on other calls of a list read them too.
template <TimeLinks which, class Vector>
QUADRILLE_HOST_DEVICE Vector load_common(const Vector* p) {
  return which == TimeLinks::as_told ? load_shared(p) : load_once(p);
}

/// Of z, which may be the result: not through the read-only path.
template <class Vector>
QUADRILLE_HOST_DEVICE Vector load_own(const Vector* p) {
#ifdef __CUDA_ARCH__
  return __ldcs(p);
#else
  return *p;
#endif
}

template <class Vector>
QUADRILLE_HOST_DEVICE void store_once(Vector* p, Vector v) {
#ifdef __CUDA_ARCH__
  __stcs(p, v);
#else
  *p = v;
#endif
}

/// Where the groups of type Vector of a site begin, in a section at `section` of a field of `site_bytes` bytes per
/// site.
template <class Vector, unsigned site_bytes>
QUADRILLE_HOST_DEVICE const Vector* groups_of(const void* section, unsigned site) {
  constexpr unsigned unit = std::gcd(site_bytes, unsigned(sizeof(Vector))), last = Layout::block - 1;
  const unsigned units = (site & ~last) * (site_bytes / unit) + (site & last) * unsigned(sizeof(Vector) / unit);
  const char* start = static_cast<const char*>(section) + std::size_t(unit) * units;
#ifdef __CUDA_ARCH__
  asm("" : "+l"(start));  // or distances known here are added to the index, and not by the load itself
#endif
  return reinterpret_cast<const Vector*>(start);
}
/// The group that begins `bytes` bytes of a site after it: later ones of the site are at distances known here.
template <unsigned bytes, class Vector>
QUADRILLE_HOST_DEVICE const Vector* after(const Vector* groups) {
  return groups + bytes * Layout::block / sizeof(Vector);
}
template <class Vector>
QUADRILLE_HOST_DEVICE Vector* writable(const Vector* groups) {
  return const_cast<Vector*>(groups);
}

/// a b + c rounded once; on the host perhaps twice.
template <class T>
QUADRILLE_HOST_DEVICE T fused(T a, T b, T c) {
#ifdef __CUDA_ARCH__
  return fma(a, b, c);
#else
  return a * b + c;
#endif
}

using half::add;
using half::begin;
using half::from_magic;
using half::largest;
using half::packed;
using half::quanta_of;
using half::rounded_once;
using half::whole;

// ---- links of 8 numbers, in the names of core/simd/simd.h ----

template <class T, int V>
QUADRILLE_HOST_DEVICE T sqrt_positive(T x) {
  if constexpr (sizeof(T) == 8) {
    return sqrt(x > 0 ? x : T(0));
  } else {
#ifdef __CUDA_ARCH__
    float root;  // without care for denormal numbers
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(fmaxf(x, 0.0f)));
    return root;
#else
    return std::sqrt(std::fmax(x, 0.0f));
#endif
  }
}
template <class T, int V>
QUADRILLE_HOST_DEVICE T inverse_above(T x, T least) {
  if constexpr (sizeof(T) == 8) {
    return T(1) / (x > least ? x : least);
  } else {
#ifdef __CUDA_ARCH__
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(fmaxf(x, least)));
    return inverse;
#else
    return 1.0f / std::fmax(x, least);
#endif
  }
}
/// In single precision by the device's fast sine, whose error of 2^-21 of 1 is that of an 8-number link.
template <class T, int V>
QUADRILLE_HOST_DEVICE void sincospi(T u, T& sine, T& cosine) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 8) {
    ::sincospi(u, &sine, &cosine);
  } else {
    __sincosf(u * 3.14159265358979f, &sine, &cosine);
  }
#else
  sine = T(std::sin(double(u) * 3.14159265358979323846));
  cosine = T(std::cos(double(u) * 3.14159265358979323846));
#endif
}
template <class T>
constexpr T smallest_n = sizeof(T) == 8 ? T(1e-30) : T(1e-14);

}  // namespace quadrille::dirac

#ifdef __CUDACC__
namespace quadrille::dirac {

/// The slices of its block's column that a thread has: one, or all between two that the host chose, the site in each
/// computed anew, which needs the fewest registers, or stepped to from the one before, which needs the fewest
/// instructions.
enum class Slices { one, anew, stepped };

/// Calls body(here) for the sites of a thread that stands at (tx(), ty(), threadIdx.z) of its tile, in the column of
/// tiles with blockIdx.x = bx.
template <Slices slices, class Row, class Body>
__device__ __forceinline__ void for_each_site(const GroupedGeometry& geometry, int bx, Row&& ty, Body&& body) {
  const auto here = [&](int slice) {
    return GroupedSite(geometry, int(fresh(threadIdx.x)), ty(), int(fresh(threadIdx.z)), bx, int(blockIdx.y), slice);
  };
  if constexpr (slices == Slices::one) {
    body(here(int(blockIdx.z)));
  } else {
    const int begin = geometry.first_slice(int(blockIdx.z)), end = geometry.first_slice(int(blockIdx.z) + 1);
    if constexpr (slices == Slices::anew) {
#pragma unroll 1
      for (int slice = begin; slice < end; ++slice) body(here(slice));
    } else {
      GroupedSite site = here(begin);
#pragma unroll 1
      for (int slice = begin; slice < end; ++slice, site.next_slice(geometry)) body(site);
    }
  }
}

/// Calls body(here) for the sites of a thread: of one call.
template <Slices slices, class Body>
__device__ __forceinline__ void for_each_site(const GroupedGeometry& geometry, Body&& body) {
  for_each_site<slices>(
      geometry, int(blockIdx.x), [] { return int(fresh(threadIdx.y)); }, body);
}

/// Calls body(first, here) for the sites of a thread, `first` the first of the `calls` calls of the list that it works
/// on, which the host has made a multiple of them.
template <Slices slices, int calls, class Body>
__device__ __forceinline__ void for_each_site_of_list(const CudaHopListArgs& args, Body&& body) {
  const int first = args.group(int(blockIdx.x), int(threadIdx.y)) * calls;
  if (first >= args.count) return;
  const auto ty = [&] { return args.row(int(fresh(threadIdx.y))); };
  for_each_site<slices>(args.geometry, args.tile(int(blockIdx.x)), ty,
                        [&](const GroupedSite& here) { body(first, here); });
}

/// Calls body(call, index) for the threads with index < count and their share of a list of `calls`: the `blocks` blocks
/// with the same indices follow each other, and the calls of a thread find what they share in the first-level cache.
template <class Body>
__device__ __forceinline__ void for_each_index(int calls, int blocks, int count, Body&& body) {
  const int part = int(blockIdx.x) / blocks, index = part * int(blockDim.x) + int(threadIdx.x);
  if (index >= count) return;
#pragma unroll 1
  for (int call = int(blockIdx.x) - part * blocks; call < calls; call += blocks) body(call, index);
}

}  // namespace quadrille::dirac

/// The kernels of generated bodies, and how the host finds them.
#define QUADRILLE_CUDA_HOP(name, threads, at_least, slices)                                                          \
  template <TimeLinks time_links, bool site_terms, bool inner>                                                       \
  __global__ void __launch_bounds__(threads, at_least) name##_kernel(const __grid_constant__ CudaHopArgs args) {     \
    for_each_site<Slices::slices>(args.geometry, [&](const GroupedSite& here) {                                      \
      if (!inner || args.edges.inner(here)) name##_site<time_links, site_terms, 1>(args, args.calls, here);          \
    });                                                                                                              \
  }                                                                                                                  \
  template <bool temporal_gauge, bool site_terms>                                                                    \
  __global__ void __launch_bounds__(edge_threads) name##_edge_kernel(const __grid_constant__ CudaHopListArgs args) { \
    for_each_index(args.count, args.blocks, args.edges.count, [&](int call, int index) {                             \
      const GroupedSite here(args.geometry, args.edges.sites[index]);                                                \
      name##_edge_site<temporal_gauge, site_terms>(args, call, here);                                                \
    });                                                                                                              \
  }

#define QUADRILLE_CUDA_HOP_LISTS(name, slices, each, threads)                                                   \
  template <bool site_terms>                                                                                    \
  __global__ void __launch_bounds__(threads) name##_list_kernel(const __grid_constant__ CudaHopListArgs args) { \
    for_each_site_of_list<Slices::slices, each>(args, [&](int first, const GroupedSite& here) {                 \
      if (args.edges.special && !args.edges.inner(here)) return;                                                \
      name##_site<TimeLinks::as_told, site_terms, each>(args, args.calls + first, here);                        \
    });                                                                                                         \
  }                                                                                                             \
  template <bool temporal_gauge, bool site_terms>                                                               \
  CudaHopKernels name##_kernels() {                                                                             \
    constexpr TimeLinks time_links = temporal_gauge ? TimeLinks::at_edges : TimeLinks::all;                     \
    const auto pointer = [](auto* kernel) { return reinterpret_cast<const void*>(kernel); };                    \
    return {pointer(&name##_kernel<time_links, site_terms, false>),                                             \
            pointer(&name##_kernel<time_links, site_terms, true>),                                              \
            pointer(&name##_edge_kernel<temporal_gauge, site_terms>),                                           \
            Slices::slices != Slices::one,                                                                      \
            pointer(&name##_list_kernel<site_terms>),                                                           \
            each};                                                                                              \
  }                                                                                                             \
  CudaHopKernels name##_cuda(bool temporal_gauge, bool site_terms) {                                            \
    if (temporal_gauge) return site_terms ? name##_kernels<true, true>() : name##_kernels<true, false>();       \
    return site_terms ? name##_kernels<false, true>() : name##_kernels<false, false>();                         \
  }

#define QUADRILLE_CUDA_PACK(name)                                                                            \
  __global__ void __launch_bounds__(edge_threads) name##_kernel(const __grid_constant__ CudaPackArgs args) { \
    for_each_index(1, 1, args.faces[blockIdx.y].sites,                                                       \
                   [&](int, int index) { name##_site(args, int(blockIdx.z), int(blockIdx.y), index); });     \
  }                                                                                                          \
  CudaPackKernel name##_cuda() { return {reinterpret_cast<const void*>(&name##_kernel)}; }

#define QUADRILLE_CUDA_LOCAL(name)                                                                                \
  __global__ void __launch_bounds__(edge_threads) name##_kernel(const __grid_constant__ CudaHopListArgs args) {   \
    const GroupedGeometry& g = args.geometry;                                                                     \
    const int sites = g.half_x * g.y * g.z * g.t;                                                                 \
    for_each_index(args.count, args.blocks, sites, [&](int call, int index) { name##_site(args, call, index); }); \
  }                                                                                                               \
  CudaLocalKernel name##_cuda() { return {reinterpret_cast<const void*>(&name##_kernel)}; }
#else
#define QUADRILLE_CUDA_HOP(name, threads, blocks, slices)
#define QUADRILLE_CUDA_HOP_LISTS(name, slices, each, threads)
#define QUADRILLE_CUDA_PACK(name)
#define QUADRILLE_CUDA_LOCAL(name)
#endif
