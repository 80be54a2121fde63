#include "tests/reference/wilson.h"

#include <cmath>
#include <numbers>

namespace quadrille::reference {
namespace {

using SpinMatrix = std::array<std::array<Complex, 4>, 4>;

SpinMatrix product(const SpinMatrix& a, const SpinMatrix& b) {
  SpinMatrix c{};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 4; ++k) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}

std::int64_t site_index(const Dims& dims, const Dims& x) {
  return ((std::int64_t(x[3]) * dims[2] + x[2]) * dims[1] + x[1]) * dims[0] + x[0];
}

}  // namespace

SpinMatrix gamma(int mu) {
  const Complex i(0, 1);
  switch (mu) {
    case 0: return {{{0, 0, 0, i}, {0, 0, i, 0}, {0, -i, 0, 0}, {-i, 0, 0, 0}}};
    case 1: return {{{0, 0, 0, -1}, {0, 0, 1, 0}, {0, 1, 0, 0}, {-1, 0, 0, 0}}};
    case 2: return {{{0, 0, i, 0}, {0, 0, 0, -i}, {-i, 0, 0, 0}, {0, i, 0, 0}}};
    case 3: return {{{0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}}};
    default: return product(product(gamma(0), gamma(1)), product(gamma(2), gamma(3)));
  }
}

HostSpinor wilson(const HostLinks& links, const WilsonSetup& setup, const HostSpinor& psi, bool dagger) {
  const Dims dims = links.dims;
  HostSpinor out(dims);
  const double diagonal = setup.mass + 1 + 3 * setup.nu / setup.xi0;
  for (std::int64_t site = 0; site < volume(dims); ++site) {
    Dims x;
    std::int64_t rest = site;
    for (int mu = 0; mu < 4; ++mu) {
      x[mu] = int(rest % dims[mu]);
      rest /= dims[mu];
    }
    Complex* result = out.data.data() + site * 12;
    for (int k = 0; k < 12; ++k) {
      const Complex twist(0, (dagger ? -setup.mu : setup.mu) * (k < 6 ? 1 : -1));  // gamma_5 = diag(1, 1, -1, -1)
      result[k] = (diagonal + twist) * psi.data[site * 12 + k];
    }
    for (int mu = 0; mu < 4; ++mu) {
      const Complex phase = std::polar(1.0, std::numbers::pi * setup.boundary[mu]);
      const SpinMatrix g = gamma(mu);
      for (int step : {1, -1}) {
        const double up = (step > 0) == !dagger ? 1 : -1;
        const double weight = mu < 3 ? setup.nu / setup.xi0 : std::exp(up * setup.chemical_potential);
        Dims y = x;
        y[mu] = (x[mu] + step + dims[mu]) % dims[mu];
        const std::int64_t there = site_index(dims, y);
        const Complex* u = links.link(step > 0 ? site : there, mu);
        const bool leaves = step > 0 ? x[mu] == dims[mu] - 1 : y[mu] == dims[mu] - 1;
        const Complex factor = !leaves ? 1.0 : step > 0 ? phase : std::conj(phase);
        const double sign = (step > 0) == !dagger ? -1.0 : 1.0;  // 1 - g forward, 1 + g backward; exchanged in M^dagger
        for (int s = 0; s < 4; ++s) {
          for (int r = 0; r < 4; ++r) {
            const Complex spin = (s == r ? 1.0 : 0.0) + sign * g[s][r];
            for (int i = 0; i < 3; ++i) {
              for (int j = 0; j < 3; ++j) {
                const Complex element = step > 0 ? u[3 * i + j] : std::conj(u[3 * j + i]);
                result[s * 3 + i] -= 0.5 * weight * factor * spin * element * psi.data[there * 12 + r * 3 + j];
              }
            }
          }
        }
      }
    }
  }
  return out;
}

namespace {

using ColorMatrix = std::array<std::array<Complex, 3>, 3>;

/// The link from x in direction mu, or with `step` -1 the adjoint of the one that leads to x from behind; x moves
/// along.
ColorMatrix step_along(const HostLinks& links, Dims& x, int mu, int step) {
  const Dims& dims = links.dims;
  if (step < 0) x[mu] = (x[mu] + dims[mu] - 1) % dims[mu];
  const Complex* u = links.link(site_index(dims, x), mu);
  if (step > 0) x[mu] = (x[mu] + 1) % dims[mu];
  ColorMatrix m;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) m[i][j] = step > 0 ? u[3 * i + j] : std::conj(u[3 * j + i]);
  }
  return m;
}

ColorMatrix product(const ColorMatrix& a, const ColorMatrix& b) {
  ColorMatrix c{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 3; ++k) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}

