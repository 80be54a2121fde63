#include "dirac/systems/even_odd.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "core/gauge/observables.h"

#include <fmt/format.h>

#include <cmath>
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

EvenOddForm resolved(const EvenOddForm& form, const DiracOperator& dirac) {
  using Kind = EvenOddForm::Kind;
  if (form.kind != Kind::automatic) return form;
  return {form.kept, dirac.has_site_matrices() ? Kind::symmetric : Kind::asymmetric};
}

EvenOddOperator::EvenOddOperator(std::shared_ptr<const DiracOperator> dirac, const EvenOddForm& form)
    : dirac_(std::move(dirac)),
      form_(resolved(form, *dirac_)),
      kept_(with_subset(dirac_->field_desc(), subset_of(form.kept))),
      other_(with_subset(dirac_->field_desc(), subset_of(opposite(form.kept)))) {
  if (symmetric()) here_.emplace(kept_);
}

void EvenOddOperator::apply_each(OperandList list, Dagger dagger) const {
  const auto calls = [&](auto&& operands) { return operands_for(list, operands); };
  const auto y = [&](std::size_t i) { return list[i].y; };
  const auto x = [&](std::size_t i) { return list[i].x; };
  const auto other = [&](std::size_t i) { return &other_[i]; };
  const auto to_other = [&](std::size_t i) { return Operands{other(i), x(i)}; };
  const auto back = [&](std::size_t i) { return Operands{y(i), other(i), x(i)}; };
  if (!symmetric()) {
    dirac_->inverse_diagonal_hop(calls(to_other), dagger);  // other = A^-1 H x
    dirac_->diagonal_minus_hop(calls(back), dagger);        // y = A x - H other
  } else if (dagger == Dagger::No) {
    dirac_->inverse_diagonal_hop(calls(to_other), dagger);       // other = A^-1 H x
    dirac_->subtract_inverse_diagonal_hop(calls(back), dagger);  // y = x - A^-1 H other
  } else {
    const auto here = [&](std::size_t i) { return &(*here_)[i]; };
    const auto to_here = [&](std::size_t i) { return Operands{here(i), nullptr, x(i)}; };
    const auto here_to_other = [&](std::size_t i) { return Operands{other(i), here(i)}; };
    dirac_->inverse_diagonal(calls(to_here), dagger);            // here = A^-+ x
    dirac_->inverse_diagonal_hop(calls(here_to_other), dagger);  // other = A^-+ H^+ here
    dirac_->subtract_hop(calls(back), dagger);                   // y = x - H^+ other
  }
}

std::unique_ptr<GaugeOperator> EvenOddOperator::converted(const OperatorForm& form) const {
  return std::make_unique<EvenOddOperator>(dirac_->converted_dirac(form), form_);
}

EvenOddSystem::EvenOddSystem(std::shared_ptr<const DiracOperator> dirac, const EvenOddForm& form)
    : dirac_(std::move(dirac)),
      form_(resolved(form, *dirac_)),
      reduced_(dirac_, form_),
      other_(with_subset(dirac_->field_desc(), subset_of(opposite(form.kept)))) {}

double EvenOddSystem::prepare(Field& rhs, const Field& b) const {
  dirac_->inverse_diagonal(other_, b.parity(other()), Dagger::No);      // other = A^-1 b_other
  dirac_->subtract_hop(rhs, b.parity(form_.kept), other_, Dagger::No);  // rhs = b_kept - H other
  if (form_.kind == EvenOddForm::Kind::asymmetric) return 1;
  const double before = blas::norm2(rhs);
  dirac_->inverse_diagonal(rhs, rhs, Dagger::No);
  const double after = blas::norm2(rhs);
  return before > 0 && after > 0 ? std::sqrt(before / after) : 1;
}

void EvenOddSystem::reconstruct(Field& x, const Field& reduced, const Field& b) const {
  Field kept = x.parity(form_.kept), rest = x.parity(other());
  blas::copy(kept, reduced);
  dirac_->subtract_hop(rest, b.parity(other()), kept, Dagger::No);  // rest = b_other - H kept
  dirac_->inverse_diagonal(rest, rest, Dagger::No);                 // rest = A^-1 rest
}

double EvenOddSystem::full_residual(Field& r, const Field& x, const Field& b) const {
  dirac_->apply(r, x, Dagger::No);
  return std::sqrt(blas::subtract_norm2(b, r));
}

std::unique_ptr<LinearSystem> EvenOddSystem::converted(const OperatorForm& form) const {
  if (form.reconstruct != Reconstruct::R18) require_unitary(dirac_->gauge(), form);
  return std::make_unique<EvenOddSystem>(dirac_->converted_dirac(form), form_);
}

}  // namespace quadrille
