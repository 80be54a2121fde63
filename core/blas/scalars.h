// Scalars of field algebra as plain data: for host and devices, and the same in every instruction set.
#pragma once

namespace quadrille::blas {

/// A complex coefficient.
struct Coefficient {
  double re = 0, im = 0;
};

/// The scalars of CG, which stay where its fields are (core/blas/resident_scalars.h, core/blas/cg_steps.h). Names are
/// those of solvers/methods/cg.cpp.
struct CgScalars {
  /// Why an iteration went no further; later operations leave every field alone.
  enum class Ended : int {
    no,
    no_alpha,     ///< |q|^2 vanishes
    no_gradient,  ///< |z|^2 is rounding; y still takes its step
  };

  // What the host says of a search: r, p and z = A^+ r.
  double z2 = 0, r2 = 0;
  double largest_ratio = 0;  ///< of |z|^2 to |r|^2, so far
  double singular = 0;       ///< what |z|^2 must exceed, as a part of that ratio of |r|^2
  // The sums and scalars of an iteration; z2 becomes that of the next.
  double q2 = 0, alpha = 0, beta = 0;
  Ended ended = Ended::no;
};

/// The scalars of BiCGstab, which stay where its fields are (core/blas/resident_scalars.h): formed there from sums and
/// used by what follows, while the host asks for more (core/blas/bicgstab_steps.h has the formulas). Names are those of
/// solvers/methods/bicgstab.cpp.
struct BicgstabScalars {
  /// Why an iteration went no further; later operations leave every field alone, but for an iteration that
  /// asks.
  enum class Ended : int {
    no,
    no_alpha,  ///< <r0, v> vanishes
    half_way,  ///< |s| is at the target
    no_omega,  ///< |t|^2 or <t, s> vanishes
    asks,      ///< the host is to decide: r and y are those of the next iteration, p is p - omega v
  };

  // What the host says of a search: p, r0 and r with rho = <r0, r>.
  Coefficient rho{};
  double r2 = 0, r0_norm2 = 0;
  double target = 0;     ///< an |s| with which the search ends half way
  double vanishing = 0;  ///< of two norms' product, what an inner product must exceed
  double rounding = 0;   ///< of |r0| |r|, what rounding does to rho
  // The sums and scalars of an iteration. At its end rho and r2 are those of the next.
  Coefficient vr0{}, alpha{}, ts{}, omega{}, next_rho{}, beta{};  ///< vr0 = <v, r0>, ts = <t, s>
  double v2 = 0, s2 = 0, t2 = 0;
  Ended ended = Ended::no;
};

/// The scalars of MR, which stay where its fields are (core/blas/mr_steps.h).
struct MrScalars {
  double omega = 1;  ///< relaxation
  Coefficient alpha{};
};

}  // namespace quadrille::blas
