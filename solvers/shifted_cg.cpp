#include "solvers/shifted_cg.h"

#include "core/error.h"
#include "solvers/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille {

namespace {

// Of a further shift's target: its residual is known by recurrence until the end.
constexpr double margin_of_recurrence = 0.8;
constexpr int most_refinements = 4;

void require_ascending(const std::vector<ShiftedCg::Shift>& shifts) {
  for (std::size_t k = 0; k < shifts.size(); ++k) {
    if (!(shifts[k].value >= 0)) {
      throw Error(ErrorCode::invalid_input, fmt::format("shift {} is {}: shifts are not negative", k, shifts[k].value));
    }
    if (k > 0 && !(shifts[k].value > shifts[k - 1].value)) {
      throw Error(ErrorCode::invalid_input, fmt::format("shift {} is {} after {}: give shifts in ascending order", k,
                                                        shifts[k].value, shifts[k - 1].value));
    }
  }
}

}  // namespace

ShiftedCg::Further::Further(const LinearOperator& iterating, bool inner) : p(iterating.field_desc()) {
  if (inner) gathered.emplace(iterating.field_desc());
}

ShiftedCg::ShiftedCg(const LinearOperator& outer, const LinearOperator* inner, double delta, std::size_t shifts)
    : outer_(outer),
      inner_(inner ? std::optional<ShiftedOperator>(*inner) : std::nullopt),
      delta_(delta),
      solution_(outer_, inner_ ? &*inner_ : nullptr, delta > 0),
      a_(solution_.iterating()),
      p_(a_.field_desc()),
      q_(a_.field_desc()),
      r_(a_.field_desc()),
      work_(outer.field_desc()),
      rest_(outer.field_desc()),
      correction_(outer.field_desc()) {
  for (std::size_t k = 1; k < shifts; ++k) further_.push_back(std::make_unique<Further>(a_, inner != nullptr));
}

ShiftedCg::~ShiftedCg() = default;

void ShiftedCg::begin_further(const std::vector<Field*>& fields, const std::vector<Shift>& shifts) {
  taking_part_ = shifts.size() - 1;
  for (std::size_t k = 0; k < taking_part_; ++k) {
    Further& f = *further_[k];
    f.distance = shifts[k + 1].value - shifts[0].value;
    f.target = shifts[k + 1].target;
    f.zeta = f.zeta_before = f.zeta_next = 1;
    f.active = true;
    f.iterations = 0;
    blas::zero(*fields[k + 1]);
    if (f.gathered) blas::zero(*f.gathered);
    blas::copy(f.p, r_);
  }
}

// zeta' = zeta zeta_ alpha_ / (alpha beta (zeta_ - zeta) + zeta_ alpha_ (1 + distance alpha)), what ends in _ of the
// iteration before; x_k += alpha zeta' p_k with p_k in units of zeta.
void ShiftedCg::step_further(const std::vector<Field*>& fields, double alpha, double residual) {
  for (std::size_t k = 0; k < taking_part_; ++k) {
    Further& f = *further_[k];
    if (!f.active) continue;
    const double before = f.zeta_before * alpha_before_;
    f.zeta_next = f.zeta * before / (alpha * beta_ * (f.zeta_before - f.zeta) + before * (1 + f.distance * alpha));
    blas::axpy(alpha * f.zeta_next, f.p, f.gathered ? *f.gathered : *fields[k + 1]);
    ++f.iterations;
    f.active = f.zeta_next * residual > margin_of_recurrence * f.target && f.zeta_next != 0;
  }
}

void ShiftedCg::turn_further(double beta) {
  for (std::size_t k = 0; k < taking_part_; ++k) {
    Further& f = *further_[k];
    if (!f.active) continue;
    blas::xpay(r_, beta * f.zeta_next / f.zeta, f.p);
    f.zeta_before = f.zeta;
    f.zeta = f.zeta_next;
  }
}

void ShiftedCg::gather_further(const std::vector<Field*>& fields, bool now) {
  if (!inner_) return;
  const bool half = a_.field_desc().precision == Precision::Half;
  if (!now && (!half || ++iterations_in_group_ < iterations_of_half_group)) return;
  iterations_in_group_ = 0;
  for (std::size_t k = 0; k < taking_part_; ++k) {
    inner_->leave(work_, *further_[k]->gathered);
    blas::axpy(1, work_, *fields[k + 1]);
    blas::zero(*further_[k]->gathered);
  }
}

void ShiftedCg::begin_anew(double r2) {
  blas::copy(p_, r_);
  gain_.begin(r2);
  alpha_before_ = 1;
  beta_ = 0;
  for (std::size_t k = 0; k < taking_part_; ++k) {
    Further& f = *further_[k];
    f.zeta_before = f.zeta = f.zeta_next;
    blas::copy(f.p, r_);
  }
}

