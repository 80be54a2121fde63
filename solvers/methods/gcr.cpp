// GCR with restarts for a general A, with a preconditioner K that may be another one in each iteration: S. C.
// Eisenstat, H. C. Elman and M. H. Schultz, SIAM J. Numer. Anal. 20 (1983) 345; flexible: C. Vuik, J. Comput. Appl.
// Math. 61 (1995) 189. |r| never grows.
//
// p_k = K r, q_k = A p_k - sum_j beta_jk q_j orthogonal to the q_j before, r -= alpha_k q_k. The p_k stay as they are:
// what the solution gains, sum_k chi_k p_k with alpha = U chi, U = 1 + beta, is added when it is asked for: at a
// reliable update and when the space is left.
//
// A reliable update keeps the space. The gain is added, and alpha = 0 from there. What rounding has left of the q_j in
// the true residual is taken out of it, with new alpha_j.
//
// Fields: p_k, q_k for restart_length directions, r and the partial solution in the inner format; x and one workspace
// in the outer one. Traffic of iteration k beside A and K, for k directions before it: the copy of r, 1 read, 1
// written; inner products, 5/4 k read; orthogonal q, 5/4 k read, k/4 written; <q, r>, |q|^2: 2 read; r with |r|^2: 2
// read, 1 written; x: 5/4 read.
#include "core/blas/blas.h"
#include "solvers/methods/groupwise.h"
#include "solvers/methods/methods.h"
#include "solvers/methods/patience.h"
#include "solvers/methods/workspace.h"
#include "solvers/monitor.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace quadrille {

namespace {

using blas::Complex;

/// Of |A p|, what is left of a vector in the span of others after it was made orthogonal to them.
double vanishing_direction(Precision precision) { return std::max(1e-14, rounding_unit(precision)); }

class Gcr final : public Solver {
 public:
  Gcr(const SolverParts& parts, int restart_length)
      : delta_(parts.delta),
        solution_(parts.outer, parts.inner, parts.delta > 0),
        a_(solution_.iterating()),
        k_(parts.preconditioner),
        vanishing_(vanishing_direction(a_.field_desc().precision)),
        length_(std::size_t(restart_length)),
        p_(a_.field_desc(), length_),
        q_(a_.field_desc(), length_),
        r_(a_.field_desc()),
        q2_(length_),
        alpha_(length_),
        coefficients_(length_),
        beta_(length_ * length_) {}

  SolveReport solve(Field& x, const Field& b, const Stopping& stopping) override;

 private:
  /// p_k and q_k of the next direction. False when there is none.
  bool next_direction(Monitor& monitor);
  /// alpha_k, and the new r.
  bool step(Monitor& monitor);
  /// y += sum_k chi_k p_k, what the solution has gained since the last time.
  void add_gain(Field& y);
  /// r without its part in the span of the q_k, for a new r.
  void make_residual_orthogonal();
  Complex& beta(std::size_t j, std::size_t k) { return beta_[j * length_ + k]; }

