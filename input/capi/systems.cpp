#include "input/capi/systems.h"

#include "core/blas/blas.h"
#include "core/field/convert.h"
#include "dirac/systems/adjoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::capi {
namespace {

using Start = SystemSolver::Start;

void clear_others(const SystemChoice& choice, Field& full) {
  if (!choice.even_odd) return;
  Field rest = full.parity(opposite(parity_of(choice.subset)));
  blas::zero(rest);
}

/// (A - H A^-1 H) x on the parity of y, or its adjoint.
void apply_even_odd(const DiracOperator& dirac, Field& y, const Field& x, Field& scratch, Dagger dagger) {
  Field between = scratch.parity(opposite(parity_of(y.desc().subset)));
  dirac.inverse_diagonal_hop(between, x, dagger);
  dirac.diagonal_minus_hop(y, x, between, dagger);
}

/// What both solves of a normal equation did.
SolveReport sum(const SolveReport& first, const SolveReport& then) {
  SolveReport out = then;
  out.iterations += first.iterations;
  out.reliable_updates += first.reliable_updates;
  out.restarts += first.restarts;
  out.seconds += first.seconds;
  out.flops += first.flops;
  return out;
}

}  // namespace

void apply(const DiracOperator& dirac, const SystemChoice& choice, Field& y, const Field& x, Field& scratch,
           Field& scratch2) {
  const auto once = [&](Field& to, const Field& from, Dagger dagger) {
    if (choice.even_odd) {
      apply_even_odd(dirac, to, from, scratch, dagger);
    } else {
      dirac.apply(to, from, dagger);
    }
  };
  if (!choice.normal) return once(y, x, choice.adjoint ? Dagger::Yes : Dagger::No);
  if (choice.even_odd) {
    Field between = scratch2.parity(parity_of(choice.subset));
    once(between, x, Dagger::No);
    once(y, between, Dagger::Yes);
  } else {
    once(scratch2, x, Dagger::No);
    once(y, scratch2, Dagger::Yes);
  }
}

Systems::Systems(std::shared_ptr<const DiracOperator> dirac, const SolverSpec& spec)
    : dirac_(std::move(dirac)), spec_(spec) {
  (void)one({}, false);
}

EvenOddForm Systems::form_of(const SystemChoice& choice) const {
  EvenOddForm form = resolved(spec_.preconditioning, *dirac_);
  if (choice.even_odd) form.kept = parity_of(choice.subset);
  if (at_once(choice)) form.kind = EvenOddForm::Kind::asymmetric;
  return form;
}

Systems::One& Systems::one(const SystemChoice& choice, bool of_adjoint) {
  SolverSpec spec = spec_;
  spec.preconditioning = form_of(choice);
  std::unique_ptr<One>& made = ones_[of_adjoint][int(spec.preconditioning.kept)];
  if (!made) made = std::make_unique<One>(of_adjoint ? std::make_shared<AdjointOperator>(dirac_) : dirac_, spec);
  return *made;
}

SolveReport Systems::solve_one(const SystemChoice& choice, bool of_adjoint, Field& x, const Field& b, Start start,
                               double tolerance) {
  SystemSolver& solver = one(choice, of_adjoint).solver;
  solver.set_tolerance(tolerance);
  solver.set_progress(progress_);
  return solver.solve(x, b, start);
}

void Systems::begin(const SystemChoice& choice, Field& x, Field& b, Start start) const {
  clear_others(choice, b);
  if (choice.normal || !choice.even_odd || start == Start::zero) return;
  const Parity here = parity_of(choice.subset);
  Field rest = x.parity(opposite(here));
  dirac_->inverse_diagonal_hop(rest, x.parity(here), choice.adjoint ? Dagger::Yes : Dagger::No);
  blas::scale(-1, rest);
}

SolveReport Systems::solve(const SystemChoice& choice, Field& x, Field& b, Start start) {
  begin(choice, x, b, start);
  if (choice.normal) return solve_normal(choice, x, b, start);
  return solve_one(choice, choice.adjoint, x, b, start, spec_.tolerance);
}

std::vector<SolveReport> Systems::solve(const SystemChoice& choice, std::span<Field> x, std::span<Field> b,
                                        Start start) {
  std::vector<SolveReport> reports;
  SystemSolver* const solver = solver_of_many(choice);
  if (solver == nullptr || x.size() == 1) {
    for (std::size_t k = 0; k < x.size(); ++k) reports.push_back(solve(choice, x[k], b[k], start));
    return reports;
  }
  std::vector<Field*> solutions;
  std::vector<const Field*> rhs;
  for (std::size_t k = 0; k < x.size(); ++k) {
    begin(choice, x[k], b[k], start);
    solutions.push_back(&x[k]);
    rhs.push_back(&b[k]);
  }
  solver->set_tolerance(spec_.tolerance);
  solver->set_progress(progress_);
  return solver->solve(solutions, rhs, start);
}

