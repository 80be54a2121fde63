// A + shift, for a method that needs it as an operator of its own.
#pragma once

#include "core/blas/blas.h"
#include "core/operator/operator.h"

namespace quadrille {

/// Refers to A, which outlives it.
class ShiftedOperator final : public LinearOperator {
 public:
  explicit ShiftedOperator(const LinearOperator& a) : a_(a) {}

  void set_shift(double shift) { shift_ = shift; }
  double shift() const { return shift_; }

  const FieldDesc& field_desc() const override { return a_.field_desc(); }
  std::string form_name() const override { return a_.form_name(); }
  void apply(Field& y, const Field& x, Dagger dagger) const override {
    a_.apply(y, x, dagger);
    if (shift_ != 0) blas::axpy(shift_, x, y);
  }
  double flops() const override { return a_.flops(); }
  void enter(Field& mine, const Field& original) const override { a_.enter(mine, original); }
  void leave(Field& original, const Field& mine) const override { a_.leave(original, mine); }

 private:
  const LinearOperator& a_;
  double shift_ = 0;
};

}  // namespace quadrille
