#include "solvers/shifted/shifted_cg.h"

#include "core/error.h"
#include "solvers/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille {

namespace {

// Of a further shift's target: its residual is known by recurrence until the end.
constexpr double margin_of_recurrence = 0.8;
// Of a further shift's target, what rounding in the inner form may do to its residual.
constexpr double part_of_rounding = 0.1;
constexpr int most_refinements = 4;

}  // namespace

void check_shifts(std::span<const double> shifts) {
  for (std::size_t k = 0; k < shifts.size(); ++k) {
    if (!(shifts[k] >= 0)) {
      throw Error(ErrorCode::invalid_input, fmt::format("shift {} is {}: shifts are not negative", k, shifts[k]));
    }
    if (k > 0 && !(shifts[k] > shifts[k - 1])) {
      throw Error(ErrorCode::invalid_input,
                  fmt::format("shift {} is {} after {}: give shifts in ascending order", k, shifts[k], shifts[k - 1]));
    }
  }
}

ShiftedCg::Space::Space(const LinearOperator& of, std::size_t count)
    : a(of), p(of.field_desc()), q(of.field_desc()), r(of.field_desc()) {
  for (std::size_t k = 0; k < count; ++k) further.emplace_back(of.field_desc());
}

ShiftedCg::ShiftedCg(const LinearOperator& outer, const LinearOperator* inner, double delta, std::size_t shifts)
    : outer_(outer, shifts - 1),
      inner_(inner ? std::make_unique<Space>(*inner, shifts - 1) : nullptr),
      delta_(delta),
      solution_(outer_.a, inner_ ? &inner_->a : nullptr, delta > 0),
      work_(outer.field_desc()),
      rest_(outer.field_desc()),
      correction_(outer.field_desc()) {
  for (std::size_t k = 1; inner_ && k < shifts; ++k) gathered_.emplace_back(inner->field_desc());
}

class ShiftedCg::Search {
 public:
  Search(ShiftedCg& with, const std::vector<Field*>& x, const Field& b, const std::vector<Shift>& shifts,
         int max_iterations)
      : with_(with),
        x_(x),
        b_(b),
        now_(&with.outer_),
        further_(shifts.size() - 1),
        unit_(with.inner_ ? rounding_unit(with.inner_->r.desc().precision) : 0),
        monitor_("CG", {shifts[0].target, max_iterations}, with.delta_,
                 with.solution_.iterating().field_desc().precision, with.progress_) {
    for (std::size_t k = 0; k < further_.size(); ++k) {
      further_[k].distance = shifts[k + 1].value - shifts[0].value;
      further_[k].target = shifts[k + 1].target;
    }
  }

  /// The report of the smallest shift.
  SolveReport run();
  int iterations(std::size_t further) const { return further_[further].iterations; }
  int outer_iterations() const { return outer_iterations_; }

 private:
  bool inside() const { return now_ != &with_.outer_; }
  void begin();
  /// One iteration as far as the residual. False: it was none, and the solve has stopped.
  bool step();
  /// The new zeta_k; those that have met their targets leave with x_k += alpha_k p_k, that of others waits for
  /// new_directions().
  void step_further();
  /// x_k += alpha_k p_k where that has waited.
  void take_step(std::size_t k);
  void take_steps();
  /// What x_k gains is added here.
  Field& target(std::size_t k) { return inside() ? with_.gathered_[k] : *x_[k + 1]; }
  /// Puts a true residual in place of the iterated one where that is due; gives whether it did.
  bool update();
  /// New directions from the new residual; `updated`: it was replaced.
  void new_directions(bool updated);
  /// A new Krylov space, in which all residuals are multiples of the first one.
  void begin_anew();
  bool may_enter() const;
  /// Goes on in the inner form.
  void enter();
  void gather_further(bool now);

  ShiftedCg& with_;
  const std::vector<Field*>& x_;
  const Field& b_;
  Space* now_;
  std::vector<Further> further_;
  double unit_;
  Monitor monitor_;
  SolutionGain gain_;
  double b_norm_ = 0, r2_ = 0, next_ = 0, p2_ = 0, alpha_ = 1, alpha_before_ = 1, beta_ = 0, largest_ = 0;
  double gained_ = 0;  // |x| of the smallest shift
  double outer_applications_ = 0, inner_applications_ = 0;
  int iterations_in_group_ = 0, outer_iterations_ = 0;
};

void ShiftedCg::Search::begin() {
  for (std::size_t k = 1; k < x_.size(); ++k) blas::zero(*x_[k]);
  blas::copy(now_->r, b_);
  r2_ = next_ = blas::norm2(b_);
  b_norm_ = std::sqrt(r2_);
  monitor_.start(b_norm_);
  for (Further& f : further_) f.active = b_norm_ > f.target;
  begin_anew();
  if (with_.inner_ && further_.empty()) enter();  // reliable updates suffice
}

void ShiftedCg::Search::begin_anew() {
  blas::copy(now_->p, now_->r);
  gain_.begin(next_);
  p2_ = next_;
  alpha_before_ = 1;
  beta_ = 0;
  for (std::size_t k = 0; k < further_.size(); ++k) {
    further_[k].zeta_before = further_[k].zeta = further_[k].zeta_next;
    blas::copy(now_->further[k], now_->r);
  }
}

