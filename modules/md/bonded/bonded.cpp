#include "modules/md/bonded/bonded.h"

#include "core/error.h"
#include "core/numbers/chunked_sum.h"

#include <fmt/format.h>

#include <atomic>
#include <limits>

namespace quadrille::md {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_input, message); }

template <class Term>
void check_particles(const char* kind, std::size_t number, const Term& term, std::int64_t size) {
  for (const std::int32_t particle : term.particle) {
    if (particle >= 0 && particle < size) continue;
    refuse(fmt::format("{} {} is of particle {}: there are {}", kind, number + 1, particle + 1, size));
  }
}

TorsionTerm prepared(const Torsion& torsion, std::size_t number) {
  const double n = torsion.periodicity;
  if (!(n >= 0 && n <= 100) || n != std::floor(n)) {
    refuse(fmt::format("torsion {} has the periodicity {:g}: it must be a whole number from 0 to 100", number + 1, n));
  }
  return {{torsion.a, torsion.b, torsion.c, torsion.d},
          {},
          std::int32_t(n),
          torsion.k,
          std::cos(torsion.phase),
          std::sin(torsion.phase)};
}

/// Calls body(terms) for each kind, in their order.
template <class Tables, class Body>
void for_each_kind(Tables& tables, Body&& body) {
  body(tables.bonds, "bond");
  body(tables.angles, "angle");
  body(tables.torsions, "torsion");
}

Triple triple_at(std::span<const double> numbers, std::int64_t particle) {
  const double* const x = numbers.data() + 3 * particle;
  return {x[0], x[1], x[2]};
}

}  // namespace

BondedTables::BondedTables(const System& system) : begin(std::size_t(system.size()) + 1) {
  for (const Bond& bond : system.bonds) bonds.push_back({{bond.a, bond.b}, {}, bond.k, bond.length});
  for (const Angle& angle : system.angles) angles.push_back({{angle.a, angle.b, angle.c}, {}, angle.k, angle.angle});
  for (const Torsion& torsion : system.torsions) torsions.push_back(prepared(torsion, torsions.size()));
  if (terms() > std::numeric_limits<std::int32_t>::max() / 4)
    refuse(fmt::format("{} bonded terms are too many", terms()));
  for_each_kind(*this, [&](const auto& kind, const char* name) {
    for (std::size_t n = 0; n < kind.size(); ++n) {
      check_particles(name, n, kind[n], system.size());
      for (const std::int32_t particle : kind[n].particle) ++begin[std::size_t(particle) + 1];
    }
  });
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<std::int32_t> next(begin.begin(), begin.end() - 1);
  for_each_kind(*this, [&](auto& kind, const char*) {
    for (auto& term : kind) {
      for (int m = 0; m < term.size; ++m) term.place[m] = next[std::size_t(term.particle[m])]++;
    }
  });
}

BondedSums::BondedSums(const System& system)
    : tables_(system),
      on_particles_(static_cast<std::size_t>(tables_.begin.back())),
      energies_(static_cast<std::size_t>(tables_.terms())) {}

BondedProblem BondedSums::problem() {
  return {std::int64_t(tables_.bonds.size()),
          std::int64_t(tables_.angles.size()),
          std::int64_t(tables_.torsions.size()),
          tables_.bonds.data(),
          tables_.angles.data(),
          tables_.torsions.data(),
          tables_.begin.data(),
          on_particles_.data(),
          energies_.data()};
}

void BondedSums::find(std::span<const double> positions) {
  const BondedProblem all = problem();
  std::atomic<std::int64_t> undefined = all.terms();
  team_ranges(all.terms(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t term = begin; term < end; ++term) {
      if (find_term(all, term, [&](std::int32_t i) { return triple_at(positions, i); })) continue;
      std::int64_t first = undefined;
      while (term < first && !undefined.compare_exchange_weak(first, term)) {
      }
    }
  });
  if (undefined < all.terms()) explain_undefined(tables_, undefined, positions);
}

void BondedSums::add_to(std::span<double> forces) const {
  team_ranges(std::int64_t(tables_.begin.size()) - 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Triple sum = on(i);
      double* const out = forces.data() + 3 * i;
      out[0] += sum.x;
      out[1] += sum.y;
      out[2] += sum.z;
    }
  });
}

std::array<double, 3> BondedSums::energies() const {
  std::array<double, 3> out{};
  const double* at = energies_.data();
  std::size_t kind = 0;
  for_each_kind(tables_, [&](const auto& terms, const char*) {
    out[kind++] = chunked_sum<1>(std::int64_t(terms.size()),
                                 [&](std::int64_t n, std::array<double, 1>& sum) { sum[0] += at[n]; })[0];
    at += terms.size();
  });
  return out;
}

double BondedSums::virial(std::span<const double> positions) const {
  return chunked_sum<1>(std::int64_t(tables_.begin.size()) - 1, [&](std::int64_t i, std::array<double, 1>& sum) {
    sum[0] += dot(on(i), triple_at(positions, i));
  })[0];
}

void explain_undefined(const BondedTables& tables, std::int64_t term, std::span<const double> positions) {
  const auto fail = [](const std::string& what) { throw Error(ErrorCode::numerical, what); };
  auto n = std::size_t(term);
  if (n < tables.bonds.size()) {
    const auto [a, b] = tables.bonds[n].particle;
    const Triple d = triple_at(positions, a) - triple_at(positions, b);
    fail(fmt::format("the bond of particles {} and {} has length {}: it must be above 0", a + 1, b + 1,
                     std::sqrt(dot(d, d))));
  }
  n -= tables.bonds.size();
  if (n < tables.angles.size()) {
    const auto [a, b, c] = tables.angles[n].particle;
    fail(fmt::format("the angle of particles {}, {} and {} has no plane: they must not lie on a line", a + 1, b + 1,
                     c + 1));
  }
  const auto [a, b, c, d] = tables.torsions[n - tables.angles.size()].particle;
  throw Error(
      ErrorCode::numerical,
      fmt::format("the torsion of particles {}, {}, {} and {} has no plane: no three in a row may lie on a line", a + 1,
                  b + 1, c + 1, d + 1));
}

BondedForces bonded_forces(const System& system) {
  BondedSums sums(system);
  sums.find(system.positions);
  BondedForces out;
  out.forces.assign(system.positions.size(), 0);
  sums.add_to(out.forces);
  const auto [bonds, angles, torsions] = sums.energies();
  out.bonds = bonds;
  out.angles = angles;
  out.torsions = torsions;
  return out;
}

}  // namespace quadrille::md
