// What the cycle of a level works with: A x = b on a full lattice by way of its Schur complement on one parity.
#pragma once

#include "core/operator/operator.h"
#include "core/operator/scratch_fields.h"

#include <memory>
#include <utility>

namespace quadrille::multigrid {

/// A = [[A_ee, H_eo], [H_oe, A_oo]] reduced to S = A_ee - H_eo A_oo^-1 H_oe, or the same with the parities exchanged. A
/// residual of S is that of A with 0 on the other parity, so that a coarse correction needs the rows of P on the kept
/// parity alone.
class LevelSystem {
 public:
  virtual ~LevelSystem() = default;
  /// A, connecting nearest neighbours alone.
  virtual const LinearOperator& full() const = 0;
  /// S
  virtual const LinearOperator& reduced() const = 0;
  /// y = the right-hand side of S from x = b.
  virtual void prepare_each(OperandList list) const = 0;
  /// y = the full solution from x, that of S, and z = b.
  virtual void reconstruct_each(OperandList list) const = 0;
  virtual double bytes() const = 0;
};

/// That of the finest lattice.
class FinestSystem final : public LevelSystem {
 public:
  /// Of the form EvenOddForm::Kind::asymmetric.
  explicit FinestSystem(std::unique_ptr<LinearSystem> system) : system_(std::move(system)) {}

  const LinearOperator& full() const override { return system_->full(); }
  const LinearOperator& reduced() const override { return system_->reduced(); }
  void prepare_each(OperandList list) const override {
    for (const Operands& call : list) system_->prepare(*call.y, *call.x);
  }
  void reconstruct_each(OperandList list) const override {
    for (const Operands& call : list) system_->reconstruct(*call.y, *call.x, *call.z);
  }
  double bytes() const override { return 0; }

 private:
  std::unique_ptr<LinearSystem> system_;
};

}  // namespace quadrille::multigrid
