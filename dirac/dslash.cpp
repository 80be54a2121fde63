#include "dirac/dslash.h"

#include "core/backend/of_backend.h"
#include "core/error.h"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace quadrille {
namespace {

std::unique_ptr<HopKernel> make_kernel(const HopSetup& setup) {
  return QUADRILLE_OF_BACKEND(setup.spinor.backend->name(), make_hop)(setup);
}

}  // namespace

double hop_coefficient(const HopScalars& scalars, int d, Dagger dagger) {
  if (d % 4 < 3) return scalars.spatial;
  const bool up = (d < 4) == (dagger == Dagger::No);
  return std::exp(up ? scalars.chemical_potential : -scalars.chemical_potential);
}

std::complex<double> boundary_factor(const HopScalars& scalars, int d) {
  const double phase = d < 4 ? scalars.boundary[std::size_t(d)] : -scalars.boundary[std::size_t(d - 4)];
  const double reduced = std::remainder(phase, 2);
  if (reduced == 0) return 1;
  if (std::abs(reduced) == 1) return -1;
  if (std::abs(reduced) == 0.5) return {0, reduced > 0 ? 1.0 : -1.0};
  return std::polar(1.0, std::numbers::pi * reduced);
}

Dslash::Dslash(const std::string& op, std::shared_ptr<const GaugeStore> gauge, const HopScalars& scalars,
               const OperatorForm& form)
    : gauge_(std::move(gauge)),
      scalars_(scalars),
      form_(form),
      spinor_(FieldDesc::spinor(gauge_->lattice(), Subset::Even, form.precision, gauge_->backend())) {
  links_ = gauge_->form(form);
  kernel_ = make_kernel({op, form, scalars, spinor_, &links_->spatial, &links_->time});
  const std::string name = kernel_->name() + (form_.temporal_gauge ? "_temporal_gauge" : "");
  for (int blocks : {0, 1, 2}) {
    for (bool z : {false, true}) {
      const std::string terms = std::array{"", "_blocks", "_two_blocks"}[std::size_t(blocks)];
      records_[z][blocks] =
          &kernel_record(name + terms + (z ? "_xpay" : ""), architecture(), bytes_per_site(z, blocks));
    }
  }
  local_ =
      &kernel_record(op + "_" + to_string(form.precision) + "_local", architecture(), 2 * spinor_.bytes_per_site());
}

double Dslash::bytes_per_site(bool z, int block_fields) const {
  const double link = double(number_bytes(form_.precision)) * int(form_.reconstruct);
  return (form_.temporal_gauge ? 6 : 8) * link + (z ? 3 : 2) * spinor_.bytes_per_site() +
         block_fields * double(blocks_desc().bytes_per_site());
}

FieldDesc Dslash::blocks_desc() const {
  return FieldDesc::of(site_formats::chiral_blocks, *spinor_.lattice, Subset::Full, spinor_.precision,
                       *spinor_.backend);
}

void Dslash::check(HopCall& call) const {
  call.parity = parity_of(call.y->desc().subset);
  FieldDesc expected = spinor_;
  expected.subset = subset_of(call.parity);
  require_same(call.y->desc(), expected, "dslash result");
  if (call.z != nullptr) require_same(call.z->desc(), expected, "dslash xpay term");
  expected.subset = subset_of(opposite(call.parity));
  if (call.x != nullptr) require_same(call.x->desc(), expected, "dslash argument");
  bool known = call.on_sum.number != 0 && (call.on_sum.blocks == nullptr || call.on_z.blocks == nullptr);
  for (const SiteTerm* term : {&call.on_sum, &call.on_z}) {
    for (const Field* blocks : {term->blocks, term->twist_blocks}) {
      if (blocks != nullptr) require_same(blocks->desc(), blocks_desc(), "chiral blocks");
    }
    known = known && (term->blocks != nullptr ? term->number != 0 : term->twist_blocks == nullptr);
  }
  if (!known) {
    throw Error(ErrorCode::internal, "dslash: site-local terms that no kernel has");
  }
}

void Dslash::run(HopCall call) const {
  check(call);
  KernelRecord& record = *records_[call.z != nullptr][call.block_fields()];
  const KernelTimer timer(record, spinor_.lattice->half_volume(), spinor_.backend->host_memory());
  kernel_->run(call);
}

void Dslash::apply_local(Field& y, const SiteTerm& r, const Field& z) const {
  HopCall call{&y, nullptr, &z, {}, Dagger::No, {}, r};
  check(call);
  const KernelTimer timer(*local_, spinor_.lattice->half_volume(), spinor_.backend->host_memory());
  kernel_->run_local(call);
}

}  // namespace quadrille
