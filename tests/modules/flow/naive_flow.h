// The gradient flow and what is measured of links, written out: one link after the other.
#pragma once

#include "core/su3/su3.h"
#include "modules/flow/gradient_flow.h"
#include "tests/reference/heatbath.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace quadrille::flow::naive {

inline double distance(const HostLinks& a, const HostLinks& b) {
  double largest = 0;
  for (std::size_t n = 0; n < a.data.size(); ++n) largest = std::max(largest, std::abs(a.data[n] - b.data[n]));
  return largest;
}

/// (m - m^+) / 2 without its trace.
inline Matrix3 in_algebra(const Matrix3& m) {
  Matrix3 x = Complex(0.5) * (m + Complex(-1) * adjoint(m));
  const Complex third = (x(0, 0) + x(1, 1) + x(2, 2)) / 3.0;
  for (int i = 0; i < 3; ++i) x(i, i) -= third;
  return x;
}

/// The product of links along a path from x; direction d backward is d - 4.
inline Matrix3 along(const Lattice& lattice, const HostLinks& links, Dims x, const std::vector<int>& path) {
  Matrix3 product = Matrix3::identity();
  const auto shift = [&](int mu, int by) {
    int& at = x[std::size_t(mu)];
    const int extent = lattice.dims()[std::size_t(mu)];
    at = (at + by + extent) % extent;
  };
  for (const int d : path) {
    if (d >= 0) {
      product = product * Matrix3::read(links.link(lattice.site(x), d));
      shift(d, 1);
    } else {
      shift(d + 4, -1);
      product = product * adjoint(Matrix3::read(links.link(lattice.site(x), d + 4)));
    }
  }
  return product;
}

/// The sum of the five other sides of the 1 x 2 rectangles with the link from x to x + mu: their loops begin with it.
inline Matrix3 rectangle_sides(const Lattice& lattice, const HostLinks& links, Dims x, int mu) {
  Matrix3 sum;
  x[std::size_t(mu)] = (x[std::size_t(mu)] + 1) % lattice.dims()[std::size_t(mu)];
  for (int nu = 0; nu < 4; ++nu) {
    if (nu == mu) continue;
    for (const auto& [there, back] : {std::pair{nu, nu - 4}, std::pair{nu - 4, nu}}) {
      sum = sum + along(lattice, links, x, {there, there, mu - 4, back, back});
      sum = sum + along(lattice, links, x, {mu, there, mu - 4, mu - 4, back});
      sum = sum + along(lattice, links, x, {there, mu - 4, mu - 4, back, mu});
    }
  }
  return sum;
}

/// - d S: what links are multiplied by, of each link.
inline std::vector<Matrix3> forces(const Lattice& lattice, const HostLinks& links, const FlowAction& action) {
  std::vector<Matrix3> all;
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    for (int mu = 0; mu < 4; ++mu) {
      const Dims x = lattice.coordinates(site);
      Matrix3 sides = Complex(1 - 8 * action.c1) * reference::weighted_staples(lattice, links, {1, 1}, x, mu);
      if (action.c1 != 0) sides = sides + Complex(action.c1) * rectangle_sides(lattice, links, x, mu);
      all.push_back(Complex(-1) * in_algebra(Matrix3::read(links.link(site, mu)) * sides));
    }
  }
  return all;
}

/// links = exp(sum_k c_k z_k) links.
inline void move(HostLinks& links, const std::vector<std::pair<double, const std::vector<Matrix3>*>>& terms) {
  for (std::size_t n = 0; n < links.data.size() / 9; ++n) {
    Matrix3 x;
    for (const auto& [c, z] : terms) x = x + Complex(c) * (*z)[n];
    Complex* const link = links.data.data() + 9 * n;
    (exp_i(Complex(0, -1) * x) * Matrix3::read(link)).write(link);
  }
}

/// Luescher's third-order step, as his appendix C has it.
inline void step_naively(const Lattice& lattice, HostLinks& links, double epsilon, const FlowAction& action = {}) {
  const std::vector<Matrix3> z0 = forces(lattice, links, action);
  move(links, {{epsilon / 4, &z0}});
  const std::vector<Matrix3> z1 = forces(lattice, links, action);
  move(links, {{epsilon * 8 / 9, &z1}, {-epsilon * 17 / 36, &z0}});
  const std::vector<Matrix3> z2 = forces(lattice, links, action);
  move(links, {{epsilon * 3 / 4, &z2}, {-epsilon * 8 / 9, &z1}, {epsilon * 17 / 36, &z0}});
}

/// Energies and charge from paths: four leaves a plane, antisymmetric in all four indices.
inline FlowPoint measured_naively(const Lattice& lattice, const HostLinks& links) {
  FlowPoint sum;
  const double sites = double(lattice.volume());
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const Dims x = lattice.coordinates(site);
    Matrix3 f[4][4];
    for (int mu = 0; mu < 4; ++mu) {
      for (int nu = 0; nu < 4; ++nu) {
        if (nu == mu) continue;
        Matrix3 leaves;
        for (const std::vector<int>& path : {std::vector<int>{mu, nu, mu - 4, nu - 4},
                                             {nu, mu - 4, nu - 4, mu},
                                             {mu - 4, nu - 4, mu, nu},
                                             {nu - 4, mu, nu, mu - 4}}) {
          leaves = leaves + along(lattice, links, x, path);
        }
        f[mu][nu] = in_algebra(Complex(0.25) * leaves);
        const Matrix3 plaquette = along(lattice, links, x, {mu, nu, mu - 4, nu - 4});
        const double trace = (plaquette(0, 0) + plaquette(1, 1) + plaquette(2, 2)).real();
        sum.plaquette += trace / (3 * 12 * sites);
        sum.energy_plaquette += (3 - trace) / sites;
        sum.energy_clover += 0.5 * real_trace_adjoint(f[mu][nu], f[mu][nu]) / sites;
      }
    }
    int p[4] = {0, 1, 2, 3};
    do {
      int inversions = 0;
      for (int i = 0; i < 4; ++i)
        for (int j = i + 1; j < 4; ++j) inversions += p[i] > p[j];
      const double product = real_trace_adjoint(f[p[0]][p[1]], f[p[2]][p[3]]);  // - tr F F
      sum.charge += (inversions % 2 == 0 ? 1 : -1) * product / (32 * std::numbers::pi * std::numbers::pi);
    } while (std::next_permutation(p, p + 4));
  }
  return sum;
}

}  // namespace quadrille::flow::naive
