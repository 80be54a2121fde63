// The Wilson operator and those with the same hops and another site-local part.
#pragma once

#include "core/parameters/parameters.h"
#include "dirac/clover/clover_blocks.h"
#include "dirac/dirac_operator.h"
#include "dirac/dslash.h"

#include <memory>

namespace quadrille {

/// M = A - D/2 with D the hopping term of codegen/operators/wilson.py (spatial terms times nu/xi0, those in time times
/// exp(+-chemical_potential)) and A = (m + 1 + 3 nu/xi0) + i mu gamma_5: K. G. Wilson, Phys. Rev. D 10 (1974) 2445, in
/// mass normalization; for xi0 = nu = 1 the diagonal is m + 4. With mu != 0 a flavour of twisted mass QCD: R. Frezzotti
/// et al., JHEP 0108 (2001) 058; the other one has -mu, and M^+ is gamma_5 M(-mu, -chemical_potential) gamma_5.
struct WilsonParameters {
  double mass = 0;
  double mu = 0;                     ///< twisted mass
  double csw_r = 0, csw_t = 0;       ///< clover coefficients of planes of two spatial directions and of those with t
  bool exponential = false;          ///< A is an exponential of the clover term (CloverTerm)
  double xi0 = 1, nu = 1;            ///< bare anisotropy and its fermion renormalization
  std::array<double, 4> boundary{};  ///< theta/pi for x, y, z, t
  double chemical_potential = 0;     ///< real, of quarks

  double diagonal() const { return mass + 1 + 3 * nu / xi0; }
  bool has_clover() const { return csw_r != 0 || csw_t != 0; }
  CloverTerm clover_term() const { return {diagonal(), csw_r / xi0, csw_t, exponential, mu}; }
};

class WilsonOperator final : public DiracOperator {
 public:
  WilsonOperator(std::shared_ptr<const GaugeStore> gauge, const WilsonParameters& parameters, const OperatorForm& form);

  const FieldDesc& field_desc() const override { return full_; }
  const OperatorForm& form() const override { return dslash_.form(); }
  void apply(Field& y, const Field& x, Dagger dagger) const override { apply_each(only({&y, &x}), dagger); }
  void apply_each(OperandList list, Dagger dagger) const override;
  double flops() const override;
  double preconditioned_flops(bool symmetric) const override;
  double mass() const override { return parameters_.mass; }
  const GaugeStore& gauge() const override { return *dslash_.gauge(); }
  bool has_site_matrices() const override { return parameters_.has_clover(); }
  void take_site_matrices(const ForeignBlocks& from) const override;
  const Dslash& dslash() const { return dslash_; }

  void subtract_hop(OperandList list, Dagger dagger) const override;
  void inverse_diagonal_hop(OperandList list, Dagger dagger) const override;
  void diagonal_minus_hop(OperandList list, Dagger dagger) const override;
  void subtract_inverse_diagonal_hop(OperandList list, Dagger dagger) const override;
  void inverse_diagonal(OperandList list, Dagger dagger) const override;

  std::unique_ptr<DiracOperator> converted_dirac(const OperatorForm& form) const override;
  void enter(Field& mine, const Field& original) const override;
  void leave(Field& original, const Field& mine) const override;

  /// The parameters of `operator: {type: wilson}` in a job, and of the types `twisted_mass`, `clover`,
  /// `twisted_clover`.
  static const ParameterTable& table();
  static const ParameterTable& twisted_mass_table();
  static const ParameterTable& clover_table();
  static const ParameterTable& twisted_clover_table();
  /// What any of them says.
  static WilsonParameters from(const Parameters& job);

 private:
  /// With the clover term of an operator that this one was converted from.
  WilsonOperator(std::shared_ptr<const GaugeStore> gauge, const WilsonParameters& parameters, const OperatorForm& form,
                 std::shared_ptr<CloverBlocks> clover);
  /// factor A and factor A^-1, or of A^+.
  SiteTerm a(double factor, Dagger dagger) const;
  SiteTerm inverse_a(double factor, Dagger dagger) const;

  WilsonParameters parameters_;
  Dslash dslash_;
  FieldDesc full_;
  std::shared_ptr<CloverBlocks> clover_;  ///< null: there is none
};

}  // namespace quadrille
