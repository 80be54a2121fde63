#include "dirac/preconditioned.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "core/gauge/observables.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace quadrille {
namespace {

FieldDesc with_subset(FieldDesc desc, Subset subset) {
  desc.subset = subset;
  return desc;
}

/// All ranks throw, or none.
void require_unitary(const GaugeStore& gauge, const OperatorForm& form) {
  constexpr double largest = 1e-13;
  const Unitarity found = gauge.unitarity();
  const bool by_square = !(found.unitarity <= largest);
  if (!by_square && found.determinant <= largest) return;
  const Dims& dims = gauge.lattice().global_dims();
  const std::string place = by_square ? link_name(dims, found.unitarity_site, found.unitarity_direction)
                                      : link_name(dims, found.determinant_site, found.determinant_direction);
  throw Error(
      ErrorCode::invalid_input,
      fmt::format("with `reconstruct: {}` of the outer operator links must {} to {:.0e}, but |{} - 1| is {:.3g} "
                  "at {}: use `reconstruct: 18`, or `gauge.reunitarize: true`",
                  to_string(form.reconstruct), by_square ? "be unitary" : "have determinant 1", largest,
                  by_square ? "U U^+" : "det U", by_square ? found.unitarity : found.determinant, place));
}

}  // namespace

EvenOddOperator::EvenOddOperator(std::shared_ptr<const DiracOperator> dirac)
    : dirac_(std::move(dirac)),
      even_(with_subset(dirac_->field_desc(), Subset::Even)),
      odd_(with_subset(dirac_->field_desc(), Subset::Odd)) {}

void EvenOddOperator::apply(Field& y, const Field& x, Dagger dagger) const {
  dirac_->inverse_diagonal_hop(odd_, x, dagger);   // odd = A^-1 H_oe x
  dirac_->diagonal_minus_hop(y, x, odd_, dagger);  // y = A x - H_eo odd
}

std::unique_ptr<LinearOperator> EvenOddOperator::converted(const OperatorForm& form) const {
  return std::make_unique<EvenOddOperator>(dirac_->converted_dirac(form));
}

EvenOddSystem::EvenOddSystem(std::shared_ptr<const DiracOperator> dirac)
    : dirac_(std::move(dirac)), reduced_(dirac_), odd_(with_subset(dirac_->field_desc(), Subset::Odd)) {}

void EvenOddSystem::prepare(Field& rhs, const Field& b) const {
  blas::copy(odd_, b.parity(Parity::Odd));
  dirac_->inverse_diagonal(odd_, Dagger::No);                           // odd = A^-1 b_o
  dirac_->subtract_hop(rhs, b.parity(Parity::Even), odd_, Dagger::No);  // rhs = b_e - H_eo odd
}

void EvenOddSystem::reconstruct(Field& x, const Field& reduced, const Field& b) const {
  Field even = x.parity(Parity::Even), odd = x.parity(Parity::Odd);
  blas::copy(even, reduced);
  dirac_->subtract_hop(odd, b.parity(Parity::Odd), even, Dagger::No);  // x_o = b_o - H_oe x_e
  dirac_->inverse_diagonal(odd, Dagger::No);                           // x_o = A^-1 x_o
}

double EvenOddSystem::full_residual(Field& r, const Field& x, const Field& b) const {
  dirac_->apply(r, x, Dagger::No);
  return std::sqrt(blas::subtract_norm2(b, r));
}

std::unique_ptr<LinearSystem> EvenOddSystem::converted(const OperatorForm& form) const {
  if (form.reconstruct != Reconstruct::R18) require_unitary(dirac_->gauge(), form);
  return std::make_unique<EvenOddSystem>(dirac_->converted_dirac(form));
}

}  // namespace quadrille