bool ShiftedCg::Search::step() {
  Space& s = *now_;
  s.a.apply(s.q, s.p, Dagger::No);
  ++(inside() ? inner_applications_ : outer_applications_);
  const double pq = blas::dot(s.p, s.q).real();
  if (!monitor_.usable(pq, 0, "<p, A p>") || pq < 0) {
    if (pq < 0) monitor_.stop_stagnated("<p, A p> is negative: the operator is not positive");
    monitor_.stop_broken();
    return false;
  }
  largest_ = std::max(largest_, pq / p2_);  // of |A|
  alpha_ = r2_ / pq;
  next_ = blas::axpy_norm2(-alpha_, s.q, s.r);
  step_further();
  blas::axpy(alpha_, s.p, inside() ? with_.solution_.target(*x_[0]) : *x_[0]);
  gain_.step(alpha_);
  if (!inside()) gained_ = gain_.norm(), ++outer_iterations_;
  monitor_.iterated(std::sqrt(next_), inside() ? largest_ * gain_.norm() : 0);
  return true;
}

// zeta' = zeta zeta_ alpha_ / (alpha beta (zeta_ - zeta) + zeta_ alpha_ (1 + distance alpha)), what ends in _ of the
// iteration before; x_k += alpha zeta' p_k with p_k in units of zeta.
void ShiftedCg::Search::step_further() {
  for (std::size_t k = 0; k < further_.size(); ++k) {
    Further& f = further_[k];
    if (!f.active) continue;
    const double before = f.zeta_before * alpha_before_;
    f.zeta_next = f.zeta * before / (alpha_ * beta_ * (f.zeta_before - f.zeta) + before * (1 + f.distance * alpha_));
    f.step = alpha_ * f.zeta_next;
    ++f.iterations;
    f.active = f.zeta_next * std::sqrt(next_) > margin_of_recurrence * f.target && f.zeta_next != 0;
    if (!f.active) take_step(k);
  }
}

void ShiftedCg::Search::take_step(std::size_t k) {
  if (further_[k].step != 0) blas::axpy(further_[k].step, now_->further[k], target(k));
  further_[k].step = 0;
}

void ShiftedCg::Search::take_steps() {
  for (std::size_t k = 0; k < further_.size(); ++k) take_step(k);
}

bool ShiftedCg::Search::update() {
  if (!monitor_.update_due()) {
    if (inside()) with_.solution_.gather();
    return false;
  }
  if (inside()) {
    next_ = with_.solution_.update(*x_[0], b_, now_->r, monitor_.target());
    gain_.reset();
  } else if (std::sqrt(next_) > monitor_.target()) {
    monitor_.needs_no_update();
    return false;
  } else {
    next_ = std::pow(with_.true_residual(*x_[0], b_, now_->a.shift()), 2);
    ++outer_applications_;
    blas::copy(now_->r, with_.work_);
  }
  monitor_.updated(std::sqrt(next_));
  return true;
}

void ShiftedCg::Search::new_directions(bool updated) {
  Space& s = *now_;
  if (updated && monitor_.lost_touch()) {
    take_steps();
    begin_anew();
    monitor_.began_anew();
    r2_ = next_;
    return;
  }
  const double beta = next_ / r2_;
  if (updated)
    blas::caxpy(-blas::dot(s.r, s.p) / next_, s.r, s.p);  // as in solvers/methods/cg.cpp: p is orthogonal to r
  for (std::size_t k = 0; k < further_.size(); ++k) {
    Further& f = further_[k];
    if (!f.active) continue;
    // x_k += alpha_k p_k, p_k = r + beta_k p_k
    blas::axpy_xpay(f.step, s.further[k], target(k), s.r, beta * f.zeta_next / f.zeta);
    f.step = 0;
    f.zeta_before = f.zeta;
    f.zeta = f.zeta_next;
  }
  blas::xpay(s.r, beta, s.p);
  gain_.new_direction(next_, beta);
  p2_ = next_ + beta * beta * p2_;
  alpha_before_ = alpha_;
  beta_ = beta;
  r2_ = next_;
}

// What x_k will gain is about what it has gained as its residual fell so far, or no more than 1 / shift allows.
bool ShiftedCg::Search::may_enter() const {
  return std::all_of(further_.begin(), further_.end(), [&](const Further& f) {
    if (!f.active) return true;
    const double residual = f.zeta * std::sqrt(r2_);
    const double gain = std::min(gained_ / b_norm_, 1 / f.distance) * residual;
    return unit_ * (largest_ + f.distance) * gain <= part_of_rounding * f.target;
  });
}

