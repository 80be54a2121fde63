#include "solvers/shifted/shifted_solver.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "solvers/driver.h"

#include <fmt/format.h>

namespace quadrille {

namespace {

/// The reduced operator, as long as its system lives.
std::shared_ptr<const GaugeOperator> reduced_of(const LinearSystem& system) {
  return {std::shared_ptr<const GaugeOperator>(), &system.reduced()};
}

}  // namespace

void check_shifted_method(const SolverSpec& spec) {
  if (spec.type != "cg") {
    throw Error(ErrorCode::invalid_input,
                fmt::format("shifted systems are solved by conjugate gradients: type: cg, not {}", spec.type));
  }
  if (spec.scheme == Scheme::defect) {
    throw Error(ErrorCode::invalid_input, "shifted systems know scheme: reliable and scheme: uniform");
  }
}

ShiftedSolver::ShiftedSolver(const LinearSystem& system, const SolverSpec& spec, std::vector<double> shifts)
    : spec_(spec),
      shifts_(std::move(shifts)),
      system_(system.converted(spec.outer_form())),
      outer_(reduced_of(*system_)),
      inner_(spec.scheme == Scheme::uniform ? nullptr : outer_.converted(spec.sloppy)),
      solver_(outer_, inner_.get(), inner_ ? spec.delta : 0, shifts_.size()),
      scaled_(outer_.field_desc()) {}

ShiftedCg::Report ShiftedSolver::solve(std::vector<Field>& x, const Field& b) {
  const double b_norm = norm_of_rhs(b, spec_.tolerance, scaled_);
  blas::copy(scaled_, b);
  if (b_norm > 0) blas::scale(1 / b_norm, scaled_);
  std::vector<ShiftedCg::Shift> shifts;
  for (const double shift : shifts_) shifts.push_back({shift, b_norm > 0 ? spec_.tolerance : 0});
  ShiftedCg::Report report = solver_.solve(x, scaled_, shifts, spec_.max_iterations);
  for (Field& solution : x) blas::scale(b_norm, solution);
  return report;
}

}  // namespace quadrille
