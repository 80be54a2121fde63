// The fused operations that are of use to all: one functor each, with its fields and traffic. Those of one solver stand
// beside it (solvers/steps.h).
#pragma once

#include "core/blas/op.h"
#include "core/blas/op_list.h"

namespace quadrille::blas::inline QUADRILLE_ISA {

struct Zero {  // f0 = 0
  QUADRILLE_FIELD_OP("zero", 0b0, 0b1, 1, 0) { f[0] = Lanes<T, V>{}; }
};

struct Copy {  // f1 = f0
  QUADRILLE_FIELD_OP("copy", 0b01, 0b10, 2, 0) { f[1] = f[0]; }
};

struct Scale {  // f0 = a f0
  double a;
  QUADRILLE_FIELD_OP("scale", 0b1, 0b1, 1, 0) { f[0] = {T(a) * f[0].re, T(a) * f[0].im}; }
};

struct Axpy {  // f1 += a f0
  double a;
  QUADRILLE_FIELD_OP("axpy", 0b11, 0b10, 2, 0) { add_product(f[1], a, f[0]); }
};

struct Xpay {  // f1 = f0 + a f1
  double a;
  QUADRILLE_FIELD_OP("xpay", 0b11, 0b10, 2, 0) {
    Lanes<T, V> y = f[0];
    add_product(y, a, f[1]);
    f[1] = y;
  }
};

struct Caxpy {  // f1 += a f0
  Coefficient a;
  QUADRILLE_FIELD_OP("caxpy", 0b11, 0b10, 2, 0) { add_product(f[1], a, f[0]); }
};

struct SubtractNorm2 {  // f1 = f0 - f1, |f1|^2
  QUADRILLE_FIELD_OP("subtract_norm2", 0b11, 0b10, 2, 1) {
    f[1] = {f[0].re - f[1].re, f[0].im - f[1].im};
    add_norm2<A, T, V>(sum[0], f[1]);
  }
};

struct Norm2 {  // |f0|^2
  QUADRILLE_FIELD_OP("norm2", 0b1, 0b0, 1, 1) { add_norm2<A, T, V>(sum[0], f[0]); }
};

struct Dot {  // <f0, f1>
  QUADRILLE_FIELD_OP("dot", 0b11, 0b00, 2, 2) { add_dot<A, T, V>(sum, f[0], f[1]); }
};

struct DotAndNorm2 {  // <f0, f1>, |f0|^2
  QUADRILLE_FIELD_OP("dot_norm2", 0b11, 0b00, 2, 3) {
    add_dot<A, T, V>(sum, f[0], f[1]);
    add_norm2<A, T, V>(sum[2], f[0]);
  }
};

struct AxpyNorm2 {  // f1 += a f0, |f1|^2
  double a;
  QUADRILLE_FIELD_OP("axpy_norm2", 0b11, 0b10, 2, 1) {
    add_product(f[1], a, f[0]);
    add_norm2<A, T, V>(sum[0], f[1]);
  }
};

struct Cxpay {  // f1 = f0 + a f1
  Coefficient a;
  QUADRILLE_FIELD_OP("cxpay", 0b11, 0b10, 2, 0) {
    Lanes<T, V> y = f[0];
    add_product(y, a, f[1]);
    f[1] = y;
  }
};

struct AxpyXpay {  // f1 += a f0, f0 = f2 + b f0
  double a, b;
  QUADRILLE_FIELD_OP("axpy_xpay", 0b111, 0b011, 3, 0) {
    add_product(f[1], a, f[0]);
    Lanes<T, V> p = f[2];
    add_product(p, b, f[0]);
    f[0] = p;
  }
};

struct CaxpyNorm2 {  // f1 += a f0, |f1|^2
  Coefficient a;
  QUADRILLE_FIELD_OP("caxpy_norm2", 0b11, 0b10, 2, 1) {
    add_product(f[1], a, f[0]);
    add_norm2<A, T, V>(sum[0], f[1]);
  }
};

template <int count>
struct Dots {  // <f_i, f_count> for i < count
  QUADRILLE_FIELD_OP(count == 2   ? "dots2"
                     : count == 3 ? "dots3"
                                  : "dots4",
                     (1u << (count + 1)) - 1, 0, count + 1, 2 * count) {
    for (int i = 0; i < count; ++i) add_dot<A, T, V>(sum + 2 * i, f[i], f[count]);
  }
};

template <int count>
struct Caxpys {  // f_count += sum over i < count of a_i f_i
  Coefficient a[count];
  QUADRILLE_FIELD_OP(count == 2   ? "caxpys2"
                     : count == 3 ? "caxpys3"
                                  : "caxpys4",
                     (1u << (count + 1)) - 1, 1u << count, count + 1, 0) {
    for (int i = 0; i < count; ++i) add_product(f[count], a[i], f[i]);
  }
};

struct Combine {  // f_(4 + k) += sum over i < 4 of a_ki f_i, k < 4
  double a[4][4];
  QUADRILLE_FIELD_OP("combine", 0b11111111, 0b11110000, 8, 0) {
    for (int k = 0; k < 4; ++k) {
      for (int i = 0; i < 4; ++i) add_product(f[4 + k], a[k][i], f[i]);
    }
  }
};

using Ops = OpList<Zero, Copy, Scale, Axpy, Xpay, Caxpy, Cxpay, SubtractNorm2, Norm2, Dot, DotAndNorm2, AxpyNorm2,
                   AxpyXpay, CaxpyNorm2, Dots<2>, Dots<3>, Dots<4>, Caxpys<2>, Caxpys<3>, Caxpys<4>, Combine>;

}  // namespace quadrille::blas::inline QUADRILLE_ISA
