#include "solvers/driver.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "core/field/convert.h"
#include "core/system/log.h"
#include "solvers/deflation/deflation_space.h"
#include "solvers/multigrid/multigrid.h"
#include "solvers/refinement.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <exception>
#include <limits>

namespace quadrille {

namespace {

// Where residuals of the reduced and of the full system are not the same, their ratio changes by some percent during a
// solve.
constexpr double margin_of_ratio = 0.9;
// In rounding units of the precision: where true residuals relative to |b| end, near a critical mass, too.
constexpr double limit_of_precision = 1000;

/// The power of two that brings a norm near 1, so that formats with few exponents hold what it is the norm of. Norms
/// that are not far from 1 stay as they are.
double unit_of(double norm) {
  constexpr int near_enough = 16;
  const int exponent = std::ilogb(norm);
  return std::abs(exponent) <= near_enough ? 1 : std::ldexp(1.0, -exponent);
}

void rescale(double factor, Field& field) {
  if (factor != 1) blas::scale(factor, field);
}

std::unique_ptr<LinearSystem> convert_when_needed(const LinearSystem& system, const OperatorForm& form) {
  return system.reduced().form() == form ? nullptr : system.converted(form);
}

}  // namespace

double norm_of_rhs(const Field& b, double tolerance, Field& scratch) {
  const double square = blas::norm2(b);
  if (std::isfinite(square) && square * tolerance * tolerance >= std::numeric_limits<double>::min()) {
    return std::sqrt(square);
  }
  const int exponent = std::isfinite(square) ? 500 : -600;
  blas::copy(scratch, b);
  blas::scale(std::ldexp(1.0, exponent), scratch);
  const double scaled = blas::norm2(scratch);
  if (scaled == 0) return 0;
  if (!std::isfinite(scaled)) throw Error(ErrorCode::numerical, "the right-hand side of a solve is not finite");
  throw Error(
      ErrorCode::numerical,
      fmt::format("the right-hand side of a solve is too {}: |b| is about 2^{:.0f}; multiply it by a number that "
                  "brings it near 1",
                  exponent < 0 ? "large" : "small", 0.5 * std::log2(scaled) - exponent));
}

/// The solve of one right-hand side, and its memory. Only the solver lets others go on meanwhile: what else it applies
/// has scratch of its own, which others use, too.
class SystemSolver::Work {
 public:
  Work(SystemSolver& all, int number);
  SolveReport solve(Field& x, const Field& b, Start start);

 private:
  /// Solves M e = rhs for what remains, and adds it to x. Gives the full residual |b - M x|.
  double attempt(SolveReport& report, Field& x, const Field& b, double b_norm, double residual);
  /// x as the solve begins with it, and residual_ = b - M x; gives its norm.
  double begin(Field& x, const Field& b, double b_norm, Start start);
  /// What else may converge, after a solve that was lost; empty for any other.
  std::string way_out(const SolveReport& report) const;
  void watch(const SolveReport& report, double b_norm);

