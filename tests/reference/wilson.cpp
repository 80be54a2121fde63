#include "tests/reference/wilson.h"

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
    for (int k = 0; k < 12; ++k) result[k] = diagonal * psi.data[site * 12 + k];
    for (int mu = 0; mu < 4; ++mu) {
      const double weight = mu < 3 ? setup.nu / setup.xi0 : 1.0;
      const Complex phase = std::polar(1.0, std::numbers::pi * setup.boundary[mu]);
      const SpinMatrix g = gamma(mu);
      for (int step : {1, -1}) {
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