SolveReport ShiftedCg::search(const std::vector<Field*>& fields, const Field& b, const std::vector<Shift>& shifts,
                              const Stopping& stopping) {
  outer_.set_shift(shifts[0].value);
  if (inner_) inner_->set_shift(shifts[0].value);
  Monitor monitor("CG", stopping, delta_, a_.field_desc().precision, progress_);
  Field& x = *fields[0];
  double r2 = solution_.start(x, b, r_), applications = 0, largest = 0;
  monitor.start(std::sqrt(r2));
  begin_further(fields, shifts);
  iterations_in_group_ = 0;
  begin_anew(r2);
  double p2 = r2;
  while (monitor.running()) {
    a_.apply(q_, p_, Dagger::No);
    ++applications;
    const double pq = blas::dot(p_, q_).real();
    if (!monitor.usable(pq, 0, "<p, A p>") || pq < 0) {
      if (pq < 0) monitor.stop_stagnated("<p, A p> is negative: the operator is not positive");
      monitor.stop_broken();
      break;
    }
    largest = std::max(largest, pq / p2);  // of |A|
    const double alpha = r2 / pq;
    double next = blas::axpy_norm2(-alpha, q_, r_);
    step_further(fields, alpha, std::sqrt(next));
    blas::axpy(alpha, p_, solution_.target(x));
    gain_.step(alpha);
    monitor.iterated(std::sqrt(next), largest * gain_.norm());
    const bool update = monitor.update_due();
    if (update) {
      next = solution_.update(x, b, r_, monitor.target());
      monitor.updated(std::sqrt(next));
      gain_.reset();
    } else {
      solution_.gather();
    }
    gather_further(fields, update);
    if (!monitor.running()) break;
    if (update && monitor.lost_touch()) {
      begin_anew(next);
      monitor.began_anew();
      p2 = next;
    } else {
      const double beta = next / r2;
      if (update) blas::caxpy(-blas::dot(r_, p_) / next, r_, p_);  // as solvers/cg.cpp: p is orthogonal to r
      turn_further(beta);
      blas::xpay(r_, beta, p_);
      gain_.new_direction(next, beta);
      alpha_before_ = alpha;
      beta_ = beta;
      p2 = next + beta * beta * p2;
    }
    r2 = next;
  }
  gather_further(fields, true);
  return solution_.finish(monitor, x, b, applications);
}

double ShiftedCg::true_residual(const Field& x, const Field& b, double shift) {
  outer_.set_shift(shift);
  outer_.apply(work_, x, Dagger::No);
  return std::sqrt(blas::subtract_norm2(b, work_));
}

ShiftedCg::Report ShiftedCg::solve(std::vector<Field>& x, const Field& b, const std::vector<Shift>& shifts,
                                   int max_iterations) {
  require_ascending(shifts);
  if (x.size() != shifts.size() || shifts.empty() || shifts.size() > further_.size() + 1) {
    throw Error(ErrorCode::internal, "shifted CG: fields and shifts do not match");
  }
  std::vector<Field*> fields;
  for (Field& field : x) fields.push_back(&field);
  Report report;
  report.refining.assign(shifts.size(), 0);
  SolveReport first = search(fields, b, shifts, {shifts[0].target, max_iterations});
  report.iterations = first.iterations;
  report.shifts.push_back(first);
  for (std::size_t k = 1; k < shifts.size(); ++k) {
    SolveReport of_shift;
    of_shift.outer_form = first.outer_form;
    of_shift.inner_form = first.inner_form;
    of_shift.stop_reason = first.stop_reason;
    of_shift.message = first.message;
    of_shift.iterations = further_[k - 1]->iterations;
    report.shifts.push_back(std::move(of_shift));
  }
  for (std::size_t k = 1; k < shifts.size(); ++k) {
    SolveReport& of_shift = report.shifts[k];
    const Shift& shift = shifts[k];
    double residual = true_residual(x[k], b, shift.value);
    for (int tries = 0; residual > shift.target && tries < most_refinements && report.iterations < max_iterations;
         ++tries) {
      blas::copy(rest_, work_);
      const SolveReport refined =
          search({&correction_}, rest_, {shift}, {shift.target, max_iterations - report.iterations});
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
      blas::axpy(1, correction_, x[k]);
      residual = true_residual(x[k], b, shift.value);
    }
    of_shift.residual = residual;
    of_shift.converged = residual <= shift.target;
    if (of_shift.converged) {
      of_shift.stop_reason = StopReason::converged;
      of_shift.message.clear();
    }
  }
  for (const SolveReport& of_shift : report.shifts) report.converged = report.converged && of_shift.converged;
  return report;
}

}  // namespace quadrille
