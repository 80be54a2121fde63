#include "solvers/multigrid/cycle.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "core/field/convert.h"

#include <chrono>

namespace quadrille::multigrid {

Cycle::Cycle(const LinearOperator& s, const Transfer& transfer, const LevelSystem& coarse_level,
             const LinearOperator* coarse_cycle, const CycleSettings& settings)
    : s_(s),
      transfer_(transfer),
      coarse_(coarse_level),
      settings_(settings),
      coarse_solver_(
          make_inner_solver(coarse_.reduced(), coarse_cycle, settings.coarse_directions, settings.coarse_tolerance)),
      coarse_b_(transfer.coarse_desc()),
      coarse_x_(transfer.coarse_desc()),
      coarse_rhs_(coarse_.reduced().field_desc()),
      coarse_reduced_(coarse_.reduced().field_desc()) {
  const FieldDesc& desc = field_desc();
  if (desc.backend->host_memory() || desc.layout.grouped()) {
    relaxation_ = std::make_unique<MinimalResidual>(s, settings.smoothing_steps, settings.omega);
  } else {
    smoother_ = make_inner_solver(s, nullptr, settings.smoothing_steps, 0);
    residual_.emplace(desc);
    correction_.emplace(desc);
  }
  FieldDesc of_transfer = transfer.fine_desc();
  of_transfer.subset = field_desc().subset;
  if (of_transfer == field_desc()) return;
  x_.emplace(of_transfer);
  y_.emplace(of_transfer);
}

template <class Body>
void Cycle::in_part(Part part, Body&& body) const {
  const auto now = [&] {
    if (timed_) field_desc().backend->synchronize();
    return std::chrono::steady_clock::now();
  };
  const auto began = now();
  body();
  if (timed_) seconds_[part] += std::chrono::duration<double>(now() - began).count();
}

void Cycle::correct(OperandList list) const {
  const auto calls = [&](auto&& operands) { return operands_for(list, operands); };
  in_part(transfers, [&] {
    transfer_.restrict_each(calls([&](std::size_t i) { return Operands{&coarse_b_[i], list[i].x}; }));
  });
  in_part(coarse, [&] {
    coarse_.prepare_each(calls([&](std::size_t i) { return Operands{&coarse_rhs_[i], &coarse_b_[i]}; }));
    coarse_solver_->apply_each(calls([&](std::size_t i) {
                                 return Operands{&coarse_reduced_[i], &coarse_rhs_[i]};
                               }),
                               Dagger::No);
    coarse_.reconstruct_each(calls([&](std::size_t i) {
      return Operands{&coarse_x_[i], &coarse_reduced_[i], &coarse_b_[i]};
    }));
  });
  in_part(transfers, [&] {
    transfer_.prolong_each(calls([&](std::size_t i) { return Operands{list[i].y, &coarse_x_[i]}; }));
  });
}

void Cycle::apply_each(OperandList list, Dagger dagger) const {
  if (dagger == Dagger::Yes) throw Error(ErrorCode::internal, "a multigrid cycle has no dagger");
  const auto calls = [&](auto&& operands) { return operands_for(list, operands); };
  if (x_) {
    for (std::size_t i = 0; i < list.size(); ++i) convert((*x_)[i], *list[i].x);
    correct(calls([&](std::size_t i) { return Operands{&(*y_)[i], &(*x_)[i]}; }));
    for (std::size_t i = 0; i < list.size(); ++i) convert(*list[i].y, (*y_)[i]);
  } else {
    correct(list);
  }
  in_part(smoothing, [&] {
    if (relaxation_) return relaxation_->improve_each(list);
    s_.apply_each(calls([&](std::size_t i) { return Operands{&(*residual_)[i], list[i].y}; }), Dagger::No);
    for (std::size_t i = 0; i < list.size(); ++i) blas::xpay(*list[i].x, -1, (*residual_)[i]);
    smoother_->apply_each(calls([&](std::size_t i) {
                            return Operands{&(*correction_)[i], &(*residual_)[i]};
                          }),
                          Dagger::No);
    for (std::size_t i = 0; i < list.size(); ++i) blas::axpy(1, (*correction_)[i], *list[i].y);
  });
}

}  // namespace quadrille::multigrid
