// BiCGstab(L) for a general A: G. L. G. Sleijpen and D. R. Fokkema, Electron. Trans. Numer. Anal. 1 (1993) 11. After L
// steps of BiCG a polynomial of degree L in A minimises |r|, where BiCGstab has L factors of degree 1: those follow
// eigenvalues with large imaginary parts badly.
//
// The polynomial is a combination of the minimal ones without its first and without its last term; the angle between
// these is never taken as wider than 45 degrees, so that <r0, r> keeps its digits: G. L. G. Sleijpen and H. A. van der
// Vorst, Numer. Algorithms 10 (1995) 203.
//
// An iteration is a step of BiCG with its share of the polynomial: two operator applications, as one of BiCGstab. A
// sweep of L iterations ends with the only |r| that is known.
//
// Fields: r_0 to r_L, u_0 to u_L, r0 and the partial solution in the inner format; x and one workspace in the outer
// one. Traffic of an iteration beside the operators, L = 2: 21 fields read, 5.5 written.
#include "core/blas/blas.h"
#include "solvers/methods/groupwise.h"
#include "solvers/methods/methods.h"
#include "solvers/methods/patience.h"
#include "solvers/methods/search_pace.h"
#include "solvers/methods/workspace.h"
#include "solvers/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace quadrille {

namespace {

using blas::Complex;

constexpr std::size_t most_l = 8;

/// Inner products <r_i, r_j> of what a sweep has made.
using Gram = std::array<std::array<Complex, most_l + 1>, most_l + 1>;
/// Of r_0 to r_L.
using Combination = std::array<Complex, most_l + 1>;

/// <c, d> of two combinations of r_0 to r_degree.
Complex product(const Gram& gram, std::size_t degree, const Combination& c, const Combination& d) {
  Complex sum = 0;
  for (std::size_t i = 0; i <= degree; ++i) {
    for (std::size_t j = 0; j <= degree; ++j) sum += std::conj(c[i]) * gram[i][j] * d[j];
  }
  return sum;
}

/// The smallest r_end + sum over 0 < i < degree of c_i r_i, by elimination: the matrix is positive.
Combination smallest(Gram gram, std::size_t degree, std::size_t end) {
  Combination c{};
  for (std::size_t i = 1; i < degree; ++i) c[i] = -gram[i][end];
  for (std::size_t k = 1; k < degree; ++k) {
    for (std::size_t i = k + 1; i < degree; ++i) {
      const Complex factor = gram[i][k] / gram[k][k];
      for (std::size_t j = k; j < degree; ++j) gram[i][j] -= factor * gram[k][j];
      c[i] -= factor * c[k];
    }
  }
  for (std::size_t k = degree; k-- > 1;) {
    for (std::size_t j = k + 1; j < degree; ++j) c[k] -= gram[k][j] * c[j];
    c[k] /= gram[k][k];
  }
  c[end] = 1;
  return c;
}

/// What becomes of r_0: r_0 + sum over i of c_i r_i.
Combination new_residual(const Gram& gram, std::size_t degree) {
  constexpr double least_cosine = 0.7;
  Combination c = smallest(gram, degree, 0);
  const Combination last = smallest(gram, degree, degree);
  const double norm = std::sqrt(product(gram, degree, c, c).real());
  const double norm_last = std::sqrt(product(gram, degree, last, last).real());
  const Complex overlap = product(gram, degree, last, c) / (norm * norm_last);
  const double cosine = std::abs(overlap);
  const Complex factor = -overlap / cosine * std::max(cosine, least_cosine) * norm / norm_last;
  for (std::size_t i = 1; i <= degree; ++i) c[i] += factor * last[i];
  return c;
}

class BiCGstabL final : public Solver {
 public:
  BiCGstabL(const SolverParts& parts, int l)
      : solution_(parts.outer, parts.inner, parts.delta > 0),
        a_(solution_.iterating()),
        name_(fmt::format("BiCGstab({})", l)),
        delta_(bicgstab_delta(parts.delta, a_.field_desc().precision)),
        vanishing_(std::max(1e-15, 1e-3 * rounding_unit(a_.field_desc().precision))),
        l_(std::size_t(l)),
        r_(a_.field_desc(), l_ + 1),
        u_(a_.field_desc(), l_ + 1),
        r0_(a_.field_desc()) {}

  SolveReport solve(Field& x, const Field& b, const Stopping& stopping) override;

 private:
  /// A Krylov space: r0 = r_0, u_0 = 0.
  void begin();
  /// Step j of BiCG: y and r_0 to r_j take it, u_j+1 and r_j+1 are made. False when it broke down.
  bool bicg_step(Monitor& monitor, Field& y, std::size_t j);
  /// The polynomial of this degree: y, r_0, u_0. False when it broke down.
  bool minimize(Monitor& monitor, Field& y, std::size_t degree);
  /// After `iterations` more: puts a true residual in place of r_0 where that is due, and decides how to go on.
  void judge(Monitor& monitor, Field& x, const Field& b, std::size_t iterations, bool broken);

