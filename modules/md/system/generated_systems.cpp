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

void require_counts(std::int64_t particles, int types) {
  if (particles >= 1 && types >= 1) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("{} particles of {} types: both must be 1 or more", particles, types));
}

LennardJonesTable random_table(int types, std::uint64_t seed) {
  std::vector<double> sigma, epsilon;
  for (int type = 0; type < types; ++type) {
    SiteRandom random(seed, RandomPurpose::GeneratedSystem, type, of_types);
    sigma.push_back(0.8 + 0.4 * random.uniform());
    epsilon.push_back(0.5 + random.uniform());
  }
  return mixed_table(sigma, epsilon, Mixing::lorentz_berthelot);
}

/// A particle near `place`, of a random type.
void add_random_particle(System& system, const double (&place)[3], double displacement, std::uint64_t seed) {
  SiteRandom random(seed, RandomPurpose::GeneratedSystem, system.size(), of_particles);
  for (const double x : place) system.positions.push_back(x + displacement * (2 * random.uniform() - 1));
  system.types.push_back(std::min(system.table.types - 1, int(random.uniform() * system.table.types)));
}

/// Zigzags: the way along the chain and across it from one particle to the next.
constexpr double bond = 0.5, degree = 0.017453292519943295, bond_angle = 112 * degree;
const double along = bond * std::sin(bond_angle / 2), across = bond * std::cos(bond_angle / 2);

/// Chains on their places: `lines` of them behind each other along x, side x side of these beside each other. A place
/// is as long as a chain and the way of two more particles, or as it is wide where chains are far apart.
struct Places {
  std::int64_t lines, side;
  double length, spacing;

  explicit Places(const Chains& chains) {
    const double number = double(chains.count) / double(chains.length);
    const double volume = double(chains.length) / chains.density;
    length = std::max((double(chains.length) + 2) * along, std::cbrt(volume));
    spacing = std::sqrt(volume / length);
    lines = std::max<std::int64_t>(1, std::llround(std::cbrt(number * spacing * spacing / (length * length))));
    side = std::int64_t(std::ceil(std::sqrt(number / double(lines)) - 1e-9));
  }
};

void check_chains(const Chains& chains) {
  check_density(chains.density);
  require_counts(chains.count, 1);
  if (chains.length >= 1 && chains.count % chains.length == 0) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("{} particles in chains of {}: the number must be a multiple", chains.count, chains.length));
}

/// Bonds and angles of a chain from particle `first` on, and the exclusions that come of them.
void bind_chain(System& system, std::int64_t first, std::int64_t length) {
  constexpr double bond_strength = 1000, angle_strength = 100;
  for (std::int64_t k = first; k < first + length; ++k) {
    const auto [a, b, c] = std::array{std::int32_t(k), std::int32_t(k + 1), std::int32_t(k + 2)};
    if (k + 1 < first + length) {
      system.bonds.push_back({a, b, bond_strength, bond});
      system.exclusions.push_back({a, b});
    }
    if (k + 2 < first + length) {
      system.angles.push_back({a, b, c, angle_strength, bond_angle});
      system.exclusions.push_back({a, c});
    }
  }
}

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
  require_counts(count, types);
  System system;
  system.name = fmt::format("random, {} particles of {} types", count, types);
  system.table = random_table(types, seed);
  const std::int64_t side = random_side(count);
  const double spacing = random_spacing(density);
  system.box.fill(random_edge(count, density));
  for (std::int64_t particle = 0; particle < count; ++particle) {
    const double place[] = {spacing * double(particle % side), spacing * double(particle / side % side),
                            spacing * double(particle / (side * side))};
    add_random_particle(system, place, spacing * disorder, seed);
  }
  system.masses.assign(std::size_t(count), 1);
  return system;
}

std::array<double, 3> chain_box(const Chains& chains) {
  check_chains(chains);
  const Places places(chains);
  const double edge = double(places.side) * places.spacing;
  return {double(places.lines) * places.length, edge, edge};
}

System chain_system(const Chains& chains, int types, double disorder, std::uint64_t seed) {
  check_chains(chains);
  require_counts(chains.count, types);
  System system;
  system.name = fmt::format("chains of {}, {} particles of {} types", chains.length, chains.count, types);
  system.table = random_table(types, seed);
  system.box = chain_box(chains);
  const Places places(chains);
  for (std::int64_t chain = 0; chain < chains.count / chains.length; ++chain) {
    const std::int64_t line = chain / places.lines;
    const double corner[] = {places.length * double(chain % places.lines), places.spacing * double(line % places.side),
                             places.spacing * double(line / places.side)};
    bind_chain(system, system.size(), chains.length);
    for (std::int64_t k = 0; k < chains.length; ++k) {
      const double place[] = {corner[0] + along * double(k), corner[1] + across * double(k % 2), corner[2]};
      add_random_particle(system, place, disorder * bond, seed);
    }
  }
  system.masses.assign(std::size_t(chains.count), 1);
  return system;
}

}  // namespace quadrille::md
