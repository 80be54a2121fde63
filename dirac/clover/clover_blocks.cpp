#include "dirac/clover/clover_blocks.h"

#include "core/error.h"
#include "core/gauge/clover_leaves.h"
#include "core/gauge/observables.h"
#include "dirac/clover/block_work.h"
#include "dirac/clover/foreign_blocks.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace quadrille {
namespace {

std::unique_ptr<Field> made(const GaugeStore& gauge, Precision precision) {
  return std::make_unique<Field>(
      FieldDesc::of(site_formats::chiral_blocks, gauge.lattice(), Subset::Full, precision, gauge.backend()));
}

/// Throws ErrorCode::numerical with "the clover term `there` what": on all ranks, or on none.
void require_at_most(double largest, const GaugeStore& gauge, const MaxLoc& worst, const std::string& what) {
  double all = worst.value <= largest ? 0 : 1;
  gauge.lattice().communicator().maximum(&all, 1);
  if (all == 0) return;
  const Lattice& lattice = gauge.lattice();
  std::string where = "on another rank";
  if (!(worst.value <= largest)) {
    const Dims x = lattice.coordinates(worst.item), &origin = lattice.origin();
    where =
        fmt::format("at site ({},{},{},{})", x[0] + origin[0], x[1] + origin[1], x[2] + origin[2], x[3] + origin[3]);
  }
  throw Error(ErrorCode::numerical, fmt::format("the clover term {} {}", where, what));
}

void require_invertible(const GaugeStore& gauge, const MaxLoc& worst, bool taken) {
  constexpr double all_digits = 1 / std::numeric_limits<double>::epsilon();  // are lost then
  require_at_most(all_digits, gauge, worst,
                  fmt::format("cannot be inverted, and even-odd preconditioning divides by it: {}",
                              taken ? "give other blocks" : "choose another mass or csw"));
}

}  // namespace

CloverBlocks::CloverBlocks(std::shared_ptr<const GaugeStore> gauge, const CloverTerm& term)
    : gauge_(std::move(gauge)), term_(term) {
  const auto make_master = [&](Forms& forms) {
    forms[0][std::size_t(Precision::Double)] = made(*gauge_, Precision::Double);
  };
  make_master(a_), make_master(inverse_);
  if (term_.mu != 0) make_master(twisted_inverse_);
  update();
}

// In the UKQCD basis sigma_ij = -epsilon_ijk s_k for both chiralities and sigma_kt = +-s_k for chirality +-: directions
// i and j follow k in the order xyz, and the plane (j, i) has minus the F of (i, j).
void CloverBlocks::compute_from_links() {
  Field& a = *a_[0][std::size_t(Precision::Double)];
  const BlockWork& work = block_work(gauge_->backend());
  CloverLeaves leaves(*gauge_);
  work.set(a, term_.exponential ? 0 : term_.number);
  for (int k = 0; k < 3; ++k) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const double spatial = (i < j ? -0.5 : 0.5) * term_.spatial, temporal = 0.5 * term_.temporal;
    work.add_plane(a, leaves.plane(std::min(i, j), std::max(i, j)), k, {spatial, spatial});
    work.add_plane(a, leaves.plane(k, 3), k, {temporal, -temporal});
  }
  if (term_.exponential) work.exponentiate(a, term_.number);
}

void CloverBlocks::compute_others() {
  const auto master_of = [](Forms& forms) { return forms[0][std::size_t(Precision::Double)].get(); };
  const BlockWork& work = block_work(gauge_->backend());
  require_invertible(*gauge_, work.invert(*master_of(inverse_), master_of(twisted_inverse_), master(a_), term_.mu),
                     taken_);
  version_ = gauge_->version();
  for (const Forms* forms : {&a_, &inverse_, &twisted_inverse_}) {
    for (const bool temporal : {false, true}) {
      for (const std::unique_ptr<Field>& form : (*forms)[temporal]) {
        if (form && form.get() != &master(*forms)) fill(*form, master(*forms), temporal);
      }
    }
  }
}

void CloverBlocks::update() {
  if (version_ == gauge_->version()) return;
  if (!taken_) compute_from_links();
  compute_others();
}

void CloverBlocks::take(const ForeignBlocks& from) {
  taken_ = true;
  version_ = stale;  // what fails now fails again
  const MaxLoc worst = block_work(gauge_->backend()).read(*a_[0][std::size_t(Precision::Double)], from);
  require_at_most(from.bits == 64 ? 1e-10 : 1e-5, *gauge_, worst, "is not Hermitian");
  compute_others();
}

void CloverBlocks::fill(Field& to, const Field& from, bool temporal_gauge) const {
  const BlockWork& work = block_work(gauge_->backend());
  if (!temporal_gauge) return work.copy(to, from);
  const std::shared_ptr<const TemporalGauge> gauge = gauge_->temporal_gauge();
  const std::unique_ptr<Field> rotated = made(*gauge_, Precision::Double);
  work.rotate(*rotated, from, gauge->matrices());
  work.copy(to, *rotated);
}

const Field& CloverBlocks::of_form(Forms& forms, const OperatorForm& form) const {
  std::unique_ptr<Field>& made_form = forms[form.temporal_gauge][std::size_t(form.precision)];
  if (!made_form) {
    std::unique_ptr<Field> field = made(*gauge_, form.precision);
    fill(*field, master(forms), form.temporal_gauge);
    made_form = std::move(field);
  }
  return *made_form;
}

std::array<double, 2> CloverBlocks::log_det() const {
  const Lattice& lattice = gauge_->lattice();
  const double all_sites = double(lattice.half_volume()) * lattice.communicator().size();
  std::array<double, 4> sums = block_work(gauge_->backend()).log_det(master(a_), term_.mu, all_sites);
  lattice.communicator().sum(sums.data(), sums.size());
  return {sums[0] + sums[1], sums[2] + sums[3]};
}

}  // namespace quadrille
