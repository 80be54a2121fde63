#include "solvers/multigrid/cycle.h"

#include "core/blas/blas.h"
#include "core/error.h"

#include <chrono>

namespace quadrille::multigrid {
namespace {

/// Adds the time of its life.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

std::unique_ptr<LinearOperator> make_smoother(const LinearOperator& a, const CycleSettings& settings) {
  const FieldDesc& desc = a.field_desc();
  if (desc.backend->host_memory() || desc.layout.grouped()) {
    return std::make_unique<MinimalResidual>(a, settings.smoothing_steps, settings.omega);
  }
  return make_inner_solver(a, nullptr, settings.smoothing_steps, 0);
}

}  // namespace

Cycle::Cycle(const LevelSystem& level, const Transfer& transfer, const LevelSystem& coarse_level,
             const LinearOperator* coarse_cycle, const CycleSettings& settings)
    : level_(level),
      transfer_(transfer),
      coarse_(coarse_level),
      settings_(settings),
      coarse_solver_(
          make_inner_solver(coarse_.reduced(), coarse_cycle, settings.coarse_directions, settings.coarse_tolerance)),
      smoother_(make_smoother(level.reduced(), settings)),
      residual_(field_desc()),
      correction_(field_desc()),
      coarse_b_(transfer.coarse_desc()),
      coarse_x_(transfer.coarse_desc()),
      coarse_rhs_(coarse_.reduced().field_desc()),
      coarse_reduced_(coarse_.reduced().field_desc()) {}

void Cycle::apply_each(OperandList list, Dagger dagger) const {
  if (dagger == Dagger::Yes) throw Error(ErrorCode::internal, "a multigrid cycle has no dagger");
  const auto calls = [&](auto&& operands) { return operands_for(list, operands); };
  {
    const Stopwatch timed(seconds_[transfers]);
    transfer_.restrict_each(calls([&](std::size_t i) { return Operands{&coarse_b_[i], list[i].x}; }));
  }
  {
    const Stopwatch timed(seconds_[coarse]);
    coarse_.prepare_each(calls([&](std::size_t i) { return Operands{&coarse_rhs_[i], &coarse_b_[i]}; }));
    coarse_solver_->apply_each(calls([&](std::size_t i) {
                                 return Operands{&coarse_reduced_[i], &coarse_rhs_[i]};
                               }),
                               Dagger::No);
    coarse_.reconstruct_each(calls([&](std::size_t i) {
      return Operands{&coarse_x_[i], &coarse_reduced_[i], &coarse_b_[i]};
    }));
  }
  {
    const Stopwatch timed(seconds_[transfers]);
    transfer_.prolong_each(calls([&](std::size_t i) { return Operands{list[i].y, &coarse_x_[i]}; }));
  }
  const Stopwatch timed(seconds_[smoothing]);
  level_.reduced().apply_each(calls([&](std::size_t i) { return Operands{&residual_[i], list[i].y}; }), Dagger::No);
  for (std::size_t i = 0; i < list.size(); ++i) blas::xpay(*list[i].x, -1, residual_[i]);
  smoother_->apply_each(calls([&](std::size_t i) { return Operands{&correction_[i], &residual_[i]}; }), Dagger::No);
  for (std::size_t i = 0; i < list.size(); ++i) blas::axpy(1, correction_[i], *list[i].y);
}

}  // namespace quadrille::multigrid
