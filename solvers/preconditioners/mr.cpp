#include "solvers/preconditioners/mr.h"

#include "core/blas/blas.h"
#include "solvers/steps.h"

namespace quadrille {

MinimalResidual::MinimalResidual(const LinearOperator& a, int steps, double omega)
    : a_(a), steps_(steps), omega_(omega), r_(a.field_desc()), t_(a.field_desc()) {
  reserve(1);
}

void MinimalResidual::reserve(std::size_t count) const {
  const FieldDesc& desc = a_.field_desc();
  while (scalars_.size() < count) {
    scalars_.emplace_back(*desc.backend, desc.lattice->communicator());
    scalars_.back().set({.omega = omega_});
  }
}

void MinimalResidual::apply_each(OperandList list, Dagger dagger) const {
  for (std::size_t i = 0; i < list.size(); ++i) {
    blas::zero(*list[i].y);
    blas::copy(r_[i], *list[i].x);
  }
  take_steps(list, dagger);
}

void MinimalResidual::improve_each(OperandList list) const {
  a_.apply_each(operands_for(list, [&](std::size_t i) { return Operands{&r_[i], list[i].y}; }), Dagger::No);
  for (std::size_t i = 0; i < list.size(); ++i) blas::xpay(*list[i].x, -1, r_[i]);
  take_steps(list, Dagger::No);
}

void MinimalResidual::take_steps(OperandList list, Dagger dagger) const {
  reserve(list.size());
  for (int step = 0; step < steps_; ++step) {
    a_.apply_each(operands_for(list, [&](std::size_t i) { return Operands{&t_[i], &r_[i]}; }), dagger);
    for (std::size_t i = 0; i < list.size(); ++i) {
      steps::run(steps::MrAlpha{}, {&t_[i], &r_[i]}, scalars_[i]);
      steps::run(steps::MrUpdate{}, {&t_[i], &r_[i], list[i].y}, scalars_[i]);
    }
  }
}

}  // namespace quadrille
