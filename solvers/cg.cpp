// CG on the normal equations A^+ A x = A^+ b, in the form that iterates the direct residual r = b - A x (CGLS):
// M. R. Hestenes and E. Stiefel, J. Res. Nat. Bur. Stand. 49 (1952) 409, section 10; A. Bjorck, Numerical Methods for
// Least Squares Problems (1996), section 7.4. |r| never grows, and it is what stops the solve.
// Reliable updates also come when the rounding of the inner format asks for them: reliable_update.h.
//
// Fields: p, q, r, z and the partial solution in the inner format; x and one workspace in the outer one.
// Traffic of an iteration beside two operator applications: 7 fields read, 3 written
//   |q|^2: 1 read; r -= alpha q with |r|^2: 2 read, 1 written; |z|^2: 1 read; both updates: 3 read, 2 written.
#include "core/blas/blas.h"
#include "solvers/groupwise.h"
#include "solvers/methods.h"
#include "solvers/monitor.h"

#include <cmath>

namespace quadrille {

namespace {

/// |A^+ r| / |r| lies between the smallest and the largest singular value of A; a ratio of these below the rounding of
/// the format cannot be told from a singular operator.
double singular_ratio(Precision precision) { return std::max(1e-15, 2 * rounding_unit(precision)); }

class Cg final : public Solver {
 public:
  Cg(const LinearOperator& outer, const LinearOperator* inner, double delta)
      : delta_(delta),
        solution_(outer, inner, delta > 0),
        a_(solution_.iterating()),
        singular_(singular_ratio(a_.field_desc().precision)),
        p_(a_.field_desc()),
        q_(a_.field_desc()),
        r_(a_.field_desc()),
        z_(a_.field_desc()) {}

  SolveReport solve(Field& x, const Field& b, const Stopping& stopping) override;

 private:
  /// z = A^+ r, gives |z|^2; stops the solve when that vanishes beside |r|^2: then no x has a smaller |b - A x|.
  double gradient(Monitor& monitor, double r2);
  /// A new direction after r was replaced: p is made orthogonal to the new gradient first, as it is in exact
  /// arithmetic, and p = z + beta p then keeps what the search has learnt (Clark et al., arXiv:0911.3191).
  void correct_direction(double z2, double beta);

  double delta_;
  GroupwiseSolution solution_;
  const LinearOperator& a_;
  double singular_;
  Field p_, q_, r_, z_;
  double applications_ = 0, largest_ratio_ = 0;
};

double Cg::gradient(Monitor& monitor, double r2) {
  a_.apply(z_, r_, Dagger::Yes);  // z = A^+ r
  ++applications_;
  const double z2 = blas::norm2(z_);  // |z|^2
  largest_ratio_ = std::max(largest_ratio_, r2 > 0 ? z2 / r2 : 0);
  if (!monitor.usable(z2, singular_ * singular_ * largest_ratio_ * r2, "|A^+ r|^2") && monitor.running()) {
    if (applications_ > 1) {
      monitor.stop_stagnated("|A^+ r| is negligible compared with |A| |r|, so no x has a smaller |b - A x|");
    } else {
      monitor.stop_broken();
    }
  }
  return z2;
}

void Cg::correct_direction(double z2, double beta) {
  blas::caxpy(-blas::dot(z_, p_) / z2, z_, p_);  // p -= z <z, p> / |z|^2
  blas::xpay(z_, beta, p_);                      // p = z + beta p
}

SolveReport Cg::solve(Field& x, const Field& b, const Stopping& stopping) {
  Monitor monitor("CG", stopping, delta_, a_.field_desc().precision, progress_);
  SolutionGain gain;
  applications_ = largest_ratio_ = 0;
  Field& y = solution_.target(x);
  double r2 = solution_.start(x, b, r_);  // x = 0, r = b
  monitor.start(std::sqrt(r2));
  double z2 = 0;
  if (monitor.running()) {
    z2 = gradient(monitor, r2);
    blas::copy(p_, z_);  // p = z
    gain.begin(z2);
  }
  while (monitor.running()) {
    a_.apply(q_, p_, Dagger::No);  // q = A p
    ++applications_;
    const double q2 = blas::norm2(q_);  // |q|^2
    if (!monitor.usable(q2, 0, "|A p|^2")) {
      monitor.stop_broken();
      break;
    }
    const double alpha = z2 / q2;
    r2 = blas::axpy_norm2(-alpha, q_, r_);  // r -= alpha q
    gain.step(alpha);                       // |A| of |A| |d| is what the gradients have shown of it
    monitor.iterated(std::sqrt(r2), std::sqrt(largest_ratio_) * gain.norm());
    if (monitor.failed()) break;

    const bool update = monitor.update_due();
    if (update || !monitor.running()) blas::axpy(alpha, p_, y);  // y += alpha p
    if (update) {
      r2 = solution_.update(x, b, r_, monitor.target());  // x += y, y = 0, r = the true residual
      monitor.updated(std::sqrt(r2));
      gain.reset();
    }
    if (!monitor.running()) break;

    const double z2_new = gradient(monitor, r2);  // z = A^+ r
    if (!monitor.running() && update) break;
    const double beta = z2_new / z2;
    z2 = z2_new;
    gain.turn(z2, beta);
    if (update && monitor.lost_touch()) {
      blas::copy(p_, z_);  // p = z
      gain.begin(z2);
      monitor.began_anew();
    } else if (update) {
      correct_direction(z2, beta);
    } else {
      blas::axpy_xpay(alpha, p_, y, z_, beta);  // y += alpha p, p = z + beta p
      solution_.gather();
    }
  }
  return solution_.finish(monitor, x, b, applications_);
}

}  // namespace

std::unique_ptr<Solver> make_cg(const LinearOperator& outer, const LinearOperator* inner, double delta) {
  return std::make_unique<Cg>(outer, inner, delta);
}

}  // namespace quadrille
