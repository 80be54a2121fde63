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
      spinor_(FieldDesc::spinor(gauge_->lattice(), Subset::Even, form.precision, gauge_->backend())),
      log_(kernel_log()) {
  links_ = gauge_->form(form);
  kernel_ = make_kernel({op, form, scalars, spinor_, &links_->spatial, &links_->time});
  local_ =
      &kernel_record(op + "_" + to_string(form.precision) + "_local", architecture(), 2 * spinor_.bytes_per_site());
}

double Dslash::bytes_per_site(bool z, int block_fields, std::size_t calls) const {
  const double link = double(number_bytes(form_.precision)) * int(form_.reconstruct);
  const double shared = (form_.temporal_gauge ? 6 : 8) * link + block_fields * blocks_desc().bytes_per_site();
  return shared / double(calls) + (z ? 3 : 2) * spinor_.bytes_per_site();
}

FieldDesc Dslash::blocks_desc() const {
  return FieldDesc::of(site_formats::chiral_blocks, *spinor_.lattice, Subset::Full, spinor_.precision,
                       *spinor_.backend);
}

namespace {

/// Fields that are written appear once in a list, but that y may be z of the same call.
void require_apart(OperandList list, Parity p) {
  for (const Operands& call : list) {
    for (const Operands& other : list) {
      if (&call == &other) continue;
      const void* const result = other.y->numbers(p);
      if (call.y->numbers(p) == result)
        throw Error(ErrorCode::internal, "dslash: two calls of a list have the same result");
      if (call.z != nullptr && call.z->numbers(p) == result)
        throw Error(ErrorCode::internal, "dslash: the xpay term of a call of a list is the result of another");
    }
  }
}

}  // namespace

void Dslash::check(const HopCall& call) const {
  FieldDesc here = spinor_, there = spinor_;
  here.subset = subset_of(call.parity);
  there.subset = subset_of(opposite(call.parity));
  for (const Operands& fields : call.list) {
    require_same(fields.y->desc(), here, "dslash result");
    if (fields.z != nullptr) require_same(fields.z->desc(), here, "dslash xpay term");
    if (fields.x != nullptr) require_same(fields.x->desc(), there, "dslash argument");
    if ((fields.z != nullptr) != call.has_z() || (fields.x != nullptr) != (call.list.front().x != nullptr))
      throw Error(ErrorCode::internal, "dslash: calls of a list with different operands");
  }
  if (call.list.size() > 1) require_apart(call.list, call.parity);
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

KernelRecord& Dslash::record(const HopCall& call) const {
  const std::size_t calls = call.list.size();
  const bool z = call.has_z();
  const int blocks = call.block_fields();
  if (records_.size() < calls) records_.resize(calls);
  KernelRecord*& record = records_[calls - 1][z][std::size_t(blocks)];
  if (record == nullptr) {
    const std::string terms = std::array{"", "_blocks", "_two_blocks"}[std::size_t(blocks)];
    const std::string name = kernel_->name() + (form_.temporal_gauge ? "_temporal_gauge" : "") + terms +
                             (z ? "_xpay" : "") + (calls > 1 ? "_rhs" + std::to_string(calls) : "");
    record = &log_.record(name, architecture(), bytes_per_site(z, blocks, calls));
  }
  return *record;
}

void Dslash::apply_each(OperandList list, Dagger dagger, const SiteTerm& l, const SiteTerm& r) const {
  if (list.empty()) return;
  const HopCall call{list, parity_of(list.front().y->desc().subset), dagger, l, r};
  check(call);
  const std::int64_t sites = spinor_.lattice->half_volume() * std::int64_t(list.size());
  const KernelTimer timer(record(call), sites, spinor_.backend->host_memory());
  kernel_->run(call);
}

void Dslash::apply_local_each(OperandList list, const SiteTerm& r) const {
  if (list.empty()) return;
  const HopCall call{list, parity_of(list.front().y->desc().subset), Dagger::No, {}, r};
  check(call);
  const std::int64_t sites = spinor_.lattice->half_volume() * std::int64_t(list.size());
  const KernelTimer timer(*local_, sites, spinor_.backend->host_memory());
  kernel_->run_local(call);
}

}  // namespace quadrille
