// CG on the normal equations A^+ A x = A^+ b, in the form that iterates the direct residual r = b - A x (CGLS):
// M. R. Hestenes and E. Stiefel, J. Res. Nat. Bur. Stand. 49 (1952) 409, section 10; A. Bjorck, Numerical Methods for
// Least Squares Problems (1996), section 7.4. |r| never grows, and it is what stops the solve.
// Reliable updates also come when the rounding of the inner format asks for them: reliable_update.h.
//
// Fields: p, q, r, z and the partial solution in the inner format; x and one workspace in the outer one.
// Traffic of an iteration beside two operator applications: 7 fields read, 3 written
//   |q|^2: 1 read; r -= alpha q with |r|^2: 2 read, 1 written; |z|^2: 1 read; both updates: 3 read, 2 written.
//
// Scalars are formed where the fields are. Where queueing does not wait for the work, z = A^+ r is queued before the
// host looks at what has become of |r|, and the next q = A p after that, so that an operator is at work while sums are
// formed and looked at; but not where a reliable update may come, after which that z would be of no use.
#include "core/blas/blas.h"
#include "solvers/methods/groupwise.h"
#include "solvers/methods/methods.h"
#include "solvers/monitor.h"
#include "solvers/steps.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace quadrille {

namespace {

/// |A^+ r| / |r| lies between the smallest and the largest singular value of A; a ratio of these below the rounding of
/// the format cannot be told from a singular operator.
double singular_ratio(Precision precision) { return std::max(1e-15, 2 * rounding_unit(precision)); }

/// A space is used again when |r| has fallen by this: rounding, and what the space lacks of the low modes, have brought
/// back some of them.
constexpr double deflate_again = 1e-3;

/// On any way out of a solve: others may add to the space.
struct ShareEnds {
  std::unique_ptr<DeflationShare>& share;
  ~ShareEnds() { share.reset(); }
};

class Cg final : public Solver {
 public:
  explicit Cg(const SolverParts& parts)
      : delta_(parts.delta),
        solution_(parts.outer, parts.inner, parts.delta > 0),
        a_(solution_.iterating()),
        singular_(singular_ratio(a_.field_desc().precision)),
        p_(a_.field_desc()),
        q_(a_.field_desc()),
        r_(a_.field_desc()),
        z_(a_.field_desc()),
        scalars_(*a_.field_desc().backend, a_.field_desc().lattice->communicator()),
        runs_ahead_(!a_.field_desc().backend->host_memory()),
        outer_(parts.outer),
        space_(parts.deflation) {
    if (!space_) return;
    deflated_.emplace(outer_.field_desc());
    image_.emplace(outer_.field_desc());
  }

  SolveReport solve(Field& x, const Field& b, const Stopping& stopping) override;

 private:
  using Ended = steps::CgScalars::Ended;

  /// z = A^+ r and |z|^2, which is looked at.
  void gradient(Monitor& monitor);
  /// Stops the solve when |z|^2 vanishes beside |r|^2: then no x has a smaller |b - A x|.
  void check_gradient(Monitor& monitor) const;
  /// A Krylov space: p = z.
  void begin();
  /// The search goes on with p, r and z as the host has left them.
  void go_on();
  /// Asks for an iteration as far as r; if `ahead`, for z = A^+ r, too.
  void iterate(bool ahead);
  /// Looks at what has become of it. False when it was none, or is not worth keeping: the solve has stopped.
  bool judge(Monitor& monitor);
  /// Asks for the rest of the iteration: z, y, p.
  void new_direction(Field& y);
  /// The rest of an iteration with a reliable update.
  void update(Monitor& monitor, Field& x, const Field& b);
  /// x += the element of the space that makes |b - A x| smallest, where there is one; `residual` is the present one.
  /// True when it has become smaller.
  bool deflate(Field& x, const Field& residual);
  /// A new direction after r was replaced: p is made orthogonal to the new gradient first, as it is in exact
  /// arithmetic, and p = z + beta p then keeps what the search has learnt (Clark et al., arXiv:0911.3191).
  void correct_direction(double beta);

  double delta_;
  GroupwiseSolution solution_;
  const LinearOperator& a_;
  double singular_;
  Field p_, q_, r_, z_;
  blas::ResidentScalars<steps::CgScalars> scalars_;
  SolutionGain gain_;
  bool runs_ahead_;               // of the host
  bool ahead_ = false;            // z = A^+ r is queued already
  bool direction_is_new_ = true;  // gain_ knows of the last turn
  double alpha_ = 0, r2_ = 0, z2_ = 0, largest_ratio_ = 0, applications_ = 0;

