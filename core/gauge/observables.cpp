#include "core/gauge/observables.h"

#include "core/chunked_sum.h"
#include "core/gauge/su3.h"

#include <fmt/format.h>

#include <cmath>

namespace quadrille {

namespace {

/// Index of the site one step forward in direction mu.
std::int64_t forward(const Dims& dims, const Dims& x, std::int64_t site, int mu) {
  std::int64_t stride = 1;
  for (int nu = 0; nu < mu; ++nu) stride *= dims[std::size_t(nu)];
  const std::size_t m = std::size_t(mu);
  return x[m] + 1 < dims[m] ? site + stride : site - stride * (dims[m] - 1);
}

/// Keeps the largest value and the first link that has it; a NaN beats every number.
struct Worst {
  double value = 0;
  std::int64_t link = 0;

  void meet(double other, std::int64_t other_link) {
    const bool larger = std::isnan(value) ? false : std::isnan(other) || other > value;
    const bool same = other == value || (std::isnan(value) && std::isnan(other));
    if (larger || (same && other_link < link)) {
      value = other;
      link = other_link;
    }
  }
};

}  // namespace

GaugeObservables gauge_observables(const HostLinks& links) {
  const Dims& dims = links.dims;
  const auto add = [&](std::int64_t site, std::array<double, 7>& sums) {
    const Dims x = site_coordinates(dims, site);
    std::array<std::int64_t, 4> next{};
    for (int mu = 0; mu < 4; ++mu) next[std::size_t(mu)] = forward(dims, x, site, mu);
    std::size_t plane = 0;
    for (int mu = 0; mu < 4; ++mu) {
      const Complex* u = links.link(site, mu);
      sums[6] += u[0].real() + u[4].real() + u[8].real();
      for (int nu = mu + 1; nu < 4; ++nu, ++plane) {
        // Re tr U_mu(x) U_nu(x+mu) (U_nu(x) U_mu(x+nu))^+
        const Matrix3 there = Matrix3::read(u) * Matrix3::read(links.link(next[std::size_t(mu)], nu));
        const Matrix3 back = Matrix3::read(links.link(site, nu)) * Matrix3::read(links.link(next[std::size_t(nu)], mu));
        sums[plane] += real_trace_adjoint(there, back);
      }
    }
  };
  const std::int64_t sites = volume(dims);
  const std::array<double, 7> sums = chunked_sum<7>(sites, add);
  GaugeObservables result;
  for (std::size_t plane = 0; plane < 6; ++plane) {
    result.planes[plane] = sums[plane] / (3.0 * double(sites));
    result.plaquette += result.planes[plane];
  }
  result.plaquette /= 6;
  result.link_trace = sums[6] / (12.0 * double(sites));
  result.unitarity = unitarity(links);
  return result;
}

Unitarity unitarity(const HostLinks& links) {
  const std::int64_t count = volume(links.dims) * 4;
  Worst square, det;
#pragma omp parallel
  {
    Worst my_square, my_det;
#pragma omp for schedule(static) nowait
    for (std::int64_t n = 0; n < count; ++n) {
      const Matrix3 u = Matrix3::read(links.data.data() + n * 9);
      my_square.meet(unitarity_defect(u), n);
      my_det.meet(std::abs(determinant(u) - 1.0), n);
    }
#pragma omp critical(quadrille_unitarity)
    {
      square.meet(my_square.value, my_square.link);
      det.meet(my_det.value, my_det.link);
    }
  }
  return {square.value, square.link / 4, int(square.link % 4), det.value, det.link / 4, int(det.link % 4)};
}

Dims site_coordinates(const Dims& dims, std::int64_t site) {
  Dims x{};
  for (std::size_t mu = 0; mu < 4; ++mu) {
    x[mu] = int(site % dims[mu]);
    site /= dims[mu];
  }
  return x;
}

std::string link_name(const Dims& dims, std::int64_t site, int direction) {
  const Dims x = site_coordinates(dims, site);
  return fmt::format("site ({},{},{},{}), direction {}", x[0], x[1], x[2], x[3], "xyzt"[direction]);
}

}  // namespace quadrille
