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

#include <cmath>

namespace quadrille {

namespace {

using blas::Complex;

/// An inner product of two fields below this part of the product of their norms is rounding and no more.
double vanishing(Precision precision) {
  // Rounding errors of the components are independent: over a lattice their sum is far below one rounding unit.
  return std::max(1e-15, 1e-3 * rounding_unit(precision));
}

/// A reliable update that changes <r0, r> by more than this part of it calls for a new Krylov space.
// What an update changes is what rounding has done since the last one, so the change is how well rho, and with it beta,
// was known. Along a search r turns away from the fixed r0 (to a cosine of 1e-6 near a critical mass) until rho is
// rounding altogether; r as the new r0 makes it exact. The cosine itself would not do as a criterion: that of unrelated
// vectors depends on the volume.
constexpr double most_rho_change = 0.01;

class BiCGstab final : public Solver {
 public:
  BiCGstab(const LinearOperator& outer, const LinearOperator* inner, double delta)
      : delta_(delta),
        solution_(outer, inner, delta > 0),
        a_(solution_.iterating()),
        vanishing_(vanishing(a_.field_desc().precision)),
        p_(a_.field_desc()),
        r_(a_.field_desc()),
        r0_(a_.field_desc()),
        t_(a_.field_desc()),
        v_(a_.field_desc()) {}

  SolveReport solve(Field& x, const Field& b, const Stopping& stopping) override;

 private:
  /// A new Krylov space: r0 = p = r, rho = |r|^2.
  void begin();
  /// After a breakdown: begins anew when that may help.
  void begin_again(Monitor& monitor) {
    if (monitor.restart()) begin();
  }
  /// y, r, p from one iteration; whatever stops it is in the monitor.
  void iterate(Monitor& monitor, Field& x, const Field& b);
  /// <t, s> / |t|^2, or breakdown.
  bool minimise(Monitor& monitor, Complex& omega);
  /// Ends an iteration after y += alpha p, with r = s.
  void end_half_way(Monitor& monitor, Field& x, const Field& b, Complex alpha, bool broken);
  /// The reliable update, when one is due.
  bool update(Monitor& monitor, Field& x, const Field& b);

  double delta_;
  GroupwiseSolution solution_;
  const LinearOperator& a_;
  double vanishing_;
  Field p_, r_, r0_, t_, v_;
  Complex rho_;
  double r2_ = 0, r0_norm2_ = 0, applications_ = 0;
};

void BiCGstab::begin() {
  blas::copy(r0_, r_);
  blas::copy(p_, r_);
  rho_ = r0_norm2_ = r2_ = blas::norm2(r_);
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
    begin_again(monitor);
  } else {
    begin();
  }
}

bool BiCGstab::minimise(Monitor& monitor, Complex& omega) {
  a_.apply(t_, r_, Dagger::No);  // t = A s
  ++applications_;
  const blas::DotNorm ts = blas::dot_norm2(t_, r_);  // <t, s>, |t|^2
  if (!monitor.usable(ts.norm2, 0, "|A s|^2")) return false;
  if (!monitor.usable(std::abs(ts.dot), vanishing_ * std::sqrt(ts.norm2 * r2_), "omega = <A s, s> / |A s|^2")) {
    return false;
  }
  omega = ts.dot / ts.norm2;
  return true;
}

void BiCGstab::iterate(Monitor& monitor, Field& x, const Field& b) {
  a_.apply(v_, p_, Dagger::No);  // v = A p
  ++applications_;
  const blas::DotNorm vr = blas::dot_norm2(v_, r0_);  // <v, r0>, |v|^2
  if (!monitor.usable(std::abs(vr.dot), vanishing_ * std::sqrt(vr.norm2 * r0_norm2_), "<r0, A p>")) {
    begin_again(monitor);
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
  const bool updated = update(monitor, x, b);
  if (!monitor.running()) return;
  solution_.gather();
  const Complex rho = updated ? blas::dot(r0_, r_) : next.dot;  // <r0, r>
  if (updated && (monitor.lost_touch() || std::abs(rho - next.dot) > most_rho_change * std::abs(rho))) {
    begin();  // r0, p and rho belong to a residual that is no more
    return;
  }
  if (!monitor.usable(std::abs(rho), vanishing_ * std::sqrt(r2_ * r0_norm2_), "rho = <r0, r>")) {
    begin_again(monitor);
    return;
  }
  const Complex beta = (rho / rho_) * (alpha / omega);
  blas::bicgstab_direction(r_, v_, beta, omega, p_);  // p = r + beta (p - omega v)
  rho_ = rho;
}

SolveReport BiCGstab::solve(Field& x, const Field& b, const Stopping& stopping) {
  Monitor monitor(stopping, delta_, a_.field_desc().precision, progress_);
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
