#include "dirac/preconditioned.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "core/gauge/observables.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace quadrille {
namespace {

FieldDesc with_subset(FieldDesc desc, Subset subset) {
  desc.subset = subset;
  return desc;
}

/// All ranks throw, or none: the links of every rank are judged, and a rank names its own worst link or says whose
/// fault it is.
void require_unitary(const GaugeStore& gauge, const OperatorForm& form) {
  constexpr double largest = 1e-13;
  const auto comparable = [](double x) { return std::isnan(x) ? std::numeric_limits<double>::infinity() : x; };
  const Unitarity here = gauge.unitarity();
  const std::array<double, 2> local{comparable(here.unitarity), comparable(here.determinant)};
  std::array<double, 2> all = local;
  gauge.lattice().communicator().maximum(all.data(), all.size());
  if (all[0] <= largest && all[1] <= largest) return;
  const bool by_square = all[0] > largest;
  const Dims& dims = gauge.lattice().dims();
  const std::string place = local[by_square ? 0 : 1] < all[by_square ? 0 : 1] ? "a link of another rank"
                            : by_square ? link_name(dims, here.unitarity_site, here.unitarity_direction)
                                        : link_name(dims, here.determinant_site, here.determinant_direction);
  throw Error(
      ErrorCode::invalid_input,
      fmt::format("{} numbers per link as the outer form need links in SU(3) to {:.0e}, but |{} - 1| is {:.3g} at {}: "
                  "use `reconstruct: 18` for the outer operator, or `gauge.reunitarize: true`",
                  to_string(form.reconstruct), largest, by_square ? "U U^+" : "det U", all[by_square ? 0 : 1], place));
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
