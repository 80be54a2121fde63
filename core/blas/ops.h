// The fused operations: one functor each, with its fields and traffic. The table at the end names them all.
//
// An operation that overwrites writes only what it does not read. A functor sees the same complex component of each of
// its fields, V lanes at a time. `reads` and `writes` are bit masks over its fields: their population counts are the
// traffic in spinor fields. What it adds to `sum` is in double; in half precision, whose own rounding is far coarser,
// in float within a site and in double from site to site.
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

#define QUADRILLE_BLAS_OP(read_mask, write_mask, field_count, sum_count)                                          \
  static constexpr unsigned reads = read_mask, writes = write_mask;                                               \
  static constexpr int fields = field_count, sums = sum_count;                                                    \
  static constexpr bool overwrites = (reads & writes) == 0 && writes != 0;                                        \
  template <class A, class T, int V>                                                                              \
  QUADRILLE_INLINE void operator()([[maybe_unused]] Lanes<T, V>* f, [[maybe_unused]] simd::Widened<A, T, V>* sum) \
      const

struct Zero {  // f0 = 0
  QUADRILLE_BLAS_OP(0b0, 0b1, 1, 0) { f[0] = Lanes<T, V>{}; }
};

struct Copy {  // f1 = f0
  QUADRILLE_BLAS_OP(0b01, 0b10, 2, 0) { f[1] = f[0]; }
};

struct Scale {  // f0 = a f0
  double a;
  QUADRILLE_BLAS_OP(0b1, 0b1, 1, 0) { f[0] = {T(a) * f[0].re, T(a) * f[0].im}; }
};

struct Axpy {  // f1 += a f0
  double a;
  QUADRILLE_BLAS_OP(0b11, 0b10, 2, 0) { add_product(f[1], a, f[0]); }
};

struct Xpay {  // f1 = f0 + a f1
  double a;
  QUADRILLE_BLAS_OP(0b11, 0b10, 2, 0) {
    Lanes<T, V> y = f[0];
    add_product(y, a, f[1]);
    f[1] = y;
  }
};

struct Caxpy {  // f1 += a f0
  Coefficient a;
  QUADRILLE_BLAS_OP(0b11, 0b10, 2, 0) { add_product(f[1], a, f[0]); }
};

struct SubtractNorm2 {  // f1 = f0 - f1, |f1|^2
  QUADRILLE_BLAS_OP(0b11, 0b10, 2, 1) {
    f[1] = {f[0].re - f[1].re, f[0].im - f[1].im};
    add_norm2<A, T, V>(sum[0], f[1]);
  }
};

struct Norm2 {  // |f0|^2
  QUADRILLE_BLAS_OP(0b1, 0b0, 1, 1) { add_norm2<A, T, V>(sum[0], f[0]); }
};

struct Dot {  // <f0, f1>
  QUADRILLE_BLAS_OP(0b11, 0b00, 2, 2) { add_dot<A, T, V>(sum, f[0], f[1]); }
};

struct AxpyNorm2 {  // f1 += a f0, |f1|^2
  double a;
  QUADRILLE_BLAS_OP(0b11, 0b10, 2, 1) {
    add_product(f[1], a, f[0]);
    add_norm2<A, T, V>(sum[0], f[1]);
  }
};

struct Cxpay {  // f1 = f0 + a f1
  Coefficient a;
  QUADRILLE_BLAS_OP(0b11, 0b10, 2, 0) {
    Lanes<T, V> y = f[0];
    add_product(y, a, f[1]);
    f[1] = y;
  }
};

struct CaxpyNorm2 {  // f1 += a f0, |f1|^2
  Coefficient a;
  QUADRILLE_BLAS_OP(0b11, 0b10, 2, 1) {
    add_product(f[1], a, f[0]);
    add_norm2<A, T, V>(sum[0], f[1]);
  }
};

template <int count>
struct Dots {  // <f_i, f_count> for i < count
  QUADRILLE_BLAS_OP((1u << (count + 1)) - 1, 0, count + 1, 2 * count) {
    for (int i = 0; i < count; ++i) add_dot<A, T, V>(sum + 2 * i, f[i], f[count]);
  }
};
using Dots2 = Dots<2>;
using Dots3 = Dots<3>;
using Dots4 = Dots<4>;

