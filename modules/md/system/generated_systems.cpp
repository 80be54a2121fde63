#include "core/error.h"
#include "core/random/random.h"
#include "modules/md/system/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::md {
namespace {

void check_density(double density) {
  if (density > 0 && std::isfinite(density)) return;
  throw Error(ErrorCode::invalid_input, fmt::format("the density is {:g}: it must be above 0", density));
}

/// Of a face-centred cubic lattice: its constant, and its cells along an edge.
double fcc_constant(double density) { return std::cbrt(4 / density); }

std::int64_t fcc_cells(std::int64_t count) {
  const auto of = [](std::int64_t n) { return 4 * n * n * n; };
  const auto cells = std::max<std::int64_t>(1, std::llround(std::cbrt(double(count) / 4)));
  if (of(cells) == count) return cells;
  const std::int64_t other = of(cells) < count ? cells + 1 : std::max<std::int64_t>(1, cells - 1);
  const auto [less, more] = std::minmax({of(cells), of(other)});
  const std::string near = less == more ? fmt::format("{}", less) : fmt::format("{} or {}", less, more);
  throw Error(ErrorCode::invalid_input,
              fmt::format("a face-centred cubic lattice has 4 n^3 particles, not {}: use {}", count, near));
}

/// Of the cubic lattice of random particles: its spacing, and its sites along an edge.
double random_spacing(double density) { return std::cbrt(1 / density); }
std::int64_t random_side(std::int64_t count) { return std::int64_t(std::ceil(std::cbrt(double(count)) - 1e-9)); }

/// Streams of the random numbers of a system.
constexpr std::uint32_t of_types = 1, of_particles = 2;

}  // namespace

LennardJonesTable mixed_table(std::span<const double> sigma, std::span<const double> epsilon, Mixing mixing) {
  LennardJonesTable table;
  table.types = int(sigma.size());
  for (std::size_t a = 0; a < sigma.size(); ++a) {
    for (std::size_t b = 0; b < sigma.size(); ++b) {
      const double s = mixing == Mixing::geometric ? std::sqrt(sigma[a] * sigma[b]) : (sigma[a] + sigma[b]) / 2;
      const double e = std::sqrt(epsilon[a] * epsilon[b]), sixth = std::pow(s, 6);
      table.c12.push_back(4 * e * sixth * sixth);
      table.c6.push_back(4 * e * sixth);
    }
  }
  return table;
}

double fcc_edge(std::int64_t count, double density) {
  check_density(density);
  return fcc_constant(density) * double(fcc_cells(count));
}

System fcc_system(std::int64_t count, double density) {
  const double edge = fcc_edge(count, density), constant = fcc_constant(density);
  const std::int64_t cells = fcc_cells(count);
  System system;
  system.name = fmt::format("fcc, {} particles", count);
  system.box.fill(edge);
  constexpr double basis[4][3] = {{0, 0, 0}, {0, 0.5, 0.5}, {0.5, 0, 0.5}, {0.5, 0.5, 0}};
  for (std::int64_t cell = 0; cell < cells * cells * cells; ++cell) {
    const std::int64_t corner[3] = {cell % cells, cell / cells % cells, cell / (cells * cells)};
    for (const auto& site : basis) {
      for (int k = 0; k < 3; ++k) system.positions.push_back(constant * (double(corner[k]) + site[k]));
    }
  }
  system.types.assign(std::size_t(count), 0);
  system.masses.assign(std::size_t(count), 1);
  const double one[] = {1};
  system.table = mixed_table(one, one, Mixing::lorentz_berthelot);
  return system;
}

double random_edge(std::int64_t count, double density) {
  check_density(density);
  return random_spacing(density) * double(random_side(count));
}

System random_system(std::int64_t count, int types, double density, double disorder, std::uint64_t seed) {
  check_density(density);
  if (count < 1 || types < 1) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("{} particles of {} types: both must be 1 or more", count, types));
  }
  System system;
  system.name = fmt::format("random, {} particles of {} types", count, types);
  std::vector<double> sigma, epsilon;
  for (int type = 0; type < types; ++type) {
    SiteRandom random(seed, RandomPurpose::GeneratedSystem, type, of_types);
    sigma.push_back(0.8 + 0.4 * random.uniform());
    epsilon.push_back(0.5 + random.uniform());
  }
  system.table = mixed_table(sigma, epsilon, Mixing::lorentz_berthelot);
  const std::int64_t side = random_side(count);
  const double spacing = random_spacing(density);
  system.box.fill(random_edge(count, density));
  for (std::int64_t particle = 0; particle < count; ++particle) {
    SiteRandom random(seed, RandomPurpose::GeneratedSystem, particle, of_particles);
    const std::int64_t site[3] = {particle % side, particle / side % side, particle / (side * side)};
    for (const std::int64_t k : site) {
      system.positions.push_back(spacing * (double(k) + disorder * (2 * random.uniform() - 1)));
    }
    system.types.push_back(std::min(types - 1, int(random.uniform() * types)));
  }
  system.masses.assign(std::size_t(count), 1);
  return system;
}

}  // namespace quadrille::md
