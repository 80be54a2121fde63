// What even-odd preconditioning needs of a Dirac operator: the blocks of M = [[A_ee, H_eo], [H_oe, A_oo]] with a
// site-local A and hopping terms H that connect the parities.
#pragma once

#include "core/api.h"
#include "core/gauge/gauge_store.h"
#include "core/operator/operator.h"

#include <memory>

namespace quadrille {

struct ForeignBlocks;

/// A Dirac operator on full fields; apply() is M or M^dagger. With Dagger::Yes every block below is that of M^dagger.
/// y is overwritten; the parity of the result is that of y; x and y must not overlap.
class QUADRILLE_API DiracOperator : public GaugeOperator {
 public:
  /// The mass in M's normalization, and kappa = 1 / (2 (mass + 4)).
  virtual double mass() const = 0;
  double kappa() const { return 0.5 / (mass() + 4); }
  /// The gauge field that the operator was made from.
  virtual const GaugeStore& gauge() const = 0;

  /// Whether A is more than numbers on chiralities.
  virtual bool has_site_matrices() const = 0;
  /// Those of a host, without i mu gamma_5, in place of those from the links, for all forms of this operator (which
  /// share them as they share the links): CloverBlocks::take. ErrorCode::unsupported where there are none.
  virtual void take_site_matrices(const ForeignBlocks& from) const = 0;
  // The blocks, for every call of a list: see LinearOperator::apply_each(). y may be z of the same call.

  /// y = z - H x
  virtual void subtract_hop(OperandList list, Dagger dagger) const = 0;
  /// y = A^-1 H x
  virtual void inverse_diagonal_hop(OperandList list, Dagger dagger) const = 0;
  /// y = A z - H x
  virtual void diagonal_minus_hop(OperandList list, Dagger dagger) const = 0;
  /// y = z - A^-1 H x
  virtual void subtract_inverse_diagonal_hop(OperandList list, Dagger dagger) const = 0;
  /// y = A^-1 z; there is no x.
  virtual void inverse_diagonal(OperandList list, Dagger dagger) const = 0;

  // Of one call.

  void subtract_hop(Field& y, const Field& z, const Field& x, Dagger dagger) const {
    subtract_hop(only({&y, &x, &z}), dagger);
  }
  void inverse_diagonal_hop(Field& y, const Field& x, Dagger dagger) const {
    inverse_diagonal_hop(only({&y, &x}), dagger);
  }
  void diagonal_minus_hop(Field& y, const Field& z, const Field& x, Dagger dagger) const {
    diagonal_minus_hop(only({&y, &x, &z}), dagger);
  }
  void subtract_inverse_diagonal_hop(Field& y, const Field& z, const Field& x, Dagger dagger) const {
    subtract_inverse_diagonal_hop(only({&y, &x, &z}), dagger);
  }
  void inverse_diagonal(Field& y, const Field& z, Dagger dagger) const {
    inverse_diagonal(only({&y, nullptr, &z}), dagger);
  }

  /// Flops of A - H A^-1 H, or of 1 - A^-1 H A^-1 H when `symmetric`, by the standard count.
  virtual double preconditioned_flops(bool symmetric) const = 0;

  virtual std::unique_ptr<DiracOperator> converted_dirac(const OperatorForm& form) const = 0;
  std::unique_ptr<GaugeOperator> converted(const OperatorForm& form) const final { return converted_dirac(form); }
};

}  // namespace quadrille
