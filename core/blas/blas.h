// Fused field algebra. Every function takes spinors of one description with one right-hand side each
// (ErrorCode::internal otherwise), and allocates
// nothing once it has run on a field of the same size.
//
// Sums are in double: a partial sum for each chunk of 1,024 sites in layout order, combined in a fixed tree, then over
// the ranks: the same bits for any number of threads. A component that is not finite makes every sum over it not
// finite. The traffic of each operation (fields read, fields written) stands with its functor in core/blas/ops.h.
#pragma once

#include "core/api.h"
#include "core/field/field.h"

#include <complex>

namespace quadrille::blas {

using Complex = std::complex<double>;

/// x = 0
QUADRILLE_API void zero(Field& x);
/// y = x
QUADRILLE_API void copy(Field& y, const Field& x);
/// x = a x
QUADRILLE_API void scale(double a, Field& x);
/// y = y + a x
QUADRILLE_API void axpy(double a, const Field& x, Field& y);
/// y = x + a y
QUADRILLE_API void xpay(const Field& x, double a, Field& y);
/// y = y + a x, a complex
QUADRILLE_API void caxpy(Complex a, const Field& x, Field& y);
/// r = b - r, gives |r|^2
QUADRILLE_API double subtract_norm2(const Field& b, Field& r);
/// |x|^2
QUADRILLE_API double norm2(const Field& x);
/// <x, y> = sum over conj(x) y
QUADRILLE_API Complex dot(const Field& x, const Field& y);
/// y = y + a x, gives |y|^2
QUADRILLE_API double axpy_norm2(double a, const Field& x, Field& y);
/// x = x + a p, p = z + b p: CG's two updates in one pass
QUADRILLE_API void axpy_xpay(double a, Field& p, Field& x, const Field& z, double b);

/// {<t, s>, |t|^2}
struct DotNorm {
  Complex dot;
  double norm2;
};
QUADRILLE_API DotNorm dot_norm2(const Field& t, const Field& s);
/// y = y + a x (complex a), gives |y|^2
QUADRILLE_API double caxpy_norm2(Complex a, const Field& x, Field& y);
/// p = r + b (p - w v): BiCGstab's search direction
QUADRILLE_API void bicgstab_direction(const Field& r, const Field& v, Complex b, Complex w, Field& p);
/// x = x + a p + w r, r = r - w t, gives {<r0, r>, |r|^2}: BiCGstab's end of an iteration in one pass
QUADRILLE_API DotNorm bicgstab_update(Complex a, const Field& p, Complex w, const Field& t, const Field& r0, Field& x,
                                      Field& r);

}  // namespace quadrille::blas
