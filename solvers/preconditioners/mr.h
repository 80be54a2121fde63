// The minimal-residual iteration with relaxation as a smoother or preconditioner: a fixed number of steps from 0.
#pragma once

#include "core/api.h"
#include "core/operator/operator.h"
#include "core/operator/scratch_fields.h"
#include "solvers/steps.h"

#include <deque>

namespace quadrille {

/// y = K x with K x what `steps` steps of MR on A y = x, from y = 0, give: y += omega alpha r, r -= omega alpha A r,
/// alpha = <A r, r> / |A r|^2 (Y. Saad, Iterative Methods for Sparse Linear Systems (2003), section 5.3.2). Not a
/// linear map of x, as alpha depends on it. |r| does not grow for 0 < omega < 2.
///
/// An application allocates nothing; its scalars stay where the fields are. Traffic of a step besides A: 5 fields read,
/// 2 written.
class QUADRILLE_API MinimalResidual final : public LinearOperator {
 public:
  /// `a` outlives it.
  MinimalResidual(const LinearOperator& a, int steps, double omega);

  const FieldDesc& field_desc() const override { return a_.field_desc(); }
  /// With the dagger: the steps of A^+ y = x.
  void apply(Field& y, const Field& x, Dagger dagger) const override { apply_each(only({&y, &x}), dagger); }
  void apply_each(OperandList list, Dagger dagger) const override;
  /// The steps from the y that is there in place of 0.
  void improve_each(OperandList list) const;
  double flops() const override { return steps_ * a_.flops(); }
  std::string form_name() const override { return a_.form_name(); }
  void enter(Field& mine, const Field& original) const override { a_.enter(mine, original); }
  void leave(Field& original, const Field& mine) const override { a_.leave(original, mine); }

 private:
  /// y += what the steps give from r_, which is overwritten.
  void take_steps(OperandList list, Dagger dagger) const;
  const LinearOperator& a_;
  /// Scalars for so many right-hand sides.
  void reserve(std::size_t count) const;

  int steps_;
  double omega_;
  mutable ScratchFields r_, t_;  ///< what remains, A r
  mutable std::deque<blas::ResidentScalars<steps::MrScalars>> scalars_;
};

}  // namespace quadrille
