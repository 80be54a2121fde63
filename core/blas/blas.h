// Fused field algebra on vectors of complex numbers: spinors, half spinors or whatever else a site holds
// (core/field/site_format.h). Every function takes fields of one description (ErrorCode::internal otherwise).
// ErrorCode::unsupported for links, for an odd count of numbers a site or more than most_site_numbers, for half
// precision without norms and for several right-hand sides. Nothing is allocated once a function has run on a field of
// the same size.
//
// Sums are in double: a partial sum for each chunk of 1,024 sites in layout order, combined in a fixed tree, then over
// the ranks: the same bits for any number of threads. A component that is not finite makes every sum over it not
// finite. The traffic of each operation (fields read, fields written) stands with its functor in core/blas/ops.h.
#pragma once

#include "core/api.h"
#include "core/field/field.h"

#include <complex>
#include <span>

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
/// y = y + a p, p = z + b p
QUADRILLE_API void axpy_xpay(double a, Field& p, Field& y, const Field& z, double b);
/// y = x + a y, a complex
QUADRILLE_API void cxpay(const Field& x, Complex a, Field& y);

/// y = y + a x, a complex, gives |y|^2
QUADRILLE_API double caxpy_norm2(Complex a, const Field& x, Field& y);

struct DotNorm2 {
  Complex dot;
  double norm2;
};
/// <x, y> and |x|^2
QUADRILLE_API DotNorm2 dot_norm2(const Field& x, const Field& y);
/// <x_i, y> for any number of fields x_i, four in a pass.
QUADRILLE_API void dots(std::span<const Field* const> x, const Field& y, Complex* out);
/// y = y + sum over a_i x_i, four in a pass.
QUADRILLE_API void caxpys(std::span<const Complex> a, std::span<const Field* const> x, Field& y);

/// y_k = y_k + sum over a_ki x_i, a_ki behind each other for each k: for all y at once, four of each in a pass. No x is
/// a y.
QUADRILLE_API void combine(std::span<const double> a, std::span<const Field* const> x, std::span<Field* const> y);

}  // namespace quadrille::blas
