// Random systems for RI-MP2, and the energy by its definition.
#pragma once

#include "modules/ri_mp2/energy.h"
#include "modules/ri_mp2/ri_mp2.h"
#include "tests/testing/random_seed.h"

#include <random>
#include <vector>

namespace quadrille::testing {

/// (P|Q) = L L^T with eigenvalues well above 0; gaps between 0.5 and about 5 Hartree.
inline ri_mp2::System random_system(std::int64_t occupied, std::int64_t virtuals, std::int64_t auxiliary) {
  std::mt19937_64 random(next_seed());
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  ri_mp2::System system{occupied, virtuals, auxiliary, {}, {}, {}, {}};
  system.ia_p.resize(std::size_t(occupied * virtuals * auxiliary));
  for (double& x : system.ia_p) x = 0.1 * normal(random);
  std::vector<double> l(std::size_t(auxiliary * auxiliary));
  for (double& x : l) x = normal(random);
  system.p_q.resize(l.size());
  for (std::int64_t p = 0; p < auxiliary; ++p) {
    for (std::int64_t q = 0; q < auxiliary; ++q) {
      double sum = p == q ? 0.3 * double(auxiliary) : 0;
      for (std::int64_t k = 0; k < auxiliary; ++k) {
        sum += l[std::size_t(p * auxiliary + k)] * l[std::size_t(q * auxiliary + k)];
      }
      system.p_q[std::size_t(p * auxiliary + q)] = sum / double(auxiliary);
    }
  }
  for (std::int64_t i = 0; i < occupied; ++i) system.eps_occupied.push_back(-0.3 - 2 * uniform(random));
  for (std::int64_t a = 0; a < virtuals; ++a) system.eps_virtual.push_back(0.2 + 2 * uniform(random));
  return system;
}

/// A random system with a row of (ia|P) and of B that is a hundred times as large as all others: a cutoff between them
/// leaves small errors only. The smallest cutoff that is tried leaves a fiftieth of the elements large: pairs must be
/// 50 or more.
inline ri_mp2::System system_with_a_large_row(std::int64_t occupied, std::int64_t virtuals, std::int64_t auxiliary) {
  ri_mp2::System system = random_system(occupied, virtuals, auxiliary);
  const auto row = system.ia_p.begin() + system.pairs() / 2 * auxiliary;
  for (auto x = row; x != row + auxiliary; ++x) *x *= 100;
  return system;
}

/// Solves m x = rhs by Gauss' elimination with pivots.
inline std::vector<double> solve(std::vector<double> m, std::vector<double> rhs, std::int64_t n) {
  const auto at = [&](std::int64_t r, std::int64_t c) -> double& { return m[std::size_t(r * n + c)]; };
  for (std::int64_t c = 0; c < n; ++c) {
    std::int64_t pivot = c;
    for (std::int64_t r = c; r < n; ++r) pivot = std::abs(at(r, c)) > std::abs(at(pivot, c)) ? r : pivot;
    for (std::int64_t k = 0; k < n; ++k) std::swap(at(c, k), at(pivot, k));
    std::swap(rhs[std::size_t(c)], rhs[std::size_t(pivot)]);
    for (std::int64_t r = c + 1; r < n; ++r) {
      const double factor = at(r, c) / at(c, c);
      for (std::int64_t k = c; k < n; ++k) at(r, k) -= factor * at(c, k);
      rhs[std::size_t(r)] -= factor * rhs[std::size_t(c)];
    }
  }
  for (std::int64_t r = n; r-- > 0;) {
    for (std::int64_t k = r + 1; k < n; ++k) rhs[std::size_t(r)] -= at(r, k) * rhs[std::size_t(k)];
    rhs[std::size_t(r)] /= at(r, r);
  }
  return rhs;
}

/// All (ia|jb) = sum_PQ (ia|P) [(P|Q)^{-1}]_PQ (Q|jb), without any square root: [i][a][j][b].
inline std::vector<double> integrals_of(const ri_mp2::System& system) {
  const std::int64_t pairs = system.pairs(), n = system.auxiliary;
  std::vector<double> out(std::size_t(pairs * pairs));
  for (std::int64_t jb = 0; jb < pairs; ++jb) {
    const auto row = system.ia_p.begin() + jb * n;
    const std::vector<double> x = solve(system.p_q, {row, row + n}, n);
    for (std::int64_t ia = 0; ia < pairs; ++ia) {
      for (std::int64_t p = 0; p < n; ++p) {
        out[std::size_t(ia * pairs + jb)] += system.ia_p[std::size_t(ia * n + p)] * x[std::size_t(p)];
      }
    }
  }
  return out;
}

/// E = sum (ia|jb) [2 (ia|jb) - (ib|ja)] / D, term by term.
inline double energy_of(const ri_mp2::System& system, const std::vector<double>& integrals) {
  const std::int64_t o = system.occupied, v = system.virtuals;
  const auto x = [&](std::int64_t i, std::int64_t a, std::int64_t j, std::int64_t b) {
    return integrals[std::size_t(((i * v + a) * o + j) * v + b)];
  };
  double energy = 0;
  for (std::int64_t i = 0; i < o; ++i) {
    for (std::int64_t j = 0; j < o; ++j) {
      for (std::int64_t a = 0; a < v; ++a) {
        for (std::int64_t b = 0; b < v; ++b) {
          const double d = system.eps_occupied[std::size_t(i)] + system.eps_occupied[std::size_t(j)] -
                           system.eps_virtual[std::size_t(a)] - system.eps_virtual[std::size_t(b)];
          energy += x(i, a, j, b) * (2 * x(i, a, j, b) - x(i, b, j, a)) / d;
        }
      }
    }
  }
  return energy;
}

/// All (ia|jb) as correlation_energy makes them.
inline std::vector<double> integrals_made(const ri_mp2::System& system, ri_mp2::Options options) {
  const std::int64_t v = system.virtuals, pairs = system.pairs();
  std::vector<double> out(std::size_t(pairs * pairs));
  const auto gather = [&](const auto& batch) {
    for (std::int64_t ia = 0; ia < batch.count_i * v; ++ia) {
      for (std::int64_t jb = 0; jb < batch.count_j * v; ++jb) {
        const double x = double(batch.integrals[ia * batch.count_j * v + jb]);
        const std::int64_t row = batch.first_i * v + ia, column = batch.first_j * v + jb;
        out[std::size_t(row * pairs + column)] = x;
        if (batch.first_i != batch.first_j) out[std::size_t(column * pairs + row)] = x;
      }
    }
  };
  options.see_batch = gather;
  options.see_single_batch = gather;
  (void)correlation_energy(system, options);
  return out;
}

}  // namespace quadrille::testing
