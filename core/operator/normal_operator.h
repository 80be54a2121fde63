// A^+ A of any operator A: Hermitian and positive.
#pragma once

#include "core/operator/operator.h"

#include <memory>
#include <utility>

namespace quadrille {

class NormalOperator final : public GaugeOperator {
 public:
  explicit NormalOperator(std::shared_ptr<const GaugeOperator> a) : a_(std::move(a)), between_(a_->field_desc()) {}

  const FieldDesc& field_desc() const override { return a_->field_desc(); }
  const OperatorForm& form() const override { return a_->form(); }
  /// y = A^+ A x; the dagger changes nothing.
  void apply(Field& y, const Field& x, Dagger) const override {
    a_->apply(between_, x, Dagger::No);
    a_->apply(y, between_, Dagger::Yes);
  }
  double flops() const override { return 2 * a_->flops(); }
  std::unique_ptr<GaugeOperator> converted(const OperatorForm& form) const override {
    return std::make_unique<NormalOperator>(a_->converted(form));
  }
  void enter(Field& mine, const Field& original) const override { a_->enter(mine, original); }
  void leave(Field& original, const Field& mine) const override { a_->leave(original, mine); }

 private:
  std::shared_ptr<const GaugeOperator> a_;
  mutable Field between_;  ///< scratch of apply()
};

}  // namespace quadrille
