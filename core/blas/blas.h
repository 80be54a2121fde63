// Fused field algebra on vectors of complex numbers: spinors, half spinors or whatever else a site holds
// (core/field/site_format.h), on a device of 2 x 12 or 1 x 12 real numbers. Every function takes fields of one
// description (ErrorCode::internal otherwise). ErrorCode::unsupported for links, for an odd count of numbers a site,
// for half precision without norms and for several right-hand sides. Nothing is allocated once a function has run on a
// field of the same size.
//
// Sums are in double: a partial sum for each chunk of 1,024 sites in layout order, combined in a fixed tree, then over
// the ranks: the same bits for any number of threads. A component that is not finite makes every sum over it not
// finite. The traffic of each operation (fields read, fields written) stands with its functor in core/blas/ops.h.
#pragma once

#include "core/api.h"
#include "core/blas/resident_scalars.h"
#include "core/blas/scalars.h"
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

// The passes of CG (solvers/methods/cg.cpp), BiCGstab (solvers/methods/bicgstab.cpp) and MR
// (solvers/preconditioners/mr.cpp). Their scalars stay where the fields are: these calls take what they need from
// `now`, leave in it what their line forms, and do not synchronise with the host; where the host adds up the sums of
// devices over ranks (core/blas/resident_scalars.h) the scalars are its own, and it waits for each. Once `now` says
// that the iteration has ended they do nothing, as Ended describes.

/// alpha = |z|^2 / |q|^2, |z|^2 as it stands
QUADRILLE_API void cg_alpha(const Field& q, ResidentScalars<CgScalars>& now);
/// r = r - alpha q, |r|^2; shows the scalars
QUADRILLE_API void cg_residual(const Field& q, Field& r, ResidentScalars<CgScalars>& now);
/// beta = |z|^2 / that of the z before
QUADRILLE_API void cg_beta(const Field& z, ResidentScalars<CgScalars>& now);
/// y = y + alpha p, p = z + beta p
QUADRILLE_API void cg_update(Field& p, Field& y, const Field& z, ResidentScalars<CgScalars>& now);

/// alpha = rho / <r0, v>
QUADRILLE_API void bicgstab_alpha(const Field& v, const Field& r0, ResidentScalars<BicgstabScalars>& now);
/// s = r - alpha v, in r
QUADRILLE_API void bicgstab_half_step(const Field& v, Field& r, ResidentScalars<BicgstabScalars>& now);
/// omega = <t, s> / |t|^2 (longer where rho needs it), and beta. Ended::asks when |s - omega t| <= ask_below.
QUADRILLE_API void bicgstab_omega(const Field& t, const Field& s, const Field& r0, double ask_below,
                                  ResidentScalars<BicgstabScalars>& now);
/// y = y + alpha p + omega s, r = s - omega t, p = r + beta (p - omega v); s in r. p = p - omega v where it asks. Shows
/// the scalars.
QUADRILLE_API void bicgstab_update(Field& p, const Field& t, const Field& v, Field& y, Field& r,
                                   ResidentScalars<BicgstabScalars>& now);

/// alpha = omega <t, r> / |t|^2
QUADRILLE_API void mr_alpha(const Field& t, const Field& r, ResidentScalars<MrScalars>& now);
/// y = y + alpha r, r = r - alpha t
QUADRILLE_API void mr_update(const Field& t, Field& r, Field& y, ResidentScalars<MrScalars>& now);

}  // namespace quadrille::blas
