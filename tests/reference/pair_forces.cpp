#include "tests/reference/pair_forces.h"

#include <cmath>
#include <set>

namespace quadrille::reference {

namespace {

void add_pair(PairTotals& totals, std::int64_t i, std::int64_t j, const std::array<double, 3>& d, double slope_over_r,
              double energy) {
  for (std::size_t k = 0; k < 3; ++k) {
    totals.forces[std::size_t(3 * i) + k] += slope_over_r * d[k];
    totals.forces[std::size_t(3 * j) + k] -= slope_over_r * d[k];
    for (std::size_t l = 0; l < 3; ++l) totals.virial[3 * k + l] += slope_over_r * d[k] * d[l];
  }
  totals.energy += energy;
}

}  // namespace

PairTotals pair_forces(const md::System& system, const md::ForceOptions& options) {
  PairTotals totals;
  totals.forces.assign(system.positions.size(), 0);
  std::set<std::pair<std::int64_t, std::int64_t>> excluded;
  for (const auto& [a, b] : system.exclusions) excluded.insert({std::min(a, b), std::max(a, b)});
  const auto separation = [&](std::int64_t i, std::int64_t j) {
    std::array<double, 3> d{};
    for (std::size_t k = 0; k < 3; ++k) {
      d[k] = system.positions[std::size_t(3 * i) + k] - system.positions[std::size_t(3 * j) + k];
      if (options.cutoff > 0) d[k] -= system.box[k] * std::round(d[k] / system.box[k]);
    }
    return d;
  };
  double krf = 0, crf = 0;
  if (options.coulomb == md::Coulomb::reaction_field) {
    const double rc = options.cutoff, e = options.dielectric;
    krf = (e - 1) / (2 * e + 1) / std::pow(rc, 3);
    crf = 3 * e / (2 * e + 1) / rc;
  }
  const double constant = options.coulomb == md::Coulomb::none ? 0 : system.coulomb_constant;
  for (std::int64_t i = 0; i < system.size(); ++i) {
    for (std::int64_t j = i + 1; j < system.size(); ++j) {
      if (excluded.count({i, j}) != 0) continue;
      const auto d = separation(i, j);
      const double r = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
      if (options.cutoff > 0 && r >= options.cutoff) continue;
      const auto at = std::size_t(system.types[std::size_t(i)] * system.table.types + system.types[std::size_t(j)]);
      const double c12 = system.table.c12[at], c6 = system.table.c6[at];
      const double qq = constant == 0 ? 0 : constant * system.charges[std::size_t(i)] * system.charges[std::size_t(j)];
      add_pair(totals, i, j, d,
               12 * c12 / std::pow(r, 14) - 6 * c6 / std::pow(r, 8) + qq * (1 / std::pow(r, 3) - 2 * krf),
               c12 / std::pow(r, 12) - c6 / std::pow(r, 6) + qq * (1 / r + krf * r * r - crf));
    }
  }
  for (const md::ScaledPair& pair : system.scaled_pairs) {
    const auto d = separation(pair.first, pair.second);
    const double r = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), qq = constant * pair.charge_product;
    add_pair(totals, pair.first, pair.second, d,
             12 * pair.c12 / std::pow(r, 14) - 6 * pair.c6 / std::pow(r, 8) + qq / std::pow(r, 3),
             pair.c12 / std::pow(r, 12) - pair.c6 / std::pow(r, 6) + qq / r);
  }
  return totals;
}

}  // namespace quadrille::reference