  double delta_;
  GroupwiseSolution solution_;
  const LinearOperator& a_;
  std::shared_ptr<const LinearOperator> k_;
  double vanishing_;
  std::size_t length_, count_ = 0;  // directions there may be, and there are
  Workspace p_, q_;
  Field r_;
  std::vector<double> q2_;
  std::vector<Complex> alpha_, coefficients_, beta_;
  double r2_ = 0, applications_ = 0, preconditioner_flops_ = 0;
};

bool Gcr::next_direction(Monitor& monitor) {
  Field &p = p_[count_], &q = q_[count_];
  if (k_) {
    k_->apply(p, r_, Dagger::No);
    preconditioner_flops_ += k_->flops();  // of this application: an incomplete solve takes what it needs
  } else {
    blas::copy(p, r_);
  }
  a_.apply(q, p, Dagger::No);
  ++applications_;
  const std::span<const Field* const> before = std::span(q_.pointers()).first(count_);
  blas::dots(before, q, coefficients_.data());
  double taken = 0;  // of |A p|^2
  for (std::size_t j = 0; j < count_; ++j) {
    coefficients_[j] /= q2_[j];
    beta(j, count_) = coefficients_[j];
    taken += std::norm(coefficients_[j]) * q2_[j];
    coefficients_[j] = -coefficients_[j];
  }
  blas::caxpys(std::span(coefficients_).first(count_), before, q);
  const blas::DotNorm2 sums = blas::dot_norm2(q, r_);
  q2_[count_] = sums.norm2;
  alpha_[count_] = sums.dot / sums.norm2;
  return monitor.usable(sums.norm2, vanishing_ * vanishing_ * (taken + sums.norm2),
                        k_ ? "|A K r|^2, K the preconditioner," : "|A r|^2") &&
         monitor.usable(std::abs(sums.dot), 0, "<q, r>");
}

bool Gcr::step(Monitor& monitor) {
  r2_ = blas::caxpy_norm2(-alpha_[count_], q_[count_], r_);
  ++count_;
  monitor.iterated(std::sqrt(r2_));
  return !monitor.failed();
}

void Gcr::add_gain(Field& y) {
  for (std::size_t k = count_; k-- > 0;) {  // alpha = (1 + beta) chi
    coefficients_[k] = alpha_[k];
    for (std::size_t l = k + 1; l < count_; ++l) coefficients_[k] -= beta(k, l) * coefficients_[l];
  }
  blas::caxpys(std::span(coefficients_).first(count_), std::span(p_.pointers()).first(count_), y);
  std::fill_n(alpha_.begin(), count_, Complex(0));
  solution_.gather();
}

void Gcr::make_residual_orthogonal() {
  const std::span<const Field* const> all = std::span(q_.pointers()).first(count_);
  blas::dots(all, r_, coefficients_.data());
  for (std::size_t k = 0; k < count_; ++k) {
    alpha_[k] = coefficients_[k] / q2_[k];
    coefficients_[k] = -alpha_[k];
  }
  blas::caxpys(std::span(coefficients_).first(count_), all, r_);
}

SolveReport Gcr::solve(Field& x, const Field& b, const Stopping& stopping) {
  Monitor monitor(k_ ? "preconditioned GCR" : "GCR", stopping, delta_, a_.field_desc().precision, progress_);
  monitor.expect_progress(patience(a_.field_desc()));
  applications_ = preconditioner_flops_ = 0;
  count_ = 0;
  Field& y = solution_.target(x);
  r2_ = solution_.start(x, b, r_);  // x = 0, r = b
  monitor.start(std::sqrt(r2_));
  while (monitor.running()) {
    const bool broken = !next_direction(monitor);
    if (monitor.running() && !broken && !step(monitor)) break;
    if (!monitor.running() && monitor.failed()) break;
    bool leaves_space = broken || count_ == length_;
    if (!leaves_space && monitor.running() && !monitor.update_due()) continue;
    add_gain(y);
    if (monitor.update_due()) {
      r2_ = solution_.update(x, b, r_, monitor.target());  // x += y, y = 0, r = the true residual
      monitor.updated(std::sqrt(r2_));
      leaves_space = leaves_space || monitor.lost_touch();
      if (monitor.running() && !leaves_space) make_residual_orthogonal();
    }
    if (!monitor.running()) break;
    if (!leaves_space) continue;
    count_ = 0;
    if (!broken || monitor.may_begin_anew()) monitor.began_anew();
  }
  SolveReport report = solution_.finish(monitor, x, b, applications_);
  report.flops += preconditioner_flops_;
  return report;
}

}  // namespace

std::unique_ptr<Solver> make_gcr(const SolverParts& parts, int restart_length) {
  return std::make_unique<Gcr>(parts, restart_length);
}

}  // namespace quadrille
