#include "core/gauge/temporal_gauge.h"

#include "core/error.h"
#include "core/gauge/su3.h"
#include "core/gauge/su3_project.h"
#include "core/host_image.h"
#include "core/site_access.h"

#include <utility>

namespace quadrille {
namespace {

constexpr int time = 3;

Dims forward(const Lattice& lattice, Dims x, int mu) {
  x[mu] = (x[mu] + 1) % lattice.dims()[mu];
  return x;
}

}  // namespace

TemporalGauge::TemporalGauge(const Lattice& lattice, const HostLinks& links)
    : lattice_(&lattice), matrices_(std::size_t(lattice.volume()) * 9) {
  if (lattice.communicator().grid()[time] != 1) {
    throw Error(ErrorCode::unsupported, "temporal gauge fixing needs the whole of t on each rank: do not split t");
  }
  const Dims& dims = lattice.dims();
  const std::int64_t slice = lattice.volume() / dims[time];
  bool singular = false;
#pragma omp parallel for schedule(static) reduction(|| : singular)
  for (std::int64_t site = 0; site < slice; ++site) {
    Matrix3 g = Matrix3::identity();
    for (int t = 0; t < dims[time]; ++t) {
      g.write(matrices_.data() + (site + t * slice) * 9);
      g = g * Matrix3::read(links.link(site + t * slice, time));
      singular = singular || !project_su3(g);
    }
  }
  if (singular)
    throw Error(ErrorCode::numerical, "temporal gauge fixing met a time link that is singular or not finite");
}

HostLinks TemporalGauge::fixed(const HostLinks& links) const {
  HostLinks out = gauge_transformed(*lattice_, links, matrices_);
  const std::int64_t last_slice = lattice_->volume() / lattice_->dims()[time] * (lattice_->dims()[time] - 1);
  for (std::int64_t site = 0; site < last_slice; ++site) Matrix3::identity().write(out.link(site, time));
  return out;
}

const Field& TemporalGauge::matrices_on(Backend& backend) const {
  const std::lock_guard lock(mutex_);
  for (const Field& field : fields_) {
    if (field.desc().backend == &backend) return field;
  }
  constexpr std::uint8_t one_link = 1;
  Field field(FieldDesc::links(*lattice_, Precision::Double, Reconstruct::R18, backend, one_link));
  HostImage image = HostImage::fresh(field);
  for (Parity p : {Parity::Even, Parity::Odd}) {
    const SiteAccess<double> to(image.field(), p);
#pragma omp parallel for schedule(static)
    for (std::int64_t site = 0; site < lattice_->half_volume(); ++site) {
      const Complex* g = matrix(lattice_->site(lattice_->coordinates(p, site)));
      double numbers[18];
      for (int i = 0; i < 9; ++i) {
        numbers[2 * i] = g[i].real();
        numbers[2 * i + 1] = g[i].imag();
      }
      to.store(site, numbers);
    }
  }
  image.write_back();
  return fields_.emplace_back(std::move(field));
}

void TemporalGauge::rotate(Field& dst, const Field& src, bool adjoint) const {
  const FieldDesc &d = dst.desc(), &s = src.desc();
  if (d.lattice != lattice_ || s.lattice != lattice_ || d.subset != s.subset || d.backend != s.backend ||
      d.kind != FieldKind::Spinor || s.kind != FieldKind::Spinor) {
    throw Error(ErrorCode::internal, "temporal gauge: fields of other lattices, subsets, backends or kinds");
  }
  d.backend->rotate(dst, src, matrices_on(*d.backend), adjoint);
}

HostLinks gauge_transformed(const Lattice& lattice, const HostLinks& links, const std::vector<Complex>& g) {
  HostLinks out(links.dims);
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const Dims x = lattice.coordinates(site);
    const Matrix3 here = Matrix3::read(g.data() + site * 9);
    for (int mu = 0; mu < 4; ++mu) {
      const Matrix3 there = Matrix3::read(g.data() + lattice.site(forward(lattice, x, mu)) * 9);
      (here * Matrix3::read(links.link(site, mu)) * adjoint(there)).write(out.link(site, mu));
    }
  }
  return out;
}

HostSpinor gauge_transformed(const HostSpinor& psi, const std::vector<Complex>& g) {
  HostSpinor out(psi.dims);
  const std::int64_t sites = volume(psi.dims);
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < sites; ++site) {
    const Matrix3 m = Matrix3::read(g.data() + site * 9);
    for (int s = 0; s < 4; ++s) {
      const Complex* in = psi.data.data() + site * 12 + 3 * s;
      Complex* to = out.data.data() + site * 12 + 3 * s;
      for (int i = 0; i < 3; ++i) to[i] = m(i, 0) * in[0] + m(i, 1) * in[1] + m(i, 2) * in[2];
    }
  }
  return out;
}

}  // namespace quadrille
