// Field algebra on the device, made from the functors of a set (core/blas/op_list.h); for the CUDA source of that set,
// which defines QUADRILLE_ISA as cuda.
//
// A block works on a chunk of 1,024 sites of one parity, thread i on the sites i, i + 256, i + 512 and i + 768 of it.
// Sums: each thread in the order of its sites and their numbers, then core/backend/cuda/reduce.cuh. So they depend on
// the number of sites only. Of fields in one lane, whose numbers are one array, groups of 16 bytes take the place of
// sites: a coarse lattice has few sites, but many numbers.
#pragma once

#include "core/backend/cuda/grouped_access.cuh"
#include "core/backend/cuda/kernels.h"
#include "core/backend/cuda/reduce.cuh"
#include "core/backend/cuda/runtime.h"
#include "core/blas/op.h"
#include "core/blas/op_list.h"
#include "core/layout/grouped_layout.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace quadrille::cuda {
namespace {

using blas::Lanes;
using simd::Widened;

constexpr int threads = 256;
constexpr int chunk = 1024;  // sites
/// Blocks that a multiprocessor must hold, so that enough loads are under way: at most 128 or 80 registers.
template <class Number, class Op>
constexpr int least_blocks = Op::fields > (sizeof(Number) == 2 ? 2 : 3) ? 2 : 3;

template <class Op>
struct Fields {
  void* numbers[2][Op::fields];
  float* norms[2][Op::fields];
  int components, section;  ///< of a site of any format
};

template <class Op>
constexpr bool reads(int field) {
  return (Op::reads >> field & 1u) != 0;
}
template <class Op>
constexpr bool writes(int field) {
  return (Op::writes >> field & 1u) != 0;
}
template <class Op>
constexpr int places = Op::sums > 0 ? Op::sums : 1;  // of sums

/// The largest divisor of `groups` that is at most `wanted`.
constexpr int even_batch(int groups, int wanted) {
  while (groups % wanted != 0) --wanted;
  return wanted;
}

/// Double and single precision; Access is a GroupedAccess whose sections are whole groups. Groups go in batches: all
/// loads of a batch before its stores, as many as registers allow.
template <class Access, class Op, class Number = typename Access::Number>
struct SiteOf {
  using Group = std::conditional_t<std::is_same_v<Number, double>, double2, float4>;
  static constexpr int width = int(sizeof(Group) / sizeof(Number));
  static_assert(Access::Words::left == 0);
  static constexpr int groups = Access::components / width;
  static constexpr int batch = even_batch(groups, Op::fields > 3 ? 2 : Op::fields == 3 || sizeof(Number) == 8 ? 3 : 6);

  template <class Sums>
  static __device__ __forceinline__ void run(const Op& op, const Fields<Op>& fields, int parity, std::int64_t site,
                                             Sums* sums) {
    const std::int64_t in_block = site % Layout::block;
    run_at(op, fields, parity, (site - in_block) * groups + in_block, sums);
  }

  /// On the site whose groups begin at number `start`.
  template <class Sums>
  static __device__ __forceinline__ void run_at(const Op& op, const Fields<Op>& fields, int parity, std::int64_t start,
                                                Sums* sums) {
#pragma unroll
    for (int first = 0; first < groups; first += batch) {
      Group group[Op::fields][batch];
#pragma unroll
      for (int i = 0; i < Op::fields; ++i) {
        if (!reads<Op>(i)) continue;
        const Group* from = static_cast<const Group*>(fields.numbers[parity][i]) + start;
#pragma unroll
        for (int g = 0; g < batch; ++g) group[i][g] = from[(first + g) * Layout::block];
      }
#pragma unroll
      for (int g = 0; g < batch; ++g) {
        Lanes<Number, 1> f[Op::fields];
        on_complex<0>(op, group, g, f, sums);
        if constexpr (width == 4) on_complex<1>(op, group, g, f, sums);
      }
#pragma unroll
      for (int i = 0; i < Op::fields; ++i) {
        if (!writes<Op>(i)) continue;
        Group* to = static_cast<Group*>(fields.numbers[parity][i]) + start;
#pragma unroll
        for (int g = 0; g < batch; ++g) to[(first + g) * Layout::block] = group[i][g];
      }
    }
  }

