// A^+ A of any operator A: Hermitian and positive.
#pragma once

#include "core/operator/operator.h"
#include "core/operator/scratch_fields.h"

#include <memory>
#include <utility>

namespace quadrille {

class NormalOperator final : public GaugeOperator {
 public:
  explicit NormalOperator(std::shared_ptr<const GaugeOperator> a) : a_(std::move(a)), between_(a_->field_desc()) {}

  const FieldDesc& field_desc() const override { return a_->field_desc(); }
  const OperatorForm& form() const override { return a_->form(); }
  /// y = A^+ A x; the dagger changes nothing.
  void apply(Field& y, const Field& x, Dagger dagger) const override { apply_each(only({&y, &x}), dagger); }
  void apply_each(OperandList list, Dagger) const override {
    a_->apply_each(operands_for(list, [&](std::size_t i) { return Operands{&between_[i], list[i].x}; }), Dagger::No);
    a_->apply_each(operands_for(list, [&](std::size_t i) { return Operands{list[i].y, &between_[i]}; }), Dagger::Yes);
  }
  double flops() const override { return 2 * a_->flops(); }
  std::unique_ptr<GaugeOperator> converted(const OperatorForm& form) const override {
    return std::make_unique<NormalOperator>(a_->converted(form));
  }
  void enter(Field& mine, const Field& original) const override { a_->enter(mine, original); }
  void leave(Field& original, const Field& mine) const override { a_->leave(original, mine); }

 private:
  std::shared_ptr<const GaugeOperator> a_;
  mutable ScratchFields between_;
};

}  // namespace quadrille
