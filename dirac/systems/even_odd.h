// Even-odd preconditioning of any Dirac operator.
//
// M = [[A, H_eo], [H_oe, A]], so M x = b is (A - H_eo A^-1 H_oe) x_e = b_e - H_eo A^-1 b_o, and
// x_o = A^-1 (b_o - H_oe x_e). With x_o from that line the full residual is zero on odd sites, and on even sites it is
// the residual of the reduced system: both have the same norm. The symmetric form is A^-1 times that equation, its
// residual A^-1 times that of the full system. Either parity may be kept.
#pragma once

#include "core/api.h"
#include "core/operator/operator.h"
#include "core/operator/scratch_fields.h"
#include "dirac/dirac_operator.h"

#include <memory>
#include <optional>

namespace quadrille {

/// A form of this operator that is not automatic.
QUADRILLE_API EvenOddForm resolved(const EvenOddForm& form, const DiracOperator& dirac);

/// A - H A^-1 H on the sites of the parity kept, or 1 - A^-1 H A^-1 H.
class QUADRILLE_API EvenOddOperator final : public GaugeOperator {
 public:
  explicit EvenOddOperator(std::shared_ptr<const DiracOperator> dirac, const EvenOddForm& form = {});

  const FieldDesc& field_desc() const override { return kept_; }
  const OperatorForm& form() const override { return dirac_->form(); }
  void apply(Field& y, const Field& x, Dagger dagger) const override { apply_each(only({&y, &x}), dagger); }
  void apply_each(OperandList list, Dagger dagger) const override;
  double flops() const override { return dirac_->preconditioned_flops(symmetric()); }
  std::unique_ptr<GaugeOperator> converted(const OperatorForm& form) const override;
  void enter(Field& mine, const Field& original) const override { dirac_->enter(mine, original); }
  void leave(Field& original, const Field& mine) const override { dirac_->leave(original, mine); }
  const DiracOperator& dirac() const { return *dirac_; }

 private:
  bool symmetric() const { return form_.kind == EvenOddForm::Kind::symmetric; }

  std::shared_ptr<const DiracOperator> dirac_;
  EvenOddForm form_;
  FieldDesc kept_;
  mutable ScratchFields other_;
  mutable std::optional<ScratchFields> here_;  ///< for the dagger of the symmetric form
};

/// M x = b by way of EvenOddOperator.
class QUADRILLE_API EvenOddSystem final : public LinearSystem {
 public:
  explicit EvenOddSystem(std::shared_ptr<const DiracOperator> dirac, const EvenOddForm& form = {});

  const GaugeOperator& reduced() const override { return reduced_; }
  const FieldDesc& full_desc() const override { return dirac_->field_desc(); }
  const LinearOperator& full() const override { return *dirac_; }
  double prepare(Field& rhs, const Field& b) const override;
  void reconstruct(Field& x, const Field& reduced, const Field& b) const override;
  double full_residual(Field& r, const Field& x, const Field& b) const override;
  /// A form with 12 or 8 numbers stands for the outer operator here, so the links as read must be unitary to 1e-13
  /// (ErrorCode::invalid_input otherwise, naming the worst link).
  std::unique_ptr<LinearSystem> converted(const OperatorForm& form) const override;
  const DiracOperator& dirac() const { return *dirac_; }
  /// Not automatic.
  const EvenOddForm& form() const { return form_; }

 private:
  Parity other() const { return opposite(form_.kept); }

  std::shared_ptr<const DiracOperator> dirac_;
  EvenOddForm form_;
  EvenOddOperator reduced_;
  mutable Field other_;  ///< scratch
};

}  // namespace quadrille
