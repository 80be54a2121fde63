// The minimal-residual iteration with relaxation for a general A whose Hermitian part is definite: Y. Saad, Iterative
// Methods for Sparse Linear Systems (2003), section 5.3.2. One operator application an iteration and no search
// direction: for heavy quarks, and to compare with other programs. |r| does not grow for 0 < omega < 2.
//
// Fields: r, t and the partial solution in the inner format; x and one workspace in the outer one.
// Traffic of an iteration beside the operator application: 5 fields read, 2 written.
#include "core/blas/blas.h"
#include "solvers/methods/groupwise.h"
#include "solvers/methods/methods.h"
#include "solvers/methods/patience.h"
#include "solvers/monitor.h"
#include "solvers/steps.h"

#include <cmath>

namespace quadrille {

namespace {

class Mr final : public Solver {
 public:
  Mr(const SolverParts& parts, double omega)
      : solution_(parts.outer, parts.inner, parts.delta > 0),
        a_(solution_.iterating()),
        delta_(parts.delta),
        omega_(omega),
        r_(a_.field_desc()),
        t_(a_.field_desc()),
        scalars_(*a_.field_desc().backend, a_.field_desc().lattice->communicator()) {}

  SolveReport solve(Field& x, const Field& b, const Stopping& stopping) override;

 private:
  /// False when it was none, or is not worth keeping: the solve has stopped.
  bool iterate(Monitor& monitor, Field& y);

  GroupwiseSolution solution_;
  const LinearOperator& a_;
  double delta_, omega_;
  Field r_, t_;
  blas::ResidentScalars<steps::MrScalars> scalars_;
  double r2_ = 0, applications_ = 0;
};

bool Mr::iterate(Monitor& monitor, Field& y) {
  a_.apply(t_, r_, Dagger::No);                                  // t = A r
  steps::run(steps::MrAlpha{}, {&t_, &r_}, scalars_);            // alpha = omega <t, r> / |t|^2
  steps::run(steps::MrUpdateNorm2{}, {&t_, &r_, &y}, scalars_);  // y += alpha r, r -= alpha t
  scalars_.record();
  ++applications_;
  const steps::MrScalars now = scalars_.snapshot();
  const double vanishing =
      rounding_unit(r_.desc().precision) * std::sqrt(now.t2 * r2_);  // a smaller <A r, r> is rounding
  if (!monitor.usable(now.t2, 0, "|A r|^2") || !monitor.usable(now.tr, vanishing, "|<A r, r>|")) {
    monitor.stop_broken();
    return false;
  }
  r2_ = now.r2;
  monitor.iterated(std::sqrt(r2_));
  return !monitor.failed();
}

SolveReport Mr::solve(Field& x, const Field& b, const Stopping& stopping) {
  Monitor monitor("MR", stopping, delta_, a_.field_desc().precision, progress_);
  monitor.expect_progress(patience(a_.field_desc()));
  scalars_.set({.omega = omega_});
  applications_ = 0;
  Field& y = solution_.target(x);
  r2_ = solution_.start(x, b, r_);  // x = 0, r = b
  monitor.start(std::sqrt(r2_));
  while (monitor.running() && iterate(monitor, y)) {
    if (monitor.update_due()) {
      r2_ = solution_.update(x, b, r_, monitor.target());  // x += y, y = 0, r = the true residual
      monitor.updated(std::sqrt(r2_));
    } else {
      solution_.gather();
    }
  }
  return solution_.finish(monitor, x, b, applications_);
}

}  // namespace

std::unique_ptr<Solver> make_mr(const SolverParts& parts, double omega) { return std::make_unique<Mr>(parts, omega); }

}  // namespace quadrille
