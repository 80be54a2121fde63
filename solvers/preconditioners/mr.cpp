#include "solvers/preconditioners/mr.h"

#include "core/blas/blas.h"
#include "solvers/steps.h"

namespace quadrille {

MinimalResidual::MinimalResidual(const LinearOperator& a, int steps, double omega)
    : a_(a),
      steps_(steps),
      r_(a.field_desc()),
      t_(a.field_desc()),
      scalars_(*a.field_desc().backend, a.field_desc().lattice->communicator()) {
  scalars_.set({.omega = omega});
}

void MinimalResidual::apply(Field& y, const Field& x, Dagger dagger) const {
  blas::zero(y);
  blas::copy(r_, x);
  for (int step = 0; step < steps_; ++step) {
    a_.apply(t_, r_, dagger);
    steps::run(steps::MrAlpha{}, {&t_, &r_}, scalars_);
    steps::run(steps::MrUpdate{}, {&t_, &r_, &y}, scalars_);
  }
}

}  // namespace quadrille
