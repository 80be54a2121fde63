#include "dirac/dslash.h"

#include "core/backend/of_backend.h"
#include "core/error.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace quadrille {
namespace {

std::unique_ptr<HopKernel> make_kernel(const HopSetup& setup) {
  return QUADRILLE_OF_BACKEND(setup.spinor.backend->name(), make_hop)(setup);
}

}  // namespace

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
  for (bool xpay : {false, true}) {
    const std::string name = kernel_->name() + (form_.temporal_gauge ? "_temporal_gauge" : "") + (xpay ? "_xpay" : "");
    records_[xpay] = &kernel_record(name, architecture(), bytes_per_site(xpay));
  }
}

double Dslash::bytes_per_site(bool xpay) const {
  const double link = double(number_bytes(form_.precision)) * int(form_.reconstruct);
  return (form_.temporal_gauge ? 6 : 8) * link + (xpay ? 3 : 2) * spinor_.bytes_per_site();
}

void Dslash::run(Field& y, const Field& x, Dagger dagger, double b, double a, const Field* z) const {
  const Parity p = y.desc().subset == Subset::Even ? Parity::Even : Parity::Odd;
  FieldDesc expected = spinor_;
  expected.subset = subset_of(p);
  require_same(y.desc(), expected, "dslash result");
  if (z != nullptr) require_same(z->desc(), expected, "dslash xpay term");
  expected.subset = subset_of(opposite(p));
  require_same(x.desc(), expected, "dslash argument");
  const KernelTimer timer(*records_[z != nullptr], spinor_.lattice->half_volume(), spinor_.backend->host_memory());
  kernel_->run({&y, &x, z, p, dagger, b, a});
}

}  // namespace quadrille