  const LinearOperator& outer_;
  std::shared_ptr<DeflationSpace> space_;
  std::optional<Field> deflated_, image_;  // outer format
  std::unique_ptr<DeflationShare> share_;  // of a solve that adds to the space
  double deflated_at_ = 0;                 // |r| after deflate()
};

void Cg::gradient(Monitor& monitor) {
  a_.apply(z_, r_, Dagger::Yes);
  ++applications_;
  z2_ = blas::norm2(z_);
  largest_ratio_ = std::max(largest_ratio_, r2_ > 0 ? z2_ / r2_ : 0);
  check_gradient(monitor);
}

void Cg::check_gradient(Monitor& monitor) const {
  if (monitor.usable(z2_, singular_ * singular_ * largest_ratio_ * r2_, "|A^+ r|^2") || !monitor.running()) return;
  if (applications_ > 1) {
    monitor.stop_stagnated("|A^+ r| is negligible compared with |A| |r|, so no x has a smaller |b - A x|");
  } else {
    monitor.stop_broken();
  }
}

void Cg::begin() {
  blas::copy(p_, z_);
  gain_.begin(z2_);
  if (share_) share_->modes().begin(z_, z2_);
  go_on();
}

void Cg::go_on() {
  scalars_.set({.z2 = z2_, .r2 = r2_, .largest_ratio = largest_ratio_, .singular = singular_ * singular_});
  direction_is_new_ = true;
}

void Cg::iterate(bool ahead) {
  a_.apply(q_, p_, Dagger::No);                           // q = A p
  steps::run(steps::CgAlpha{}, {&q_}, scalars_);          // alpha = |z|^2 / |q|^2
  steps::run(steps::CgResidual{}, {&q_, &r_}, scalars_);  // r -= alpha q
  scalars_.record();
  ahead_ = ahead;
  if (ahead_) a_.apply(z_, r_, Dagger::Yes);  // counts when it is used
}

bool Cg::judge(Monitor& monitor) {
  const steps::CgScalars now = scalars_.snapshot();
  z2_ = now.z2;
  largest_ratio_ = now.largest_ratio;
  if (now.ended == Ended::no_gradient) {  // in the turn before
    check_gradient(monitor);
    return false;
  }
  if (!direction_is_new_) gain_.new_direction(z2_, now.beta);
  if (share_ && !direction_is_new_) share_->modes().coupled(now.beta, z2_);
  direction_is_new_ = true;
  ++applications_;
  if (now.ended == Ended::no_alpha) {
    if (!monitor.usable(now.q2, 0, "|A p|^2")) monitor.stop_broken();
    return false;
  }
  alpha_ = now.alpha;
  r2_ = now.r2;
  if (share_) share_->modes().step(alpha_);
  gain_.step(alpha_);  // |A| of |A| |d| is what the gradients have shown of it
  monitor.iterated(std::sqrt(r2_), std::sqrt(largest_ratio_) * gain_.norm());
  return !monitor.failed();
}

void Cg::new_direction(Field& y) {
  if (!ahead_) a_.apply(z_, r_, Dagger::Yes);  // z = A^+ r
  ++applications_;
  steps::run(steps::CgBeta{}, {&z_}, scalars_);             // beta = |z|^2 / that of the z before
  steps::run(steps::CgUpdate{}, {&p_, &y, &z_}, scalars_);  // y += alpha p, p = z + beta p
  direction_is_new_ = false;
  if (share_) share_->modes().take(z_);
  solution_.gather();
}

void Cg::correct_direction(double beta) {
  blas::caxpy(-blas::dot(z_, p_) / z2_, z_, p_);  // p -= z <z, p> / |z|^2
  blas::xpay(z_, beta, p_);                       // p = z + beta p
}

void Cg::update(Monitor& monitor, Field& x, const Field& b) {
  const double z2_before = z2_;
  blas::axpy(alpha_, p_, solution_.target(x));         // y += alpha p
  r2_ = solution_.update(x, b, r_, monitor.target());  // x += y, y = 0, r = the true residual
  monitor.updated(std::sqrt(r2_));
  gain_.reset();
  bool deflated = false;
  if (monitor.running() && std::sqrt(r2_) < deflate_again * deflated_at_) {
    if (share_) share_->add_modes();
    if (share_ && space_->full()) share_.reset();
    deflated = deflate(x, solution_.residual());
  }
  if (monitor.running()) gradient(monitor);
  if (!monitor.running()) return;
  const double beta = z2_ / z2_before;
  if (deflated) {
    begin();
  } else if (monitor.lost_touch()) {
    begin();
    monitor.began_anew();
  } else {
    gain_.new_direction(z2_, beta);
    correct_direction(beta);
    if (share_) {
      share_->modes().take(z_);
      share_->modes().coupled(beta, z2_);
    }
    go_on();
  }
}

bool Cg::deflate(Field& x, const Field& residual) {
  if (!space_ || space_->size() == 0) return false;
  space_->solve(*deflated_, residual);
  outer_.apply(*image_, *deflated_, Dagger::No);
  ++applications_;
  const double r2 = blas::subtract_norm2(residual, *image_);
  if (!(r2 < r2_)) return false;
  blas::axpy(1, *deflated_, x);
  r2_ = solution_.go_on(*image_, r_);
  deflated_at_ = std::sqrt(r2_);
  return true;
}

SolveReport Cg::solve(Field& x, const Field& b, const Stopping& stopping) {
  Monitor monitor("CG", stopping, delta_, a_.field_desc().precision, progress_);
  applications_ = largest_ratio_ = 0;
  Field& y = solution_.target(x);
  r2_ = solution_.start(x, b, r_);  // x = 0, r = b
  share_ = DeflationShare::of(space_.get());
  const ShareEnds ends{share_};
  deflated_at_ = std::sqrt(r2_);
  deflate(x, b);
  monitor.start(std::sqrt(r2_));
  if (monitor.running()) gradient(monitor);
  if (monitor.running()) begin();
  while (monitor.running()) {
    iterate(runs_ahead_ && !monitor.update_near());
    if (!judge(monitor)) break;
    if (monitor.update_due()) {
      update(monitor, x, b);
    } else if (monitor.running()) {
      new_direction(y);
    } else {
      blas::axpy(alpha_, p_, y);  // the last step
    }
  }
  const SolveReport report = solution_.finish(monitor, x, b, applications_);
  if (share_ && !monitor.failed()) share_->add_modes();
  return report;
}

}  // namespace

std::unique_ptr<Solver> make_cg(const SolverParts& parts) { return std::make_unique<Cg>(parts); }

}  // namespace quadrille
