// BiCGstab for a general A: H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992) 631.
//
// Fields: p, r, r0, t, v and the partial solution in the inner format; x and one workspace in the outer one.
// s = r - alpha v of the paper lives in r.
// Traffic of an iteration beside two operator applications: 12 fields read, 4 written
//   <r0, v>, |v|^2: 2 read; s: 2 read, 1 written; <t, s>, |t|^2, <r0, t>, <r0, s>: 3 read; solution, residual and
//   direction in one pass, since <r0, r> = <r0, s> - omega <r0, t> is known before it: 5 read, 3 written.
// (<r0, s> is what rounding has left of 0. Without it weak fields no longer converge in double.)
//
// Scalars are formed where the fields are, and an iteration is queued as a whole. Where queueing does not wait for the
// work, the next v = A p is queued as well before the host looks at what has become of |r|.
#include "core/blas/blas.h"
#include "solvers/methods/groupwise.h"
#include "solvers/methods/methods.h"
#include "solvers/methods/patience.h"
#include "solvers/methods/search_pace.h"
#include "solvers/monitor.h"
#include "solvers/steps.h"

#include <algorithm>
#include <cmath>

namespace quadrille {

namespace {

using blas::Complex;
using steps::BicgstabScalars;
using Ended = BicgstabScalars::Ended;

Complex number(blas::Coefficient c) { return {c.re, c.im}; }

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

class BiCGstab final : public Solver {
 public:
  explicit BiCGstab(const SolverParts& parts)
      : solution_(parts.outer, parts.inner, parts.delta > 0),
        a_(solution_.iterating()),
        delta_(bicgstab_delta(parts.delta, a_.field_desc().precision)),
        vanishing_(vanishing(a_.field_desc().precision)),
        rounding_(rounding_of_dot(a_.field_desc())),
        p_(a_.field_desc()),
        r_(a_.field_desc()),
        r0_(a_.field_desc()),
        t_(a_.field_desc()),
        v_(a_.field_desc()),
        scalars_(*a_.field_desc().backend, a_.field_desc().lattice->communicator()),
        runs_ahead_(!a_.field_desc().backend->host_memory()) {}

  SolveReport solve(Field& x, const Field& b, const Stopping& stopping) override;

 private:
  /// y = A x
  void apply(Field& y, const Field& x) { a_.apply(y, x, Dagger::No); }
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
  /// The search goes on with p, r and r0 as the host has left them, and this rho.
  void go_on(Complex rho);
  /// Asks for an iteration: y, r, p; then for v = A p of the next, where that costs no time.
  void iterate(Field& y, double ask_below);
  /// Looks at what has become of it. Whatever stops the solve is in the monitor.
  void judge(Monitor& monitor, Field& x, const Field& b);
  /// After an iteration that ended early: y += alpha p where r = s.
  void judge_early_end(Monitor& monitor, Field& x, const Field& b, const BicgstabScalars& now);
  /// Ends an iteration after y += alpha p, with r = s.
  void end_half_way(Monitor& monitor, Field& x, const Field& b, Complex alpha, bool broken);
  /// Turns p = p - omega v to the r there is.
  void new_direction(Monitor& monitor, Complex rho, const BicgstabScalars& now);
  /// The reliable update, when one is due.
  bool update(Monitor& monitor, Field& x, const Field& b);