 private:
  template <int which, class Sums>
  static __device__ __forceinline__ void on_complex(const Op& op, Group (&group)[Op::fields][batch], int g,
                                                    Lanes<Number, 1>* f, Sums* sums) {
#pragma unroll
    for (int i = 0; i < Op::fields; ++i) {
      if (!reads<Op>(i)) continue;
      if constexpr (which == 0) {
        f[i] = {group[i][g].x, group[i][g].y};
      } else {
        f[i] = {group[i][g].z, group[i][g].w};
      }
    }
    op.template operator()<double, Number, 1>(f, sums);
#pragma unroll
    for (int i = 0; i < Op::fields; ++i) {
      if (!writes<Op>(i)) continue;
      if constexpr (which == 0) {
        group[i][g].x = f[i].re;
        group[i][g].y = f[i].im;
      } else {
        group[i][g].z = f[i].re;
        group[i][g].w = f[i].im;
      }
    }
  }
};

/// Half precision: whole sites, since what is written has a norm. What is read stays in quanta, half the registers,
/// until its turn comes.
template <class Access, class Op>
struct SiteOf<Access, Op, std::int16_t> {
  template <class Sums>
  static __device__ __forceinline__ void run(const Op& op, const Fields<Op>& fields, int parity, std::int64_t site,
                                             Sums* sums) {
    unsigned words[Op::fields][Access::count];
    float quantum[Op::fields];
#pragma unroll
    for (int i = 0; i < Op::fields; ++i) {
      if (!reads<Op>(i)) continue;
      quantum[i] = fields.norms[parity][i][site] * (1.0f / 32767.0f);
      Access::Words::load(fields.numbers[parity][i], site, words[i]);
    }
    float result[Op::fields][Access::components];
    Widened<float, float, 1> of_site[places<Op>] = {};
#pragma unroll
    for (int k = 0; k < Access::count; ++k) {
      Lanes<float, 1> f[Op::fields];
#pragma unroll
      for (int i = 0; i < Op::fields; ++i) {
        if (!reads<Op>(i)) continue;
        f[i] = {half::whole<0>(words[i][k]) * quantum[i], half::whole<1>(words[i][k]) * quantum[i]};
      }
      op.template operator()<float, float, 1>(f, of_site);
#pragma unroll
      for (int i = 0; i < Op::fields; ++i) {
        if (!writes<Op>(i)) continue;
        result[i][2 * k] = f[i].re;
        result[i][2 * k + 1] = f[i].im;
      }
    }
#pragma unroll
    for (int s = 0; s < Op::sums; ++s) sums[s].part[0] += double(of_site[s].part[0]);
#pragma unroll
    for (int i = 0; i < Op::fields; ++i) {
      if (writes<Op>(i)) Access{fields.numbers[parity][i], fields.norms[parity][i]}.store(site, result[i]);
    }
  }
};

/// Sites of any format, whose counts are known when the kernel runs: number by number. A thread's neighbours read those
/// beside its own, so caches bring groups of 16 bytes once.
template <class NumberType, class Op>
struct AnySiteOf {
  using Real = std::conditional_t<std::is_same_v<NumberType, double>, double, float>;
  static constexpr bool in_half = std::is_same_v<NumberType, std::int16_t>;
  static constexpr int width = group_bytes / int(sizeof(NumberType));

  template <class Sums>
  static __device__ __forceinline__ void run(const Op& op, const Fields<Op>& fields, int parity, std::int64_t site,
                                             Sums* sums) {
    if constexpr (in_half) {
      run_in_half(op, fields, parity, site, sums);
    } else {
      for_each_complex(op, fields, parity, site, sums,
                       [&](int i, const Lanes<Real, 1>& f, std::int64_t re, std::int64_t im) {
                         NumberType* const numbers = static_cast<NumberType*>(fields.numbers[parity][i]);
                         numbers[re] = f.re;
                         numbers[im] = f.im;
                       });
    }
  }

 private:
  /// The norms first, and then the quanta: what an operation gives is computed twice, as there may be more of it than
  /// registers.
  template <class Sums>
  static __device__ __forceinline__ void run_in_half(const Op& op, const Fields<Op>& fields, int parity,
                                                     std::int64_t site, Sums* sums) {
    Widened<float, float, 1> of_site[places<Op>] = {}, again[places<Op>] = {};
    float norm[Op::fields] = {}, scale[Op::fields];
    for_each_complex(op, fields, parity, site, of_site,
                     [&](int i, const Lanes<Real, 1>& f, std::int64_t, std::int64_t) {
                       norm[i] = half::largest(half::largest(norm[i], f.re), f.im);
                     });
#pragma unroll
    for (int s = 0; s < Op::sums; ++s) sums[s].part[0] += double(of_site[s].part[0]);
    if constexpr (Op::writes != 0) {
#pragma unroll
      for (int i = 0; i < Op::fields; ++i) scale[i] = half::quanta_of(norm[i]);
      for_each_complex(op, fields, parity, site, again,
                       [&](int i, const Lanes<Real, 1>& f, std::int64_t re, std::int64_t im) {
                         std::uint16_t* const quanta = static_cast<std::uint16_t*>(fields.numbers[parity][i]);
                         quanta[re] = std::uint16_t(half::rounded(f.re, scale[i]));
                         quanta[im] = std::uint16_t(half::rounded(f.im, scale[i]));
                       });
#pragma unroll
      for (int i = 0; i < Op::fields; ++i) {
        if (writes<Op>(i)) fields.norms[parity][i][site] = norm[i];
      }
    }
  }

