#include "core/gauge/temporal_gauge.h"

#include "core/error.h"
#include "core/gauge/su3.h"
#include "core/gauge/su3_project.h"
#include "core/site_access.h"

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

namespace {

/// out = m in for each spin, m = g or g^+.
void rotate_site(const Complex* g, bool inverse, const Complex* in, Complex* out) {
  const Matrix3 m = inverse ? adjoint(Matrix3::read(g)) : Matrix3::read(g);
  for (int s = 0; s < 4; ++s) {
    for (int i = 0; i < 3; ++i)
      out[3 * s + i] = m(i, 0) * in[3 * s] + m(i, 1) * in[3 * s + 1] + m(i, 2) * in[3 * s + 2];
  }
}

template <class To, class From>
void rotate_parity(const TemporalGauge& gauge, Field& dst, const Field& src, Parity p, bool inverse) {
  const SiteAccess<To> to(dst, p);
  const SiteAccess<From> from(src, p);
  const Lattice& lattice = src.lattice();
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < lattice.half_volume(); ++site) {
    typename SiteAccess<From>::Real loaded[24];
    typename SiteAccess<To>::Real stored[24];
    Complex in[12], out[12];
    from.load(site, loaded);
    for (int c = 0; c < 12; ++c) in[c] = Complex(loaded[2 * c], loaded[2 * c + 1]);
    rotate_site(gauge.matrix(lattice.site(lattice.coordinates(p, site))), inverse, in, out);
    for (int c = 0; c < 12; ++c) {
      stored[2 * c] = typename SiteAccess<To>::Real(out[c].real());
      stored[2 * c + 1] = typename SiteAccess<To>::Real(out[c].imag());
    }
    to.store(site, stored);
  }
}

}  // namespace

void TemporalGauge::rotate(Field& dst, const Field& src, bool inverse) const {
  const FieldDesc &d = dst.desc(), &s = src.desc();
  if (d.lattice != lattice_ || s.lattice != lattice_ || d.subset != s.subset || d.kind != FieldKind::Spinor ||
      s.kind != FieldKind::Spinor) {
    throw Error(ErrorCode::internal, "temporal gauge: fields of other lattices, subsets or kinds");
  }
  for (Parity p : {Parity::Even, Parity::Odd}) {
    if (!src.holds(p)) continue;
    with_number_type(d.precision, [&](auto to) {
      with_number_type(s.precision,
                       [&](auto from) { rotate_parity<decltype(to), decltype(from)>(*this, dst, src, p, inverse); });
    });
  }
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
    rotate_site(g.data() + site * 9, false, psi.data.data() + site * 12, out.data.data() + site * 12);
  }
  return out;
}

}  // namespace quadrille
