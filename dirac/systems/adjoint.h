// The adjoint of a Dirac operator as an operator of its own, so that M^+ x = b is a system like M x = b.
#pragma once

#include "dirac/dirac_operator.h"

#include <memory>

namespace quadrille {

class AdjointOperator final : public DiracOperator {
 public:
  explicit AdjointOperator(std::shared_ptr<const DiracOperator> of) : of_(std::move(of)) {}

  const FieldDesc& field_desc() const override { return of_->field_desc(); }
  const OperatorForm& form() const override { return of_->form(); }
  void apply(Field& y, const Field& x, Dagger dagger) const override { of_->apply(y, x, other(dagger)); }
  void apply_each(OperandList list, Dagger dagger) const override { of_->apply_each(list, other(dagger)); }
  double flops() const override { return of_->flops(); }
  double preconditioned_flops(bool symmetric) const override { return of_->preconditioned_flops(symmetric); }
  double mass() const override { return of_->mass(); }
  const GaugeStore& gauge() const override { return of_->gauge(); }
  bool has_site_matrices() const override { return of_->has_site_matrices(); }
  void take_site_matrices(const ForeignBlocks& from) const override { of_->take_site_matrices(from); }

  void subtract_hop(OperandList list, Dagger dagger) const override { of_->subtract_hop(list, other(dagger)); }
  void inverse_diagonal_hop(OperandList list, Dagger dagger) const override {
    of_->inverse_diagonal_hop(list, other(dagger));
  }
  void diagonal_minus_hop(OperandList list, Dagger dagger) const override {
    of_->diagonal_minus_hop(list, other(dagger));
  }
  void subtract_inverse_diagonal_hop(OperandList list, Dagger dagger) const override {
    of_->subtract_inverse_diagonal_hop(list, other(dagger));
  }
  void inverse_diagonal(OperandList list, Dagger dagger) const override { of_->inverse_diagonal(list, other(dagger)); }

  std::unique_ptr<DiracOperator> converted_dirac(const OperatorForm& form) const override {
    return std::make_unique<AdjointOperator>(of_->converted_dirac(form));
  }
  void enter(Field& mine, const Field& original) const override { of_->enter(mine, original); }
  void leave(Field& original, const Field& mine) const override { of_->leave(original, mine); }

 private:
  static Dagger other(Dagger dagger) { return dagger == Dagger::No ? Dagger::Yes : Dagger::No; }

  std::shared_ptr<const DiracOperator> of_;
};

}  // namespace quadrille