template <int count>
struct Caxpys {  // f_count += sum over i < count of a_i f_i
  Coefficient a[count];
  QUADRILLE_BLAS_OP((1u << (count + 1)) - 1, 1u << count, count + 1, 0) {
    for (int i = 0; i < count; ++i) add_product(f[count], a[i], f[i]);
  }
};
using Caxpys2 = Caxpys<2>;
using Caxpys3 = Caxpys<3>;
using Caxpys4 = Caxpys<4>;

// The passes of an iteration, whose coefficients are formed where the fields are: core/blas/cg_steps.h,
// core/blas/bicgstab_steps.h, core/blas/mr_steps.h. After one that `shows` them, the host may look at the scalars.

struct CgAlpha : Norm2 {  // q: |q|^2
  using Scalars = CgScalars;
};

struct CgResidual : AxpyNorm2 {  // q, r: r -= alpha q, |r|^2
  using Scalars = CgScalars;
  static constexpr bool shows = true;
};

struct CgBeta : Norm2 {  // z: |z|^2
  using Scalars = CgScalars;
};

struct CgUpdate {  // p, y, z: y += alpha p, p = z + beta p
  using Scalars = CgScalars;
  double alpha, beta;
  QUADRILLE_BLAS_OP(0b111, 0b011, 3, 0) {
    add_product(f[1], alpha, f[0]);
    Lanes<T, V> p = f[2];
    add_product(p, beta, f[0]);
    f[0] = p;
  }
};

struct BicgstabAlpha {  // v, r0: <v, r0>, |v|^2
  using Scalars = BicgstabScalars;
  QUADRILLE_BLAS_OP(0b11, 0b00, 2, 3) {
    add_dot<A, T, V>(sum, f[0], f[1]);
    add_norm2<A, T, V>(sum[2], f[0]);
  }
};

struct BicgstabHalfStep {  // v, r: r -= alpha v, |r|^2
  using Scalars = BicgstabScalars;
  Coefficient minus_alpha;
  QUADRILLE_BLAS_OP(0b11, 0b10, 2, 1) {
    add_product(f[1], minus_alpha, f[0]);
    add_norm2<A, T, V>(sum[0], f[1]);
  }
};

struct BicgstabOmega {  // t, s, r0: <t, s>, |t|^2, <r0, t>, <r0, s>
  using Scalars = BicgstabScalars;
  double ask_below;  // the host wants to look at an |r| that is no larger
  QUADRILLE_BLAS_OP(0b111, 0b000, 3, 7) {
    add_dot<A, T, V>(sum, f[0], f[1]);
    add_norm2<A, T, V>(sum[2], f[0]);
    add_dot<A, T, V>(sum + 3, f[2], f[0]);
    add_dot<A, T, V>(sum + 5, f[2], f[1]);
  }
};

struct BicgstabUpdate {  // p, t, v, y, r: y += alpha p + omega r, r -= omega t, p = r + beta (p - omega v), |r|^2
  using Scalars = BicgstabScalars;
  static constexpr bool shows = true;
  Coefficient alpha, omega, beta{1, 0};
  bool goes_on;  // or p = p - omega v
  QUADRILLE_BLAS_OP(0b11111, 0b11001, 5, 1) {
    const Coefficient minus_omega{-omega.re, -omega.im};
    add_product(f[3], alpha, f[0]);
    add_product(f[3], omega, f[4]);
    add_product(f[4], minus_omega, f[1]);
    add_product(f[0], minus_omega, f[2]);
    Lanes<T, V> p{};
    if (goes_on) p = f[4];
    add_product(p, beta, f[0]);
    f[0] = p;
    add_norm2<A, T, V>(sum[0], f[4]);
  }
};

struct MrAlpha {  // t, r: <t, r>, |t|^2
  using Scalars = MrScalars;
  QUADRILLE_BLAS_OP(0b11, 0b00, 2, 3) {
    add_dot<A, T, V>(sum, f[0], f[1]);
    add_norm2<A, T, V>(sum[2], f[0]);
  }
};

struct MrUpdate {  // t, r, y: y += alpha r, r -= alpha t
  using Scalars = MrScalars;
  Coefficient alpha;
  QUADRILLE_BLAS_OP(0b111, 0b110, 3, 0) {
    add_product(f[2], alpha, f[1]);
    add_product(f[1], Coefficient{-alpha.re, -alpha.im}, f[0]);
  }
};

#undef QUADRILLE_BLAS_OP

}  // namespace quadrille::blas::inline QUADRILLE_ISA
