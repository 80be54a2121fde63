#include "solvers/methods/groupwise.h"

#include "core/blas/blas.h"
#include "solvers/monitor.h"

#include <cmath>

namespace quadrille {

GroupwiseSolution::GroupwiseSolution(const LinearOperator& outer, const LinearOperator* inner, bool updates)
    : outer_(outer), inner_(inner == &outer ? nullptr : inner), work_(outer.field_desc()) {
  if (!inner_ && !updates) return;
  partial_.emplace(iterating().field_desc());
  gathered_.emplace(outer.field_desc());
  residual_.emplace(outer.field_desc());
}

double GroupwiseSolution::start(Field& x, const Field& b, Field& r) {
  require_same(x.desc(), outer_.field_desc(), "the solution and the outer operator");
  require_same(b.desc(), outer_.field_desc(), "the right-hand side and the outer operator");
  outer_applications_ = 0;
  blas::zero(x);
  return go_on(b, r);
}

double GroupwiseSolution::go_on(const Field& residual, Field& r) {
  iterations_in_group_ = 0;
  if (partial_) {
    blas::zero(*partial_);
    blas::zero(*gathered_);
    blas::copy(*residual_, residual);
  }
  if (inner_) {
    inner_->enter(r, residual);
  } else {
    blas::copy(r, residual);
  }
  const double r2 = blas::norm2(residual);
  known_residual_ = std::sqrt(r2);
  residual_computed_ = true;
  return r2;
}

void GroupwiseSolution::gather() {
  if (partial_ && partial_->desc().precision == Precision::Half && ++iterations_in_group_ == iterations_of_half_group)
    end_group();
}

void GroupwiseSolution::end_group() {
  iterations_in_group_ = 0;
  if (inner_) {
    inner_->leave(work_, *partial_);
    blas::axpy(1, work_, *gathered_);
  } else {
    blas::axpy(1, *partial_, *gathered_);
  }
  blas::zero(*partial_);
}

double GroupwiseSolution::true_residual(const Field& x, const Field& b) {
  ++outer_applications_;
  outer_.apply(work_, x, Dagger::No);                // work = A x
  const double r2 = blas::subtract_norm2(b, work_);  // work = b - work
  known_residual_ = std::sqrt(r2);
  residual_computed_ = true;
  return r2;
}

double GroupwiseSolution::update(Field& x, const Field& b, Field& r, double target) {
  end_group();
  blas::axpy(1, *gathered_, x);  // x += d
  ++outer_applications_;
  outer_.apply(work_, *gathered_, Dagger::No);          // work = A d
  double r2 = blas::axpy_norm2(-1, work_, *residual_);  // r' -= work
  blas::zero(*gathered_);                               // d = 0
  known_residual_ = std::sqrt(r2);
  residual_computed_ = false;
  if (known_residual_ <= target) {
    r2 = true_residual(x, b);
    blas::copy(*residual_, work_);  // r' = b - A x
  }
  if (inner_) {
    inner_->enter(r, *residual_);
  } else {
    blas::copy(r, *residual_);
  }
  return r2;
}

SolveReport GroupwiseSolution::finish(Monitor& monitor, Field& x, const Field& b, double applications) {
  if (!monitor.update_was_last()) {
    if (partial_ && !monitor.failed()) {
      end_group();
      blas::axpy(1, *gathered_, x);
    }
    residual_computed_ = false;
  }
  if (!residual_computed_) true_residual(x, b);
  monitor.count_flops(applications * iterating().flops() + outer_applications_ * outer_.flops());
  SolveReport report = monitor.finish(known_residual_);
  report.outer_form = outer_.form_name();
  if (inner_) report.inner_form = inner_->form_name();
  return report;
}

}  // namespace quadrille