  /// Calls put(field, number, place of its real part, of its imaginary part) for what the operation writes.
  template <class Sums, class Put>
  static __device__ __forceinline__ void for_each_complex(const Op& op, const Fields<Op>& fields, int parity,
                                                          std::int64_t site, Sums* sums, Put&& put) {
    [[maybe_unused]] float quantum[Op::fields];
    if constexpr (in_half) {
#pragma unroll
      for (int i = 0; i < Op::fields; ++i) {
        if (reads<Op>(i)) quantum[i] = fields.norms[parity][i][site] * (1.0f / 32767.0f);
      }
    }
    for (int n = 0; n < fields.components; n += 2) {
      const std::int64_t re = grouped_place(site, n, fields.components, fields.section, width);
      const std::int64_t im = grouped_place(site, n + 1, fields.components, fields.section, width);
      Lanes<Real, 1> f[Op::fields];
#pragma unroll
      for (int i = 0; i < Op::fields; ++i) {
        if (!reads<Op>(i)) continue;
        const NumberType* const numbers = static_cast<const NumberType*>(fields.numbers[parity][i]);
        if constexpr (in_half) {
          f[i] = {half::whole<0>(std::uint16_t(numbers[re])) * quantum[i],
                  half::whole<0>(std::uint16_t(numbers[im])) * quantum[i]};
        } else {
          f[i] = {numbers[re], numbers[im]};
        }
      }
      op.template operator()<std::conditional_t<in_half, float, double>, Real, 1>(f, sums);
#pragma unroll
      for (int i = 0; i < Op::fields; ++i) {
        if (writes<Op>(i)) put(i, f[i], re, im);
      }
    }
  }
};

/// Fields in one lane, in double and single precision: "site" is the number of a group of 16 bytes.
template <class NumberType, class Op>
struct FlatOf {
  using Access = GroupedAccess<NumberType, 1, group_bytes / int(sizeof(NumberType))>;

  static std::int64_t items(std::int64_t sites, int components) { return sites * (components / Access::components); }