  const SystemSolver& all_;
  const LinearSystem &system_, &outer_;
  const SolverSpec& spec_;
  int number_;
  std::unique_ptr<Solver> solver_;
  Field residual_, correction_;                 // full lattice, double
  Field rhs_, reduced_;                         // of the outer reduced operator
  std::optional<Field> low_x_, low_b_, low_e_;  // full lattice, uniform in another precision
  SolveReport last_;                            // of the latest attempt
  Refinement refinement_{{.round = "restart", .too_little = "less than a factor of 2", .target = "tolerance"}};
};

SystemSolver::Work::Work(SystemSolver& all, int number)
    : all_(all),
      system_(all.system_),
      outer_(all.outer()),
      spec_(all.spec_),
      number_(number),
      solver_(make_solver(spec_, all.joined_outer_, all.joined_inner_ ? &*all.joined_inner_ : nullptr, all.deflation_,
                          all.joined_multigrid_)),
      residual_(system_.full_desc()),
      correction_(system_.full_desc()),
      rhs_(outer_.reduced().field_desc()),
      reduced_(outer_.reduced().field_desc()) {
  if (!(outer_.full_desc() == system_.full_desc())) {
    low_x_.emplace(outer_.full_desc());
    low_b_.emplace(outer_.full_desc());
    low_e_.emplace(outer_.full_desc());
  }
}

void SystemSolver::Work::watch(const SolveReport& report, double b_norm) {
  if (!all_.progress_) {
    solver_->set_progress({});
    return;
  }
  solver_->set_progress([this, done = report.iterations, b_norm](const Progress& p) {
    all_.progress_({done + p.iteration, spec_.max_iterations, p.residual / b_norm, spec_.tolerance, number_});
  });
}

double SystemSolver::Work::attempt(SolveReport& report, Field& x, const Field& b, double b_norm, double residual) {
  const bool first = report.history.empty();
  const double unit = unit_of(residual);
  rescale(unit, residual_);
  const Field* what_remains = &residual_;
  if (low_b_) {
    convert(*low_b_, residual_);
    what_remains = &*low_b_;
  }
  Field& sum = low_x_ ? *low_x_ : x;
  Field& part = low_e_ ? *low_e_ : correction_;
  const double ratio = outer_.prepare(rhs_, *what_remains);
  const double reduced_norm = unit * b_norm / ratio;  // what |b| is in the reduced system
  watch(report, reduced_norm);
  const double target = (ratio == 1 ? 1 : margin_of_ratio) * spec_.tolerance * reduced_norm;
  last_ = solver_->solve(reduced_, rhs_, {target, spec_.max_iterations - report.iterations, all_.patience_});
  accumulate(report, last_, 1 / reduced_norm);
  // prepare, reconstruct and full_residual together are two applications of the reduced operator by their hops.
  report.flops += 2 * system_.reduced().flops();
  report.patience = last_.patience;
  if (!first) ++report.restarts;
  if (!(last_.residual * ratio < unit * residual)) {
    rescale(1 / unit, residual_);
    return residual;
  }
  outer_.reconstruct(part, reduced_, *what_remains);
  blas::axpy(1 / unit, part, sum);  // x += e
  if (low_x_) convert(x, *low_x_);
  residual = system_.full_residual(residual_, x, b);
  report.history.back().true_residual = residual / b_norm;
  return residual;
}

std::string SystemSolver::Work::way_out(const SolveReport& report) const {
  const StopReason reason = report.stop_reason;
  if (reason != StopReason::stagnated && reason != StopReason::breakdown && reason != StopReason::diverged) return {};
  if (report.residual <= limit_of_precision * rounding_unit(spec_.outer_form().precision)) {
    return fmt::format("; this is the limit of {} precision", to_string(spec_.outer_form().precision));
  }
  const bool half = spec_.scheme != Scheme::uniform && spec_.sloppy.precision == Precision::Half;
  if (spec_.type != "cg") {
    return half ? "; type: cg, or sloppy precision single, may converge" : "; type: cg may converge";
  }
  return half ? "; sloppy precision single may converge" : "";
}

double SystemSolver::Work::begin(Field& x, const Field& b, double b_norm, Start start) {
  if (start == Start::zero || b_norm == 0) {
    blas::zero(x);
    if (low_x_) blas::zero(*low_x_);
    blas::copy(residual_, b);
    return b_norm;
  }
  if (low_x_) {  // the scheme holds x in its own precision
    convert(*low_x_, x);
    convert(x, *low_x_);
  }
  const double residual = system_.full_residual(residual_, x, b);
  if (!std::isfinite(residual)) throw Error(ErrorCode::numerical, "the initial guess of a solve is not finite");
  return residual;
}

SolveReport SystemSolver::Work::solve(Field& x, const Field& b, Start start) {
  const auto began = std::chrono::steady_clock::now();
  require_same(x.desc(), system_.full_desc(), "the solution and the full system");
  require_same(b.desc(), system_.full_desc(), "the right-hand side and the full system");
  const double b_norm = norm_of_rhs(b, spec_.tolerance, residual_);

  SolveReport report;
  if (all_.deflation_) report.deflation_vectors = all_.deflation_->size();
  report.outer_form = to_string(outer_.reduced().form());
  if (all_.inner_) report.inner_form = to_string(all_.inner_->form());
  double residual = begin(x, b, b_norm, start);
  refinement_.begin();
  bool done = residual <= (start == Start::given ? spec_.tolerance * b_norm : 0);
  if (done) report.stop_reason = StopReason::converged;
  while (!done) {
    const double before = residual;
    residual = attempt(report, x, b, b_norm, residual);
    done = refinement_.ended(report, last_, residual / b_norm, before / b_norm,
                             {spec_.tolerance, spec_.max_iterations, all_.patience_});
    if (last_.stop_reason == StopReason::not_finite && report.iterations == 0) {  // b is finite: it was looked at
      report.message = "the operator gives numbers that are not finite: are its links finite?";
    }
  }
  report.converged = report.stop_reason == StopReason::converged;
  report.residual = b_norm > 0 ? residual / b_norm : 0;
  report.message += way_out(report);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return report;
}

SystemSolver::SystemSolver(const LinearSystem& system, const SolverSpec& spec,
                           std::shared_ptr<DeflationSpace> deflation)
    : system_(system),
      spec_(spec),
      outer_(convert_when_needed(system, spec.outer_form())),
      inner_(spec.scheme == Scheme::uniform ? nullptr : system.reduced().converted(spec.sloppy)),
      joined_outer_(outer().reduced(), meeting_),
      deflation_(std::move(deflation)) {
  if (inner_) joined_inner_.emplace(*inner_, meeting_);
  if (deflation_) {
    deflation_->serve(joined_outer_, inner_ ? *joined_inner_ : joined_outer_);
  } else {
    deflation_ = make_deflation(spec_, joined_outer_, joined_inner_ ? &*joined_inner_ : nullptr);
  }
  if (spec_.type == "multigrid") set_up_multigrid();
  const Backend& backend = *system.full_desc().backend;
  const std::size_t before = backend.allocated_bytes();
  reserve(1);
  bytes_of_one_ = backend.allocated_bytes() - before;
  const LinearOperator& iterating = inner_ ? *inner_ : outer().reduced();
  if (multigrid_) bytes_of_one_ += multigrid_->bytes_of_one(iterating.field_desc());
}

SystemSolver::~SystemSolver() = default;

void SystemSolver::set_up_multigrid() {
  const MultigridSettings settings = multigrid_settings(spec_.own);
  const bool inner = spec_.scheme != Scheme::uniform;
  const bool half = inner && spec_.sloppy.precision == Precision::Half;
  const OperatorForm form{half ? Precision::Half : Precision::Single,
                          inner ? spec_.sloppy.reconstruct : Reconstruct::R18, inner && spec_.sloppy.temporal_gauge};
  try {
    multigrid_ = std::make_shared<const Multigrid>(system_, form, settings);
    joined_multigrid_ = std::make_shared<JoinedOperator>(*multigrid_, meeting_);
    for (const std::string& line : multigrid_->table()) log().info("multigrid: {}", line);
  } catch (const Error& error) {
    if (!settings.falls_back || error.code() == ErrorCode::invalid_input || error.code() == ErrorCode::internal) throw;
    log().warn("multigrid gives way to BiCGstab: {}", error.what());
    spec_.type = "bicgstab";
    spec_.own = {};
  }
}

void SystemSolver::reserve(int count) {
  while (int(work_.size()) < count) work_.push_back(std::make_unique<Work>(*this, int(work_.size())));
}

SolveReport SystemSolver::solve(Field& x, const Field& b, Start start) { return work_.front()->solve(x, b, start); }

std::vector<SolveReport> SystemSolver::solve(std::span<Field* const> x, std::span<const Field* const> b, Start start) {
  if (x.size() != b.size()) {
    throw Error(ErrorCode::internal, fmt::format("{} solutions for {} right-hand sides", x.size(), b.size()));
  }
  const auto began = std::chrono::steady_clock::now();
  reserve(int(x.size()));
  std::vector<SolveReport> reports(x.size());
  std::exception_ptr failed;
  const auto solve_some = [&](std::size_t first, std::size_t count) {
    try {
      meeting_.hold(int(count), system_.full_desc().lattice->communicator(), [&](int i) {
        const std::size_t k = first + std::size_t(i);
        reports[k] = work_[k]->solve(*x[k], *b[k], start);
      });
    } catch (...) {
      if (!failed) failed = std::current_exception();
    }
  };
  // Those that fill the space go one after the other, as if they were alone, and all others gain by it.
  std::size_t done = 0;
  while (deflation_ && !deflation_->full() && done < x.size()) solve_some(done++, 1);
  if (done < x.size()) solve_some(done, x.size() - done);
  if (failed) std::rethrow_exception(failed);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  for (SolveReport& report : reports) report.seconds = seconds / double(reports.size());
  return reports;
}

}  // namespace quadrille
