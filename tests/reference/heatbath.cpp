#include "tests/reference/heatbath.h"

#include <cmath>
#include <numbers>

namespace quadrille::reference {

namespace {

using Quaternion = std::array<double, 4>;

Dims step(const Lattice& lattice, Dims x, int mu, int steps) {
  const int extent = lattice.dims()[std::size_t(mu)];
  x[std::size_t(mu)] = (x[std::size_t(mu)] + steps + extent) % extent;
  return x;
}

Matrix3 link(const Lattice& lattice, const HostLinks& links, const Dims& x, int mu) {
  return Matrix3::read(links.link(lattice.site(x), mu));
}

double plane_weight(const GaugeAction& action, int mu, int nu) {
  return mu == 3 || nu == 3 ? action.beta * action.xi0 : action.beta / action.xi0;
}

/// Embeds a quaternion in rows and columns i, j of the unit matrix.
Matrix3 embedded(const Quaternion& a, int i, int j) {
  Matrix3 m = Matrix3::identity();
  m(i, i) = {a[0], a[3]};
  m(i, j) = {a[2], a[1]};
  m(j, i) = {-a[2], a[1]};
  m(j, j) = {a[0], -a[3]};
  return m;
}

/// The part r0 + i sum r_k sigma_k of the block of rows and columns i, j: r_k = tr(block e_k^+) / 2 for the units e_k.
Quaternion part(const Matrix3& w, int i, int j) {
  const Complex a = w(i, i), b = w(i, j), c = w(j, i), d = w(j, j);
  return {(a + d).real() / 2, (b + c).imag() / 2, (b - c).real() / 2, (a - d).imag() / 2};
}

template <class ChooseRotation>
void update(const Lattice& lattice, HostLinks& links, const GaugeAction& action, const ChooseRotation& choose) {
  for (int mu = 0; mu < 4; ++mu) {
    for (int parity = 0; parity < 2; ++parity) {
      for (std::int64_t site = 0; site < lattice.volume(); ++site) {
        const Dims x = lattice.coordinates(site);
        if (Lattice::parity(x) != parity) continue;
        const Matrix3 staples = weighted_staples(lattice, links, action, x, mu);
        Matrix3 u = Matrix3::read(links.link(site, mu));
        const int rows[3][2] = {{0, 1}, {0, 2}, {1, 2}};
        for (int subgroup = 0; subgroup < 3; ++subgroup) {
          const auto [i, j] = rows[subgroup];
          u = choose(part(u * staples, i, j), i, j, lattice.global_site(x), mu, subgroup) * u;
        }
        u.write(links.link(site, mu));
      }
    }
  }
}

double size(const Quaternion& r) { return std::sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]); }

Quaternion direction(const Quaternion& r) {
  const double k = size(r);
  if (k < 1e-150) return {1, 0, 0, 0};
  return {r[0] / k, r[1] / k, r[2] / k, r[3] / k};
}

}  // namespace

std::array<double, 4> draw_su2(double alpha, SiteRandom& random) {
  const double toward = random.uniform(), around = random.uniform();
  double delta = 0;
  for (bool accepted = false; !accepted;) {
    const double u1 = random.uniform(), u2 = random.uniform(), u3 = random.uniform(), u4 = random.uniform();
    if (alpha < 1.68) {
      delta = alpha < 1e-150 ? 2 * u1 : -std::log1p(std::expm1(-2 * alpha) * u1) / alpha;
      accepted = u2 * u2 <= delta * (2 - delta);
    } else {
      const double cosine = std::cos(2 * std::numbers::pi * u3);
      delta = -(std::log1p(-u2) + cosine * cosine * std::log1p(-u1)) / alpha;
      accepted = u4 * u4 <= 1 - delta / 2;
    }
  }
  const double length = std::sqrt(delta * (2 - delta)), z = 2 * toward - 1;
  const double phi = std::numbers::pi * (2 * around - 1), across = length * std::sqrt(1 - z * z);
  return {1 - delta, across * std::cos(phi), across * std::sin(phi), length * z};
}

Matrix3 weighted_staples(const Lattice& lattice, const HostLinks& links, const GaugeAction& action, const Dims& x,
                         int mu) {
  Matrix3 sum;
  const Dims ahead = step(lattice, x, mu, 1);
  for (int nu = 0; nu < 4; ++nu) {
    if (nu == mu) continue;
    const Matrix3 up = link(lattice, links, ahead, nu) * adjoint(link(lattice, links, step(lattice, x, nu, 1), mu)) *
                       adjoint(link(lattice, links, x, nu));
    const Dims below = step(lattice, x, nu, -1);
    const Matrix3 down = adjoint(link(lattice, links, step(lattice, ahead, nu, -1), nu)) *
                         adjoint(link(lattice, links, below, mu)) * link(lattice, links, below, nu);
    sum = sum + Complex(plane_weight(action, mu, nu)) * (up + down);
  }
  return sum;
}

double gauge_action(const Lattice& lattice, const HostLinks& links, const GaugeAction& action) {
  double sum = 0;
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const Dims x = lattice.coordinates(site);
    for (int mu = 0; mu < 4; ++mu) {
      for (int nu = mu + 1; nu < 4; ++nu) {
        const Matrix3 there = link(lattice, links, x, mu) * link(lattice, links, step(lattice, x, mu, 1), nu);
        const Matrix3 back = link(lattice, links, x, nu) * link(lattice, links, step(lattice, x, nu, 1), mu);
        sum -= plane_weight(action, mu, nu) * real_trace_adjoint(there, back) / 3;
      }
    }
  }
  return sum;
}

void heatbath_sweep(const Lattice& lattice, HostLinks& links, const GaugeAction& action, std::uint64_t seed,
                    std::uint64_t number) {
  const std::uint64_t mine = step_seed(seed, RandomPurpose::Sweep, number);
  update(lattice, links, action, [&](const Quaternion& r, int i, int j, std::int64_t site, int mu, int subgroup) {
    SiteRandom random(mine, RandomPurpose::Heatbath, site, std::uint32_t(4 * mu + subgroup));
    const Quaternion a = draw_su2(2 * size(r) / 3, random);
    return embedded(a, i, j) * adjoint(embedded(direction(r), i, j));
  });
}

void overrelaxation_sweep(const Lattice& lattice, HostLinks& links, const GaugeAction& action) {
  update(lattice, links, action, [&](const Quaternion& r, int i, int j, std::int64_t, int, int) {
    const Matrix3 back = adjoint(embedded(direction(r), i, j));
    return back * back;
  });
}

}  // namespace quadrille::reference