Systems::Residual& Systems::residual_like(const Field& x) {
  if (!residual_) residual_ = std::make_unique<Residual>(x.desc());
  return *residual_;
}

Systems::Normal& Systems::normal_like(const Field& x) {
  if (!normal_) normal_ = std::make_unique<Normal>(x.desc());
  return *normal_;
}

double Systems::true_residual(const SystemChoice& choice, const Field& x, const Field& b) {
  Residual& f = residual_like(x);
  blas::zero(f.value);
  const auto subtract = [&](Field& r, const Field& from, const Field& rhs) {
    apply(*dirac_, choice, r, from, f.scratch, f.scratch2);
    return std::sqrt(blas::subtract_norm2(rhs, r));
  };
  if (!choice.even_odd) return subtract(f.value, x, b);
  const Parity here = parity_of(choice.subset);
  Field r = f.value.parity(here);
  return subtract(r, x.parity(here), b.parity(here));
}

bool Systems::at_once(const SystemChoice& choice) const {
  return choice.normal && choice.even_odd && spec_.type == "cg" && spec_.scheme != Scheme::defect;
}

SolveReport Systems::solve_normal(const SystemChoice& choice, Field& x, Field& b, Start start) {
  Field& r = residual_like(x).value;
  const double b_norm = norm_of_rhs(b, spec_.tolerance, r), target = spec_.tolerance * b_norm;
  if (start == Start::zero) blas::zero(x);
  double residual = start == Start::zero ? (blas::copy(r, b), b_norm) : true_residual(choice, x, b);
  if (!std::isfinite(residual)) throw Error(ErrorCode::numerical, "the initial guess of a solve is not finite");
  SolveReport report;
  report.stop_reason = StopReason::converged;
  if (residual > target) {
    report = at_once(choice) ? correct_at_once(choice, x, b, target, residual)
                             : correct_in_two(choice, x, b, target, residual);
  }
  conclude(report, residual, b_norm);
  return report;
}

// A correction e with M^+ y = r, M e = y, in which each solve leaves half of what is allowed.
SolveReport Systems::correct_in_two(const SystemChoice& choice, Field& x, const Field& b, double target,
                                    double& residual) {
  Normal& f = normal_like(x);
  SolveReport report = solve_one(choice, true, f.y, residual_->value, Start::zero, 0.5 * target / residual);
  clear_others(choice, f.y);
  double tolerance = 0.5 * target / residual;
  blas::copy(f.guess, x);
  for (Start go_on = Start::zero; report.converged; go_on = Start::given) {
    report = sum(report, solve_one(choice, false, f.correction, f.y, go_on, tolerance));
    blas::copy(x, f.guess);
    blas::axpy(1, f.correction, x);
    residual = true_residual(choice, x, b);
    if (residual <= target) break;
    tolerance *= std::min(0.5, 0.5 * target / residual);
  }
  return report;
}

// One more correction where rounding, or an outer precision below double, has left too much.
SolveReport Systems::correct_at_once(const SystemChoice& choice, Field& x, const Field& b, double target,
                                     double& residual) {
  const Parity here = parity_of(choice.subset);
  std::unique_ptr<AtOnce>& made = at_once_[int(here)];
  if (!made) made = std::make_unique<AtOnce>(EvenOddSystem(dirac_, form_of(choice)), spec_);
  made->solver.set_progress(progress_);
  Field solution = x.parity(here), correction(solution.desc());
  SolveReport report;
  for (bool first = true; first || (report.converged && residual > target); first = false) {
    convert(made->b, residual_->value.parity(here));
    made->solver.set_tolerance(target / residual);
    const SolveReport next = made->solver.solve(made->x, made->b).shifts[0];
    report = first ? next : sum(report, next);
    convert(correction, made->x[0]);
    blas::axpy(1, correction, solution);
    const double before = residual;
    residual = true_residual(choice, x, b);
    if (residual > 0.5 * before) break;
  }
  return report;
}

void Systems::conclude(SolveReport& report, double residual, double b_norm) const {
  report.residual = b_norm > 0 ? residual / b_norm : 0;
  report.converged = residual <= spec_.tolerance * b_norm;
  if (report.converged) {
    report.stop_reason = StopReason::converged;
    report.message.clear();
  } else if (report.message.empty()) {
    report.stop_reason = StopReason::stagnated;
    report.message =
        fmt::format("the residual of the system is {:.3g}; the tolerance is {:.3g}", report.residual, spec_.tolerance);
  }
}

}  // namespace quadrille::capi