/// (Q - Q^+) / 8, Q the four closed paths of four links in the sense from mu to nu that begin and end at x.
ColorMatrix field_strength(const HostLinks& links, const Dims& x, int mu, int nu) {
  ColorMatrix q{};
  const std::array<std::array<int, 2>, 4> corners{{{mu, 1}, {nu, 1}, {mu, -1}, {nu, -1}}};
  for (int first = 0; first < 4; ++first) {  // mu nu -mu -nu and its cyclic permutations
    Dims at = x;
    ColorMatrix path = step_along(links, at, corners[std::size_t(first)][0], corners[std::size_t(first)][1]);
    for (int k = 1; k < 4; ++k) {
      const auto& [direction, step] = corners[std::size_t((first + k) % 4)];
      path = product(path, step_along(links, at, direction, step));
    }
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) q[i][j] += path[i][j];
    }
  }
  ColorMatrix f;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) f[i][j] = (q[i][j] - std::conj(q[j][i])) / 8.0;
  }
  return f;
}

}  // namespace

namespace {

using SiteMatrix = std::array<std::array<Complex, 12>, 12>;

/// The clover term at x on [spin][color].
SiteMatrix clover_matrix(const HostLinks& leaves, const WilsonSetup& setup, const Dims& x) {
  const Complex i_unit(0, 1);
  SiteMatrix out{};
  for (int mu = 0; mu < 4; ++mu) {
    for (int nu = 0; nu < 4; ++nu) {
      if (nu == mu) continue;
      const double c = mu < 3 && nu < 3 ? setup.csw_r / setup.xi0 : setup.csw_t;
      const ColorMatrix f = field_strength(leaves, x, mu, nu);
      const SpinMatrix one = product(gamma(mu), gamma(nu)), other = product(gamma(nu), gamma(mu));
      for (int s = 0; s < 4; ++s) {
        for (int r = 0; r < 4; ++r) {
          const Complex sigma = 0.5 * i_unit * (one[s][r] - other[s][r]);
          for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) out[3 * s + i][3 * r + j] += 0.25 * i_unit * c * sigma * f[i][j];
          }
        }
      }
    }
  }
  return out;
}

std::array<Complex, 12> product(const SiteMatrix& a, const std::array<Complex, 12>& v) {
  std::array<Complex, 12> out{};
  for (std::size_t i = 0; i < 12; ++i) {
    for (std::size_t j = 0; j < 12; ++j) out[i] += a[i][j] * v[j];
  }
  return out;
}

}  // namespace

HostSpinor clover_site_term(const HostLinks& leaves, const WilsonSetup& setup, const HostSpinor& psi) {
  const double d = setup.mass + 1 + 3 * setup.nu / setup.xi0;
  const int terms = setup.exponential ? 60 : 1;  // of the series of d exp(C / d)
  HostSpinor out(psi.dims);
  for (std::int64_t site = 0; site < volume(psi.dims); ++site) {
    Dims x;
    std::int64_t rest = site;
    for (int mu = 0; mu < 4; ++mu) {
      x[mu] = int(rest % psi.dims[mu]);
      rest /= psi.dims[mu];
    }
    const SiteMatrix c = clover_matrix(leaves, setup, x);
    Complex* const result = out.data.data() + site * 12;
    std::array<Complex, 12> power;
    for (std::size_t k = 0; k < 12; ++k) result[k] = power[k] = d * psi.data[std::size_t(site) * 12 + k];
    for (int n = 1; n <= terms; ++n) {
      power = product(c, power);
      for (std::size_t k = 0; k < 12; ++k) {
        power[k] /= d * n;
        result[k] += power[k];
      }
    }
  }
  return out;
}

HostSpinor clover(const HostLinks& links, const HostLinks& leaves, const WilsonSetup& setup, const HostSpinor& psi,
                  bool dagger) {
  HostSpinor out = wilson(links, setup, psi, dagger);
  const HostSpinor local = clover_site_term(leaves, setup, psi);
  const double number = setup.mass + 1 + 3 * setup.nu / setup.xi0;
  for (std::size_t n = 0; n < out.data.size(); ++n) out.data[n] += local.data[n] - number * psi.data[n];
  return out;
}

HostSpinor gamma5(const HostSpinor& psi) {
  const SpinMatrix g5 = gamma(4);
  HostSpinor out(psi.dims);
  for (std::int64_t site = 0; site < volume(psi.dims); ++site) {
    for (int s = 0; s < 4; ++s) {
      for (int r = 0; r < 4; ++r) {
        for (int c = 0; c < 3; ++c) out.data[site * 12 + s * 3 + c] += g5[s][r] * psi.data[site * 12 + r * 3 + c];
      }
    }
  }
  return out;
}

}  // namespace quadrille::reference
