// BiCGstab for a general A: H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992) 631.
//
// Fields: p, r, r0, t, v and the partial solution in the inner format; x and one workspace in the outer one.
// s = r - alpha v of the paper lives in r.
// Traffic of an iteration beside two operator applications: 14 fields read, 4 written
//   <r0, v>, |v|^2: 2 read; s: 2 read, 1 written; <t, s>, |t|^2: 2 read; solution and residual: 5 read, 2 written;
//   direction: 3 read, 1 written.
#include "core/blas/blas.h"
#include "solvers/groupwise.h"
#include "solvers/methods.h"
#include "solvers/monitor.h"
#include "solvers/search_pace.h"

#include <algorithm>
#include <cmath>

namespace quadrille {

namespace {

using blas::Complex;

/// An inner product of two fields below this part of the product of their norms is rounding and no more.
double vanishing(Precision precision) {
  // Rounding errors of the components are independent: over a lattice their sum is far below one rounding unit.
  return std::max(1e-15, 1e-3 * rounding_unit(precision));
}

/// What rounding does to <r0, r>, relative to |r0| |r|: errors of the numbers of a field are independent.
double rounding_of_dot(const FieldDesc& desc) {
  const double numbers = double(desc.components()) * double(desc.parities()) * double(desc.lattice->half_volume());
  return rounding_unit(desc.precision) / std::sqrt(numbers);
}

// Along a search r turns away from the fixed r0 until rho = <r0, r> is rounding and no more, and alpha and beta with
// it. Each iteration multiplies rho by omega, so a small omega is what spends its digits. Where fewer than four are
// left, omega is lengthened to the size that a cosine of 1/2 between s and A s would give: |r| loses little, and a
// search on a plateau gets across it (G. L. G. Sleijpen and H. A. van der Vorst, Numer. Algorithms 10 (1995) 203, who
// always do so, to 0.7; while there are digits the shortest r is the better choice).
constexpr double least_cosine = 0.5;
constexpr double enough_digits = 1e4;

/// In half precision rounding has moved r by 1 % when |r| has fallen by an order of magnitude near a critical mass, and
/// by a tenth and more after the second: updates do not wait for that.
double delta_for(double delta, Precision precision) {
  constexpr double half_delta = 0.1;
  return delta > 0 && precision == Precision::Half ? std::max(delta, half_delta) : delta;
}

/// Iterations in which |r| must reach a new low: of a singular system it never does, near a critical mass the search
/// may be on a plateau. At worst 263 iterations were seen on 8^3 x 16, where 362 are allowed; the number of slow modes
/// grows with the volume.
int patience(const FieldDesc& desc) {
  constexpr double least = 256, for_root_of_volume = 4;
  double volume = 1;
  for (const int extent : desc.lattice->global_dims()) volume *= extent;
  return int(std::max(least, for_root_of_volume * std::sqrt(volume)));
}

class BiCGstab final : public Solver {
 public:
  BiCGstab(const LinearOperator& outer, const LinearOperator* inner, double delta)
      : solution_(outer, inner, delta > 0),
        a_(solution_.iterating()),
        delta_(delta_for(delta, a_.field_desc().precision)),
        vanishing_(vanishing(a_.field_desc().precision)),
        rounding_(rounding_of_dot(a_.field_desc())),
        p_(a_.field_desc()),
        r_(a_.field_desc()),
        r0_(a_.field_desc()),
        t_(a_.field_desc()),
        v_(a_.field_desc()) {}

  SolveReport solve(Field& x, const Field& b, const Stopping& stopping) override;

 private:
  /// A Krylov space: r0 = p = r, rho = |r|^2.
  void begin();
  void begin_anew(Monitor& monitor) {
    begin();
    monitor.began_anew();
  }
  /// After a breakdown: starts again when that may help.
  void recover(Monitor& monitor) {
    if (monitor.may_begin_anew()) begin_anew(monitor);
  }
  /// y, r, p from one iteration; whatever stops it is in the monitor.
  void iterate(Monitor& monitor, Field& x, const Field& b);
  /// <t, s> / |t|^2, lengthened where rho needs it, or breakdown.
  bool minimise(Monitor& monitor, Complex& omega);
  /// Ends an iteration after y += alpha p, with r = s.
  void end_half_way(Monitor& monitor, Field& x, const Field& b, Complex alpha, bool broken);
  /// The reliable update, when one is due.
  bool update(Monitor& monitor, Field& x, const Field& b);
  /// rho = value, and what it is worth.
  void set_rho(Complex value) {
    rho_ = value;
    rho_digits_ = std::abs(value) / (rounding_ * std::sqrt(r2_ * r0_norm2_));
  }