  template <class Sums>
  static __device__ __forceinline__ void run(const Op& op, const Fields<Op>& fields, int parity, std::int64_t item,
                                             Sums* sums) {
    SiteOf<Access, Op>::run_at(op, fields, parity, item, sums);
  }
};

/// In place of an access: fields in one lane.
template <class NumberType>
struct FlatAccess {
  using Number = NumberType;
  using Real = NumberType;
};

/// In place of an access: sites of any format.
template <class NumberType>
struct AnyAccess {
  using Number = NumberType;
  using Real = std::conditional_t<std::is_same_v<Number, double>, double, float>;
};

template <class Access, class Op>
struct WorkOn {
  using Type = SiteOf<Access, Op>;
};
template <class Number, class Op>
struct WorkOn<AnyAccess<Number>, Op> {
  using Type = AnySiteOf<Number, Op>;
};
template <class Number, class Op>
struct WorkOn<FlatAccess<Number>, Op> {
  using Type = FlatOf<Number, Op>;
};

/// Whether the scalars of an operation stay on the device (core/blas/op.h), and whether it shows them to the host.
template <class Op>
constexpr bool holds_scalars = requires {
  typename Op::Scalars;
};
template <class Op>
constexpr bool shows_scalars = requires {
  Op::shows;
};

/// What only reads goes through its fields from the end, which is still in the cache where they have just been written;
/// what writes after that begins with what was read last.
template <class Op>
constexpr bool backwards = Op::writes == 0;

struct ScalarPlaces {
  void* held;      ///< null: the operation has its coefficients, and its sums go to the host
  void* snapshot;  ///< in pinned memory
};
template <class Op>
__device__ __forceinline__ typename Op::Scalars& held(const ScalarPlaces& scalars) {
  return *static_cast<typename Op::Scalars*>(scalars.held);
}
template <class Op>
__device__ __forceinline__ void show_scalars(const ScalarPlaces& scalars) {
  *static_cast<typename Op::Scalars*>(scalars.snapshot) = held<Op>(scalars);
}

// `given` is no __grid_constant__: nvcc 13.0 then took alpha of CgUpdate from there, though begin() had set it in `op`.
template <class Access, class Op>
__global__ void __launch_bounds__(threads, least_blocks<typename Access::Number, Op>)
    field_algebra(const Op given, const __grid_constant__ Fields<Op> fields, std::int64_t sites, int chunks,
                  const __grid_constant__ Reduction reduction, ScalarPlaces scalars,
                  const __grid_constant__ RankBoxes boxes) {
  Op op = given;
  if constexpr (holds_scalars<Op>) {
    if (scalars.held != nullptr && !begin(op, held<Op>(scalars))) {
      if (shows_scalars<Op> && blockIdx.x + threadIdx.x == 0) show_scalars<Op>(scalars);
      return;
    }
  }
  const unsigned block = backwards<Op> ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const int parity = int(block) / chunks;
  const std::int64_t begin = std::int64_t(int(block) - parity * chunks) * chunk;
  const std::int64_t end = begin + chunk < sites ? begin + chunk : sites;
  Widened<double, typename Access::Real, 1> sums[places<Op>] = {};
  for (std::int64_t site = begin + threadIdx.x; site < end; site += threads) {
    WorkOn<Access, Op>::Type::run(op, fields, parity, site, sums);
  }
  if constexpr (Op::sums > 0) {
    double mine[Op::sums];
    for (int s = 0; s < Op::sums; ++s) mine[s] = sums[s].part[0];
    if constexpr (holds_scalars<Op>) {
      reduce<Op::sums, threads>(
          mine, reduction, block,
          [&](double* all) {
            if (boxes.ranks > 1) sum_over_ranks<Op::sums, threads>(all, boxes);
          },
          [&](const double* all) {
            if (scalars.held == nullptr) return show<Op::sums>(all, reduction);
            finish(op, held<Op>(scalars), all);
            if constexpr (shows_scalars<Op>) show_scalars<Op>(scalars);
          });
    } else {
      reduce<Op::sums, threads>(mine, reduction, block);
    }
  }
}

template <class Access, class Op>
void launch(const AlgebraCall& call, double* sums) {
  static_assert(Op::sums <= most_sums && (!holds_scalars<Op> || 2 * Op::sums <= most_box_words),
                "more sums than a lane and the boxes of ranks have room for");
  Op op;
  std::memcpy(&op, call.functor, sizeof(Op));
  Fields<Op> fields{};
  fields.components = call.site.numbers();
  fields.section = call.site.section;
  for (int parity = 0; parity < call.parities; ++parity) {
    for (int i = 0; i < Op::fields; ++i) {
      fields.numbers[parity][i] = call.spans[parity][i].numbers;
      fields.norms[parity][i] = call.spans[parity][i].norms;
    }
  }
  std::int64_t items = call.sites;
  if constexpr (requires { WorkOn<Access, Op>::Type::items; }) {
    items = WorkOn<Access, Op>::Type::items(call.sites, fields.components);
  }
  const int chunks = int((items + chunk - 1) / chunk);
  const unsigned blocks = unsigned(chunks * call.parities);
  Reduction reduction{};
  if constexpr (Op::sums > 0) reduction = begin_reduction(blocks, Op::sums);
  const ScalarPlaces scalars{call.scalars, call.snapshot};
  field_algebra<Access, Op>
      <<<blocks, threads, 0, stream()>>>(op, fields, items, chunks, reduction, scalars, call.boxes);
  check(cudaGetLastError(), "the launch of field algebra");
  if constexpr (Op::sums > 0) {
    if (scalars.held == nullptr) finish_reduction(reduction, sums, Op::sums);
  }
}

template <class Access, class... Ops>
void run_on(const AlgebraCall& call, double* sums) {
  static constexpr void (*launches[])(const AlgebraCall&, double*) = {&launch<Access, Ops>...};
  launches[call.number](call, sums);
}

template <class Number, class... Ops>
void run_in(const AlgebraCall& call, double* sums) {
  const SiteFormat& spinor = site_formats::spinor;
  if constexpr (!std::is_same_v<Number, std::int16_t>) {
    if (!call.grouped) return run_on<FlatAccess<Number>, Ops...>(call, sums);
  }
  if (call.site.sections == spinor.sections && call.site.section == spinor.section) {
    return run_on<SpinorAccess<Number>, Ops...>(call, sums);
  }
  run_on<AnyAccess<Number>, Ops...>(call, sums);
}

/// OpSet::run_on_cuda of a list: spinors have kernels of their own.
template <class... Ops>
void run_set(blas::OpList<Ops...>, const AlgebraCall& call, double* sums) {
  switch (call.precision) {
    case Precision::Double: return run_in<double, Ops...>(call, sums);
    case Precision::Single: return run_in<float, Ops...>(call, sums);
    case Precision::Half: return run_in<std::int16_t, Ops...>(call, sums);
  }
}

}  // namespace
}  // namespace quadrille::cuda
