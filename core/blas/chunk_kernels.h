// The kernels of fused operations on a CPU, for sources that are compiled once for each instruction set, with
// QUADRILLE_ISA its name: core/blas/kernels.cpp, solvers/step_kernels.cpp.
#pragma once

#include "core/blas/op.h"
#include "core/blas/op_list.h"
#include "core/field/site_format.h"

namespace quadrille::blas {
inline namespace QUADRILLE_ISA {
namespace {

using simd::Vec;
using simd::Widened;

/// Numbers of a site: spinors have kernels of their own, in which the loops over them are laid out.
constexpr int of_spinor = site_formats::spinor.numbers(), any = 0;

/// Pairwise sum over the lanes: the same tree whatever runs it.
template <class T, int V>
double sum_lanes(const Widened<double, T, V>& v) {
  double lane[V];
  for (int i = 0; i < V; ++i) lane[i] = v.part[i / v.width][i % v.width];
  for (int width = V / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
  }
  return lane[0];
}

/// One block: every complex component goes through the operation; half precision is quantized when all are known. Sums
/// are added to `sums` in the number type A. A site has `known` numbers, or `count` when any.
template <class S, class A, bool stream, int known, int V, class Op>
QUADRILLE_INLINE void run_block(const Op& op, const Span* fields, int count, std::int64_t block,
                                Widened<A, typename S::Real, V>* sums) {
  using T = typename S::Real;
  using Number = typename S::Number;
  constexpr bool half = sizeof(Number) == 2;
  const int components = known == any ? count : known;
  Vec<T, V> unit[Op::fields];
  Number* numbers[Op::fields];
  for (int i = 0; i < Op::fields; ++i) {
    numbers[i] = static_cast<Number*>(fields[i].numbers) + block * components * V;
    if constexpr (half) {
      if (Op::reads >> i & 1u)
        unit[i] = simd::load<simd::SingleStorage, V>(fields[i].norms + block * V) * (1.0f / 32767);
    }
  }
  [[maybe_unused]] Vec<T, V> results[half ? Op::fields : 1][!half ? 1 : known == any ? most_site_numbers : known];
  for (int c = 0; c < components; c += 2) {
    Lanes<T, V> f[Op::fields];
    for (int i = 0; i < Op::fields; ++i) {
      if (!(Op::reads >> i & 1u)) continue;
      f[i] = {simd::load<S, V>(numbers[i] + c * V), simd::load<S, V>(numbers[i] + (c + 1) * V)};
      if constexpr (half) f[i] = {f[i].re * unit[i], f[i].im * unit[i]};
    }
    op.template operator()<A, T, V>(f, sums);
    for (int i = 0; i < Op::fields; ++i) {
      if (!(Op::writes >> i & 1u)) continue;
      if constexpr (half) {
        results[i][c] = f[i].re;
        results[i][c + 1] = f[i].im;
      } else {
        simd::store<stream, T, V>(numbers[i] + c * V, f[i].re);
        simd::store<stream, T, V>(numbers[i] + (c + 1) * V, f[i].im);
      }
    }
  }
  if constexpr (half) {
    for (int i = 0; i < Op::fields; ++i) {
      if (Op::writes >> i & 1u) {
        simd::store_half<stream, V>(numbers[i], fields[i].norms + block * V, results[i], components);
      }
    }
  }
}

template <class S, bool stream, int known, int V, class Op>
void run_blocks(const Op& op, const Span* fields, int count, std::int64_t begin, std::int64_t end, double* sums) {
  constexpr int places = Op::sums > 0 ? Op::sums : 1;
  using T = typename S::Real;
  Widened<double, T, V> lanes[places] = {};
  for (std::int64_t block = begin; block < end; ++block) {
    if constexpr (sizeof(typename S::Number) == 2 && Op::sums > 0) {
      Widened<float, float, V> of_block[places] = {};
      run_block<S, float, stream, known, V>(op, fields, count, block, of_block);
      for (int s = 0; s < places; ++s) {
        const auto widened = simd::widened<double, float, V>(of_block[s].part[0]);
        for (int p = 0; p < widened.parts; ++p) lanes[s].part[p] += widened.part[p];
      }
    } else {
      run_block<S, double, stream, known, V>(op, fields, count, block, lanes);
    }
  }
  for (int s = 0; s < Op::sums; ++s) sums[s] = sum_lanes<T, V>(lanes[s]);
  if (stream) simd::stream_fence();
}

template <class S, int V, class Op>
void run_chunk(const void* op, const Span* fields, int count, std::int64_t begin, std::int64_t end, bool stream,
               double* sums) {
  const Op& typed = *static_cast<const Op*>(op);
  if (count != of_spinor) return run_blocks<S, false, any, V>(typed, fields, count, begin, end, sums);
  if constexpr (Op::overwrites) {
    if (stream) return run_blocks<S, true, of_spinor, V>(typed, fields, count, begin, end, sums);
  }
  run_blocks<S, false, of_spinor, V>(typed, fields, count, begin, end, sums);
}

template <class S, int V, class... Ops>
ChunkKernel of_width(int op) {
  static constexpr ChunkKernel kernels[] = {&run_chunk<S, V, Ops>...};
  return kernels[op];
}

template <class S, class... Ops>
ChunkKernel of_storage(int op, int lanes) {
  constexpr int native = QUADRILLE_ISA_BYTES / int(sizeof(typename S::Real));
  if (lanes == native) return of_width<S, native, Ops...>(op);
#if QUADRILLE_ISA_BYTES == 16
  if (lanes == 1) return of_width<S, 1, Ops...>(op);  // lattices that cannot be cut
#endif
  return nullptr;
}

/// OpSet::find_kernel of this instruction set.
template <class... Ops>
ChunkKernel find_in(OpList<Ops...>, int op, Precision precision, int lanes) {
  switch (precision) {
    case Precision::Double: return of_storage<simd::DoubleStorage, Ops...>(op, lanes);
    case Precision::Single: return of_storage<simd::SingleStorage, Ops...>(op, lanes);
    case Precision::Half: return of_storage<simd::HalfStorage, Ops...>(op, lanes);
  }
  return nullptr;
}

}  // namespace
}  // namespace QUADRILLE_ISA
}  // namespace quadrille::blas

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)