void ShiftedCg::Search::enter() {
  Space& inner = *with_.inner_;
  if (outer_iterations_ == 0) {
    (void)with_.solution_.start(*x_[0], b_, inner.r);
  } else {
    (void)with_.true_residual(*x_[0], b_, now_->a.shift());
    ++outer_applications_;
    (void)with_.solution_.go_on(with_.work_, inner.r);
  }
  inner.a.enter(inner.p, now_->p);
  for (std::size_t k = 0; k < further_.size(); ++k) {
    inner.a.enter(inner.further[k], now_->further[k]);
    blas::zero(with_.gathered_[k]);
  }
  gain_.reset();
  now_ = &inner;
}

void ShiftedCg::Search::gather_further(bool now) {
  if (!inside()) return;
  const bool half = now_->r.desc().precision == Precision::Half;
  if (!now && (!half || ++iterations_in_group_ < iterations_of_half_group)) return;
  iterations_in_group_ = 0;
  for (std::size_t k = 0; k < further_.size(); ++k) {
    now_->a.leave(with_.work_, with_.gathered_[k]);
    blas::axpy(1, with_.work_, *x_[k + 1]);
    blas::zero(with_.gathered_[k]);
  }
}

SolveReport ShiftedCg::Search::run() {
  blas::zero(*x_[0]);
  begin();
  while (monitor_.running() && step()) {
    const bool updated = update();
    gather_further(updated);
    if (!monitor_.running()) break;
    new_directions(updated);
    if (with_.inner_ && !inside() && may_enter()) enter();
  }
  take_steps();
  gather_further(true);
  monitor_.count_flops(outer_applications_ * with_.outer_.a.flops());
  if (inside()) return with_.solution_.finish(monitor_, *x_[0], b_, inner_applications_);
  SolveReport report = monitor_.finish(with_.true_residual(*x_[0], b_, now_->a.shift()));
  report.outer_form = with_.outer_.a.form_name();
  return report;
}

double ShiftedCg::true_residual(const Field& x, const Field& b, double shift) {
  outer_.a.set_shift(shift);
  outer_.a.apply(work_, x, Dagger::No);
  return std::sqrt(blas::subtract_norm2(b, work_));
}

void ShiftedCg::refine(Report& report, std::size_t k, Field& x, const Field& b, const Shift& shift,
                       int max_iterations) {
  SolveReport& of_shift = report.shifts[k];
  double residual = true_residual(x, b, shift.value);
  const std::vector<Field*> correction = {&correction_};
  for (int tries = 0; residual > shift.target && tries < most_refinements && report.iterations < max_iterations;
       ++tries) {
    blas::copy(rest_, work_);
    if (inner_) inner_->a.set_shift(shift.value);
    const SolveReport refined = Search(*this, correction, rest_, {shift}, max_iterations - report.iterations).run();
    report.iterations += refined.iterations;
    report.refining[k] += refined.iterations;
    of_shift.reliable_updates += refined.reliable_updates;
    of_shift.flops += refined.flops;
    of_shift.seconds += refined.seconds;
    if (!(refined.residual < residual)) {
      of_shift.stop_reason = refined.stop_reason;
      of_shift.message = refined.message;
      break;
    }
    blas::axpy(1, correction_, x);
    residual = true_residual(x, b, shift.value);
  }
  of_shift.residual = residual;
  of_shift.converged = residual <= shift.target;
  if (of_shift.converged) {
    of_shift.stop_reason = StopReason::converged;
    of_shift.message.clear();
  } else if (of_shift.stop_reason == StopReason::converged) {  // of the smallest shift
    of_shift.stop_reason = StopReason::stagnated;
    of_shift.message = stagnated_text(residual, of_shift.iterations + report.refining[k],
                                      "refinement did not bring the true residual to its target");
  }
}

ShiftedCg::Report ShiftedCg::solve(std::vector<Field>& x, const Field& b, const std::vector<Shift>& shifts,
                                   int max_iterations) {
  std::vector<double> values;
  for (const Shift& shift : shifts) values.push_back(shift.value);
  check_shifts(values);
  if (x.size() != shifts.size() || shifts.empty() || shifts.size() > outer_.further.size() + 1) {
    throw Error(ErrorCode::internal, "shifted CG: fields and shifts do not match");
  }
  std::vector<Field*> fields;
  for (Field& field : x) fields.push_back(&field);
  outer_.a.set_shift(shifts[0].value);
  if (inner_) inner_->a.set_shift(shifts[0].value);
  Search search(*this, fields, b, shifts, max_iterations);
  Report report;
  report.refining.assign(shifts.size(), 0);
  report.shifts.assign(shifts.size(), {});
  report.shifts[0] = search.run();
  const SolveReport& first = report.shifts[0];
  report.iterations = first.iterations;
  report.outer_iterations = search.outer_iterations();
  for (std::size_t k = 1; k < shifts.size(); ++k) {
    SolveReport& of_shift = report.shifts[k];
    of_shift.outer_form = first.outer_form;
    of_shift.inner_form = first.inner_form;
    of_shift.stop_reason = first.stop_reason;
    of_shift.message = first.message;
    of_shift.iterations = search.iterations(k - 1);
    refine(report, k, x[k], b, shifts[k], max_iterations);
  }
  for (const SolveReport& of_shift : report.shifts) report.converged = report.converged && of_shift.converged;
  return report;
}

}  // namespace quadrille
