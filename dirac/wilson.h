// The Wilson operator.
#pragma once

#include "core/parameters/parameters.h"
#include "dirac/dirac_operator.h"
#include "dirac/dslash.h"

#include <memory>

namespace quadrille {

/// M = (m + 1 + 3 nu/xi0) - D/2 with D the hopping term of codegen/operators/wilson.py (spatial terms times nu/xi0):
/// K. G. Wilson, Phys. Rev. D 10 (1974) 2445, in mass normalization; for xi0 = nu = 1 the diagonal is m + 4.
struct WilsonParameters {
  double mass = 0;
  double xi0 = 1, nu = 1;            ///< bare anisotropy and its fermion renormalization
  std::array<double, 4> boundary{};  ///< theta/pi for x, y, z, t

  double diagonal() const { return mass + 1 + 3 * nu / xi0; }
};

class WilsonOperator final : public DiracOperator {
 public:
  WilsonOperator(std::shared_ptr<const GaugeStore> gauge, const WilsonParameters& parameters, const OperatorForm& form);

  const FieldDesc& field_desc() const override { return full_; }
  const OperatorForm& form() const override { return dslash_.form(); }
  void apply(Field& y, const Field& x, Dagger dagger) const override;
  double flops() const override;
  double preconditioned_flops() const override;
  double mass() const override { return parameters_.mass; }
  const GaugeStore& gauge() const override { return *dslash_.gauge(); }
  const Dslash& dslash() const { return dslash_; }

  void subtract_hop(Field& y, const Field& z, const Field& x, Dagger dagger) const override;
  void inverse_diagonal_hop(Field& y, const Field& x, Dagger dagger) const override;
  void diagonal_minus_hop(Field& y, const Field& z, const Field& x, Dagger dagger) const override;
  void inverse_diagonal(Field& y, Dagger dagger) const override;

  std::unique_ptr<DiracOperator> converted_dirac(const OperatorForm& form) const override;
  void enter(Field& mine, const Field& original) const override;
  void leave(Field& original, const Field& mine) const override;

  /// The parameters of `operator: {type: wilson}` in a job.
  static const ParameterTable& table();
  static WilsonParameters from(const Parameters& job);

 private:
  WilsonParameters parameters_;
  Dslash dslash_;
  FieldDesc full_;
};

}  // namespace quadrille