  GroupwiseSolution solution_;
  const LinearOperator& a_;
  std::string name_;
  double delta_, vanishing_;
  std::size_t l_;
  Workspace r_, u_;
  Field r0_;
  SearchPace pace_;
  Complex rho_, alpha_, omega_;
  double r2_ = 0, r0_norm_ = 0, applications_ = 0;
};

void BiCGstabL::begin() {
  blas::copy(r0_, r_[0]);
  blas::zero(u_[0]);
  rho_ = omega_ = 1;
  alpha_ = 0;
  r0_norm_ = std::sqrt(r2_);
  pace_.begin(r0_norm_);
}

bool BiCGstabL::bicg_step(Monitor& monitor, Field& y, std::size_t j) {
  const Complex rho = blas::dot(r0_, r_[j]);
  if (!monitor.usable(std::abs(rho), 0, "<r0, r>")) return false;
  const Complex beta = alpha_ * rho / rho_;
  rho_ = rho;
  for (std::size_t i = 0; i <= j; ++i) blas::cxpay(r_[i], -beta, u_[i]);  // u = r - beta u
  a_.apply(u_[j + 1], u_[j], Dagger::No);
  ++applications_;
  const blas::DotNorm2 sums = blas::dot_norm2(u_[j + 1], r0_);
  if (!monitor.usable(std::abs(sums.dot), vanishing_ * r0_norm_ * std::sqrt(sums.norm2), "<r0, A u>")) return false;
  alpha_ = rho_ / std::conj(sums.dot);
  for (std::size_t i = 0; i <= j; ++i) blas::caxpy(-alpha_, u_[i + 1], r_[i]);  // r -= alpha A u
  blas::caxpy(alpha_, u_[0], y);
  a_.apply(r_[j + 1], r_[j], Dagger::No);
  ++applications_;
  return true;
}

bool BiCGstabL::minimize(Monitor& monitor, Field& y, std::size_t degree) {
  Gram gram;
  for (std::size_t j = 0; j <= degree; ++j) {
    Combination column;
    blas::dots(std::span(r_.pointers()).first(j + 1), r_[j], column.data());
    for (std::size_t i = 0; i <= j; ++i) {
      gram[i][j] = column[i];
      gram[j][i] = std::conj(column[i]);
    }
  }
  const Combination c = new_residual(gram, degree);
  if (!monitor.usable(std::abs(c[degree]), 0, "omega")) return false;
  Combination minus;
  for (std::size_t i = 0; i <= degree; ++i) minus[i] = -c[i];
  const std::span<const Complex> plus = std::span(c).subspan(1, degree);
  blas::caxpys(std::span(minus).subspan(1, degree), std::span(r_.pointers()).first(degree), y);
  blas::caxpys(plus, std::span(r_.pointers()).subspan(1, degree), r_[0]);
  blas::caxpys(plus, std::span(u_.pointers()).subspan(1, degree), u_[0]);
  omega_ = minus[degree];
  return true;
}

void BiCGstabL::judge(Monitor& monitor, Field& x, const Field& b, std::size_t iterations, bool broken) {
  if (iterations > 0) {
    r2_ = blas::norm2(r_[0]);
    monitor.iterated(std::sqrt(r2_), 0, int(iterations));
    if (monitor.failed()) return;
  }
  const bool slowed = !broken && pace_.slowed(std::sqrt(r2_), int(iterations));
  if (slowed) monitor.ask_for_update();
  const bool update = monitor.update_due();
  if (update) {
    r2_ = solution_.update(x, b, r_[0], monitor.target());  // x += y, y = 0, r = the true residual
    monitor.updated(std::sqrt(r2_));
  }
  if (!monitor.running()) return;
  for (std::size_t i = 0; i < iterations; ++i) solution_.gather();
  if (broken ? monitor.may_begin_anew() : update && (slowed || monitor.lost_touch())) {
    begin();
    monitor.began_anew();
  }
}

SolveReport BiCGstabL::solve(Field& x, const Field& b, const Stopping& stopping) {
  Monitor monitor(name_.c_str(), stopping, delta_, a_.field_desc().precision, progress_);
  monitor.expect_progress(patience(a_.field_desc()));
  applications_ = 0;
  Field& y = solution_.target(x);
  r2_ = solution_.start(x, b, r_[0]);  // x = 0, r = b
  monitor.start(std::sqrt(r2_));
  if (monitor.running()) begin();
  while (monitor.running()) {
    const std::size_t degree = std::min(l_, std::size_t(stopping.max_iterations - monitor.iterations()));
    rho_ *= -omega_;
    std::size_t done = 0;
    while (done < degree && bicg_step(monitor, y, done)) ++done;
    if (monitor.failed()) break;
    const bool broken = done < degree || !minimize(monitor, y, degree);
    if (!monitor.failed()) judge(monitor, x, b, done, broken);
  }
  return solution_.finish(monitor, x, b, applications_);
}

}  // namespace

std::unique_ptr<Solver> make_bicgstab_l(const SolverParts& parts, int l) {
  return std::make_unique<BiCGstabL>(parts, l);
}

}  // namespace quadrille