  GroupwiseSolution solution_;
  const LinearOperator& a_;
  double delta_, vanishing_, rounding_;
  Field p_, r_, r0_, t_, v_;
  SearchPace pace_;
  blas::ResidentScalars<BicgstabScalars> scalars_;
  bool runs_ahead_;     // of the host
  bool ahead_ = false;  // v = A p is queued already
  double r2_ = 0, r0_norm2_ = 0, target_ = 0, applications_ = 0;
};

void BiCGstab::begin() {
  blas::copy(r0_, r_);
  blas::copy(p_, r_);
  r0_norm2_ = r2_ = blas::norm2(r_);
  pace_.begin(std::sqrt(r2_));
  go_on(r2_);
}

void BiCGstab::go_on(Complex rho) {
  scalars_.set({.rho = {rho.real(), rho.imag()},
                .r2 = r2_,
                .r0_norm2 = r0_norm2_,
                .target = target_,
                .vanishing = vanishing_,
                .rounding = rounding_});
  ahead_ = false;
}

void BiCGstab::iterate(Field& y, double ask_below) {
  if (!ahead_) apply(v_, p_);                                               // v = A p
  steps::run(steps::BicgstabAlpha{}, {&v_, &r0_}, scalars_);                // alpha = rho / <r0, v>
  steps::run(steps::BicgstabHalfStep{}, {&v_, &r_}, scalars_);              // s = r - alpha v
  apply(t_, r_);                                                            // t = A s
  steps::run(steps::BicgstabOmega{ask_below}, {&t_, &r_, &r0_}, scalars_);  // omega = <t, s> / |t|^2, beta
  steps::run(steps::BicgstabUpdate{}, {&p_, &t_, &v_, &y, &r_}, scalars_);  // y += alpha p + omega s, r = s - omega t,
  scalars_.record();                                                        // p = r + beta (p - omega v)
  applications_ += 2;
  ahead_ = runs_ahead_;
  if (ahead_) apply(v_, p_);  // counts when it is used
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

void BiCGstab::judge_early_end(Monitor& monitor, Field& x, const Field& b, const BicgstabScalars& now) {
  const double vr0 = std::abs(number(now.vr0)), ts = std::abs(number(now.ts));
  if (now.ended == Ended::no_alpha) {
    monitor.usable(vr0, vanishing_ * std::sqrt(now.v2 * r0_norm2_), "<r0, A p>");
    recover(monitor);
    return;
  }
  r2_ = now.s2;
  const bool broken = now.ended == Ended::no_omega;
  if (broken && monitor.usable(now.t2, 0, "|A s|^2")) {
    monitor.usable(ts, vanishing_ * std::sqrt(now.t2 * now.s2), "<A s, s>");
  }
  if (monitor.running()) end_half_way(monitor, x, b, number(now.alpha), broken);
}

void BiCGstab::new_direction(Monitor& monitor, Complex rho, const BicgstabScalars& now) {
  if (!monitor.usable(std::abs(rho), vanishing_ * std::sqrt(r2_ * r0_norm2_), "<r0, r>")) {
    recover(monitor);
    return;
  }
  const Complex beta = (rho / number(now.rho)) * (number(now.alpha) / number(now.omega));
  blas::cxpay(r_, beta, p_);  // p = r + beta (p - omega v)
  go_on(rho);
}

void BiCGstab::judge(Monitor& monitor, Field& x, const Field& b) {
  const BicgstabScalars now = scalars_.snapshot();
  const bool asks = now.ended == Ended::asks;
  if (now.ended != Ended::no && !asks) {
    judge_early_end(monitor, x, b, now);
    return;
  }
  r2_ = now.r2;
  monitor.iterated(std::sqrt(r2_));
  if (monitor.failed()) return;
  const bool slowed = pace_.slowed(std::sqrt(r2_));
  if (slowed) monitor.ask_for_update();
  const bool updated = update(monitor, x, b);
  if (!monitor.running()) return;
  solution_.gather();
  // Not asked and yet updated, hardly ever: p has gone on with an r that is no more.
  if (updated && (slowed || monitor.lost_touch() || !asks)) {
    begin_anew(monitor);
  } else if (asks) {
    new_direction(monitor, updated ? blas::dot(r0_, r_) : number(now.next_rho), now);  // rho = <r0, r>
  }
}

SolveReport BiCGstab::solve(Field& x, const Field& b, const Stopping& stopping) {
  Monitor monitor("BiCGstab", stopping, delta_, a_.field_desc().precision, progress_);
  monitor.expect_progress(patience(a_.field_desc()));
  applications_ = 0;
  target_ = monitor.target();
  r2_ = solution_.start(x, b, r_);  // x = 0, r = b
  monitor.start(std::sqrt(r2_));
  if (monitor.running()) begin();
  while (monitor.running()) {
    iterate(solution_.target(x), monitor.asks_below(pace_.asks_below()));
    judge(monitor, x, b);
  }
  return solution_.finish(monitor, x, b, applications_);
}

}  // namespace

// In half precision rounding has moved r by 1 % when |r| has fallen by an order of magnitude near a critical mass, and
// by a tenth and more after the second: updates do not wait for that.
double bicgstab_delta(double delta, Precision inner) {
  constexpr double half_delta = 0.1;
  return delta > 0 && inner == Precision::Half ? std::max(delta, half_delta) : delta;
}

std::unique_ptr<Solver> make_bicgstab(const SolverParts& parts) { return std::make_unique<BiCGstab>(parts); }

}  // namespace quadrille
