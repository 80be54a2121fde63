#include "dirac/dslash.h"

#include "core/convert.h"
#include "core/error.h"
#include "core/layout/vector_layout.h"

#include <fmt/format.h>
#include <omp.h>

#include <cmath>
#include <cstdlib>
#include <numbers>
#include <utility>

namespace quadrille {
namespace {

std::shared_ptr<void> aligned(std::size_t bytes) {
  void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (memory == nullptr) throw std::bad_alloc();
  return std::shared_ptr<void>(memory, std::free);
}

FieldDesc links_desc(const Lattice& lattice, const OperatorForm& form, Backend& backend, std::uint8_t directions) {
  return FieldDesc::links(lattice, form.precision, form.reconstruct, backend, directions);
}

/// exp(i pi phase), exact for multiples of 1/2.
std::complex<double> boundary_factor(double phase) {
  const double reduced = std::remainder(phase, 2);
  if (reduced == 0) return 1;
  if (std::abs(reduced) == 1) return -1;
  if (std::abs(reduced) == 0.5) return {0, reduced > 0 ? 1.0 : -1.0};
  return std::polar(1.0, std::numbers::pi * reduced);
}

}  // namespace

Dslash::Dslash(std::string op, std::shared_ptr<const GaugeSource> gauge, const HopScalars& scalars,
               const OperatorForm& form, Backend& backend)
    : op_(std::move(op)),
      gauge_(std::move(gauge)),
      scalars_(scalars),
      form_(form),
      spinor_(FieldDesc::spinor(gauge_->lattice(), Subset::Even, form.precision, backend)),
      spatial_links_(links_desc(gauge_->lattice(), form, backend, hops::spatial)),
      time_links_(links_desc(gauge_->lattice(), form, backend, hops::time)),
      kernel_(&dirac::find_kernel(op_, form.precision, form.reconstruct, spinor_.layout.lanes)),
      layout_(&gauge_->lattice().vector_layout(spinor_.layout.lanes)) {
  if (gauge_->lattice().communicator().size() != 1) {
    throw Error(ErrorCode::unsupported, "this build exchanges no halos: run the operator in one process");
  }
  import_both();
  if (form.precision == Precision::Double) {
    make_crossings<double, std::int64_t>();
  } else {
    make_crossings<float, std::int32_t>();
  }
  for (bool xpay : {false, true}) {
    const std::string name = kernel_->name + (form_.temporal_gauge ? "_temporal_gauge" : "") + (xpay ? "_xpay" : "");
    records_[xpay] = &kernel_record(name, to_string(kernel_->isa), bytes_per_site(xpay));
  }
}

void Dslash::import_both() {
  const auto from = [&](const HostLinks& links) {
    import_links(spatial_links_, links);
    import_links(time_links_, links);
  };
  if (form_.temporal_gauge) {
    from(gauge_->temporal_gauge()->fixed(gauge_->links()));
  } else {
    from(gauge_->links());
  }
}

double Dslash::bytes_per_site(bool xpay) const {
  const double spinor = double(spinor_.parity_bytes()) / double(spinor_.lattice->half_volume());
  const double link = double(number_bytes(form_.precision)) * int(form_.reconstruct);
  return (form_.temporal_gauge ? 6 : 8) * link + (xpay ? 3 : 2) * spinor;
}

// A block is marked in direction d when the shift changes lanes, meets a boundary factor other than 1, or (for t) may
// meet a time link that temporal gauge fixing has left; only those blocks take the kernel's slower path.
template <class Real, class Int>
void Dslash::make_crossings() {
  const int lanes = layout_->lanes();
  std::uint8_t marked = 0;
  for (int d = 0; d < 8; ++d) {
    const int mu = d % 4;
    const int last = layout_->lane_grid()[std::size_t(mu)] - 1;
    const std::complex<double> factor = boundary_factor(scalars_.boundary[std::size_t(mu)]);
    if (last > 0 || factor != 1.0 || mu == 3) marked |= std::uint8_t(1u << d);
    rotations_[std::size_t(d)] = aligned(sizeof(Int) * std::size_t(lanes));
    phases_[std::size_t(d)] = aligned(2 * sizeof(Real) * std::size_t(lanes));
    Int* rotation = static_cast<Int*>(rotations_[std::size_t(d)].get());
    Real* phase = static_cast<Real*>(phases_[std::size_t(d)].get());
    for (int lane = 0; lane < lanes; ++lane) {
      rotation[lane] = Int(layout_->rotation(d)[std::size_t(lane)]);
      const bool at_edge = layout_->lane_coordinate(lane, mu) == (d < 4 ? last : 0);
      const std::complex<double> here = !at_edge ? 1.0 : d < 4 ? factor : std::conj(factor);
      phase[lane] = Real(here.real());
      phase[lanes + lane] = Real(here.imag());
    }
  }
  for (Parity p : {Parity::Even, Parity::Odd}) {
    auto& crossings = crossings_[std::size_t(p)];
    crossings = layout_->wraps(p);
    for (std::uint8_t& bits : crossings) bits &= marked;
  }
}

void Dslash::run(Field& y, const Field& x, Dagger dagger, double b, double a, const Field* z) const {
  const Parity p = y.desc().subset == Subset::Even ? Parity::Even : Parity::Odd;
  FieldDesc expected = spinor_;
  expected.subset = subset_of(p);
  require_same(y.desc(), expected, "dslash result");
  if (z != nullptr) require_same(z->desc(), expected, "dslash xpay term");
  expected.subset = subset_of(opposite(p));
  require_same(x.desc(), expected, "dslash argument");

  dirac::DslashArgs args{};
  args.out = y.numbers(p);
  args.out_norms = y.norms(p);
  args.in = x.numbers(opposite(p));
  args.in_norms = x.norms(opposite(p));
  if (z != nullptr) {
    args.z = z->numbers(p);
    args.z_norms = z->norms(p);
  }
  args.spatial_links = spatial_links_.numbers(p);
  args.time_links = time_links_.numbers(p);
  args.neighbours = layout_->neighbours(p).data();
  args.wraps = crossings_[std::size_t(p)].data();
  for (std::size_t d = 0; d < 8; ++d) {
    args.rotations[d] = rotations_[d].get();
    args.phases[d] = phases_[d].get();
  }
  args.a = a;
  args.b = b;
  args.spatial = scalars_.spatial;
  args.upper = dagger == Dagger::Yes ? 12 : 0;
  args.lower = 12 - args.upper;
  // A result that would not survive in the caches goes past them: its old content need not be fetched then.
  const std::size_t links = spatial_links_.desc().bytes() + (form_.temporal_gauge ? 0 : time_links_.desc().bytes());
  args.stream = links + 2 * spinor_.bytes() > spinor_.backend->cache_bytes();
  args.temporal_gauge = form_.temporal_gauge;

  const KernelTimer timer(*records_[z != nullptr], spinor_.lattice->half_volume());
  const std::int64_t blocks = layout_->blocks();
  const bool worth_sharing = spinor_.lattice->half_volume() >= 1024;  // less takes as long as waking the threads
#pragma omp parallel if (worth_sharing)
  {
    const std::int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
    kernel_->run(args, layout_->lanes(), blocks * me / threads, blocks * (me + 1) / threads);
  }
}

}  // namespace quadrille
