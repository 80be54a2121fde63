// What a fused operation is made of. It is a functor that sees the same complex component of each of its fields, V
// lanes at a time; `reads` and `writes` are bit masks over its fields, whose population counts are the traffic in
// fields. One that overwrites writes only what it does not read. What it adds to `sum` is in double; in half precision,
// whose own rounding is far coarser, in float within a site and in double from site to site.
//
// One whose scalars stay where the fields are names their type, `Scalars`, and has two functions beside it: begin(op,
// scalars) takes from them what it needs and tells whether it is to be done; finish(op, scalars, sums) makes of its
// sums what is left in them. After one that `shows` them, the host may look at the scalars.
#pragma once

#include "core/blas/scalars.h"
#include "core/simd/lanes.h"

namespace quadrille::blas::inline QUADRILLE_ISA {

/// One complex component, in V lanes.
template <class T, int V>
struct Lanes {
  simd::Vec<T, V> re, im;
};

template <class T, int V>
QUADRILLE_INLINE void add_product(Lanes<T, V>& y, Coefficient a, const Lanes<T, V>& x) {
  const T re = T(a.re), im = T(a.im);
  const Lanes<T, V> old = x;  // x may be y
  y.re += re * old.re - im * old.im;
  y.im += re * old.im + im * old.re;
}

template <class T, int V>
QUADRILLE_INLINE void add_product(Lanes<T, V>& y, double a, const Lanes<T, V>& x) {
  y.re += T(a) * x.re;
  y.im += T(a) * x.im;
}

/// Adds |x|^2, or the two parts of <x,y>, in the number type A of the sum.
template <class A, class T, int V>
QUADRILLE_INLINE void add_norm2(simd::Widened<A, T, V>& sum, const Lanes<T, V>& x) {
  const auto re = simd::widened<A, T, V>(x.re), im = simd::widened<A, T, V>(x.im);
  for (int p = 0; p < sum.parts; ++p) sum.part[p] += re.part[p] * re.part[p] + im.part[p] * im.part[p];
}

template <class A, class T, int V>
QUADRILLE_INLINE void add_dot(simd::Widened<A, T, V>* sum, const Lanes<T, V>& x, const Lanes<T, V>& y) {
  const auto xr = simd::widened<A, T, V>(x.re), xi = simd::widened<A, T, V>(x.im);
  const auto yr = simd::widened<A, T, V>(y.re), yi = simd::widened<A, T, V>(y.im);
  for (int p = 0; p < sum->parts; ++p) {
    sum[0].part[p] += xr.part[p] * yr.part[p] + xi.part[p] * yi.part[p];
    sum[1].part[p] += xr.part[p] * yi.part[p] - xi.part[p] * yr.part[p];
  }
}

}  // namespace quadrille::blas::inline QUADRILLE_ISA

/// The body of a functor and what is known of it without its code: its name in the kernel log, its fields and sums.
#define QUADRILLE_FIELD_OP(op_name, read_mask, write_mask, field_count, sum_count)     \
  static constexpr const char* name = op_name;                                         \
  static constexpr unsigned reads = read_mask, writes = write_mask;                    \
  static constexpr int fields = field_count, sums = sum_count;                         \
  static constexpr bool overwrites = (reads & writes) == 0 && writes != 0;             \
  template <class A, class T, int V>                                                   \
  QUADRILLE_INLINE void operator()([[maybe_unused]] ::quadrille::blas::Lanes<T, V>* f, \
                                   [[maybe_unused]] ::quadrille::simd::Widened<A, T, V>* sum) const