  GroupwiseSolution solution_;
  const LinearOperator& a_;
  double delta_, vanishing_, rounding_;
  Field p_, r_, r0_, t_, v_;
  SearchPace pace_;
  Complex rho_;
  double rho_digits_ = 0;  // |rho| relative to what rounding does to it
  double r2_ = 0, r0_norm2_ = 0, applications_ = 0;
};

void BiCGstab::begin() {
  blas::copy(r0_, r_);
  blas::copy(p_, r_);
  r0_norm2_ = r2_ = blas::norm2(r_);
  set_rho(r2_);
  pace_.begin(std::sqrt(r2_));
}

bool BiCGstab::update(Monitor& monitor, Field& x, const Field& b) {
  if (!monitor.update_due()) return false;
  r2_ = solution_.update(x, b, r_, monitor.target());  // x += y, y = 0, r = the true residual
  monitor.updated(std::sqrt(r2_));
  return true;
}

void BiCGstab::end_half_way(Monitor& monitor, Field& x, const Field& b, Complex alpha, bool broken) {
  monitor.iterated(std::sqrt(r2_));
  if (monitor.failed()) return;
  blas::caxpy(alpha, p_, solution_.target(x));  // y += alpha p
  update(monitor, x, b);
  if (!monitor.running()) return;
  if (broken) {
    recover(monitor);
  } else {
    begin_anew(monitor);
  }
}

bool BiCGstab::minimise(Monitor& monitor, Complex& omega) {
  a_.apply(t_, r_, Dagger::No);  // t = A s
  ++applications_;
  const blas::DotNorm ts = blas::dot_norm2(t_, r_);  // <t, s>, |t|^2
  if (!monitor.usable(ts.norm2, 0, "|A s|^2")) return false;
  const double longest = std::sqrt(ts.norm2 * r2_);
  if (!monitor.usable(std::abs(ts.dot), vanishing_ * longest, "<A s, s>")) return false;
  omega = ts.dot / ts.norm2;
  const double cosine = std::abs(ts.dot) / longest;
  if (rho_digits_ < enough_digits && cosine < least_cosine) omega *= least_cosine / cosine;
  return true;
}

void BiCGstab::iterate(Monitor& monitor, Field& x, const Field& b) {
  a_.apply(v_, p_, Dagger::No);  // v = A p
  ++applications_;
  const blas::DotNorm vr = blas::dot_norm2(v_, r0_);  // <v, r0>, |v|^2
  if (!monitor.usable(std::abs(vr.dot), vanishing_ * std::sqrt(vr.norm2 * r0_norm2_), "<r0, A p>")) {
    recover(monitor);
    return;
  }
  const Complex alpha = rho_ / std::conj(vr.dot);
  r2_ = blas::caxpy_norm2(-alpha, v_, r_);  // s = r - alpha v
  if (!(std::sqrt(r2_) > monitor.target())) {
    end_half_way(monitor, x, b, alpha, false);
    return;
  }
  Complex omega;
  if (!minimise(monitor, omega)) {
    if (monitor.running()) end_half_way(monitor, x, b, alpha, true);
    return;
  }
  const blas::DotNorm next =
      blas::bicgstab_update(alpha, p_, omega, t_, r0_, solution_.target(x), r_);  // y += alpha p + omega s,
  r2_ = next.norm2;                                                               // r = s - omega t
  monitor.iterated(std::sqrt(r2_));
  if (monitor.failed()) return;
  const bool slowed = pace_.slowed(std::sqrt(r2_));
  if (slowed) monitor.ask_for_update();
  const bool updated = update(monitor, x, b);
  if (!monitor.running()) return;
  solution_.gather();
  if (updated && (slowed || monitor.lost_touch())) {
    begin_anew(monitor);
    return;
  }
  const Complex rho = updated ? blas::dot(r0_, r_) : next.dot;  // <r0, r>
  if (!monitor.usable(std::abs(rho), vanishing_ * std::sqrt(r2_ * r0_norm2_), "<r0, r>")) {
    recover(monitor);
    return;
  }
  const Complex beta = (rho / rho_) * (alpha / omega);
  blas::bicgstab_direction(r_, v_, beta, omega, p_);  // p = r + beta (p - omega v)
  set_rho(rho);
}

SolveReport BiCGstab::solve(Field& x, const Field& b, const Stopping& stopping) {
  Monitor monitor("BiCGstab", stopping, delta_, a_.field_desc().precision, progress_);
  monitor.expect_progress(patience(a_.field_desc()));
  applications_ = 0;
  r2_ = solution_.start(x, b, r_);  // x = 0, r = b
  monitor.start(std::sqrt(r2_));
  if (monitor.running()) begin();
  while (monitor.running()) iterate(monitor, x, b);
  return solution_.finish(monitor, x, b, applications_);
}

}  // namespace

std::unique_ptr<Solver> make_bicgstab(const LinearOperator& outer, const LinearOperator* inner, double delta) {
  return std::make_unique<BiCGstab>(outer, inner, delta);
}

}  // namespace quadrille
