#include "modules/md/pairs/pair_order.h"

#include "core/backend/backend.h"
#include "core/comm/communicator.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace quadrille::md {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_input, message); }

void check_pair(const char* what, std::int64_t number, std::int64_t a, std::int64_t b, std::int64_t size) {
  if (a == b || a < 0 || b < 0 || a >= size || b >= size) {
    refuse(fmt::format("{} {} is of particles {} and {}: two different particles from 1 to {} are needed", what,
                       number + 1, a + 1, b + 1, size));
  }
}

void check_table(const LennardJonesTable& table) {
  const auto expected = std::size_t(table.types) * std::size_t(table.types);
  if (table.types < 1 || table.c12.size() != expected || table.c6.size() != expected) {
    refuse(fmt::format("the Lennard-Jones table has {} and {} coefficients for {} types: it needs {} of each",
                       table.c12.size(), table.c6.size(), table.types, expected));
  }
  for (int a = 0; a < table.types; ++a) {
    for (int b = 0; b < table.types; ++b) {
      const auto at = std::size_t(a * table.types + b), mirrored = std::size_t(b * table.types + a);
      if (!std::isfinite(table.c12[at]) || !std::isfinite(table.c6[at]) || table.c12[at] < 0) {
        refuse(
            fmt::format("Lennard-Jones coefficients of types {} and {}: C12 = {:g} and C6 = {:g} must be finite, and "
                        "C12 must not be negative",
                        a + 1, b + 1, table.c12[at], table.c6[at]));
      }
      if (table.c12[at] != table.c12[mirrored] || table.c6[at] != table.c6[mirrored]) {
        refuse(fmt::format("the Lennard-Jones table must be symmetric: it is not for types {} and {}", a + 1, b + 1));
      }
    }
  }
}

}  // namespace

void check_system(const System& system, const ForceOptions& options) {
  const std::int64_t size = system.size();
  if (size < 1) refuse("a system must have at least one particle");
  if (size > std::numeric_limits<std::int32_t>::max() / 2)
    refuse(fmt::format("{} particles are too many: there may be at most {}", size,
                       std::numeric_limits<std::int32_t>::max() / 2));
  check_table(system.table);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int32_t type = system.types[std::size_t(i)];
    if (type >= 0 && type < system.table.types) continue;
    refuse(fmt::format("particle {} has type {}: the table has types 1 to {}", i + 1, type + 1, system.table.types));
  }
  if (options.coulomb != Coulomb::none && std::int64_t(system.charges.size()) != size) {
    refuse(fmt::format("{} charges for {} particles: each particle has one", system.charges.size(), size));
  }
  for (std::size_t i = 0; i < system.charges.size(); ++i) {
    if (!std::isfinite(system.charges[i])) refuse(fmt::format("the charge of particle {} is not finite", i + 1));
  }
  for (std::size_t n = 0; n < system.exclusions.size(); ++n) {
    check_pair("exclusion", std::int64_t(n), system.exclusions[n].first, system.exclusions[n].second, size);
  }
  for (std::size_t n = 0; n < system.scaled_pairs.size(); ++n) {
    check_pair("1-4 pair", std::int64_t(n), system.scaled_pairs[n].first, system.scaled_pairs[n].second, size);
  }
  if (!(options.cutoff >= 0) || !std::isfinite(options.cutoff)) {
    refuse(fmt::format("cutoff = {:g}: it must be above 0, or 0 for no cutoff", options.cutoff));
  }
  if (options.coulomb == Coulomb::reaction_field && !(options.cutoff > 0)) {
    refuse("a reaction field needs a cutoff");
  }
  if (!(options.dielectric >= 1)) refuse(fmt::format("dielectric = {:g}: it must be 1 or more", options.dielectric));
}

void check_box(const ForceOptions& options, const std::array<double, 3>& box) {
  if (box == std::array<double, 3>{}) {
    refuse(
        fmt::format("the system has no box: with a cutoff of {:g} it must be periodic, with edges of at least {:g}; "
                    "open space is possible only without a cutoff, in md_forces",
                    options.cutoff, 2 * options.cutoff));
  }
  for (std::size_t k = 0; k < 3; ++k) {
    if (box[k] >= 2 * options.cutoff && std::isfinite(box[k])) continue;
    refuse(fmt::format("edge {} of the box is {:g}: it must be at least twice the cutoff, {:g}", "xyz"[k], box[k],
                       2 * options.cutoff));
  }
}

void check_positions(std::int64_t size, const ForceOptions& options, std::span<const double> positions,
                     const std::array<double, 3>& box) {
  if (std::int64_t(positions.size()) != 3 * size) {
    refuse(fmt::format("{} coordinates for {} particles: each particle has three", positions.size(), size));
  }
  for (std::size_t n = 0; n < positions.size(); ++n) {
    if (std::isfinite(positions[n]) && std::abs(positions[n]) < 1e15) continue;
    throw Error(ErrorCode::numerical,
                fmt::format("coordinate {} of particle {} is {}", "xyz"[n % 3], n / 3 + 1, positions[n]));
  }
  if (options.cutoff > 0) check_box(options, box);
}

void explain_infinite(const System& system, const ForceOptions& options, std::span<const double> positions,
                      const std::array<double, 3>& box, std::int32_t particle) {
  double least = std::numeric_limits<double>::infinity();
  std::int64_t other = -1;
  for (std::int64_t j = 0; j < system.size(); ++j) {
    double squared = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      double d = positions[3 * std::size_t(particle) + k] - positions[3 * std::size_t(j) + k];
      if (options.cutoff > 0) d -= box[k] * std::rint(d / box[k]);
      squared += d * d;
    }
    const Exclusion pair{std::min<std::int32_t>(particle, std::int32_t(j)),
                         std::max<std::int32_t>(particle, std::int32_t(j))};
    const bool excluded = options.exclusions == ExclusionWay::on_the_fly &&
                          std::binary_search(system.exclusions.begin(), system.exclusions.end(), pair);
    if (j == particle || excluded || !(squared < least)) continue;
    least = squared;
    other = j;
  }
  throw Error(ErrorCode::numerical,
              fmt::format("the force on particle {} is not finite: particle {} is at a distance of {:g}", particle + 1,
                          other + 1, std::sqrt(least)));
}

void sort_exclusions(System& system) {
  for (auto& [a, b] : system.exclusions) {
    if (a > b) std::swap(a, b);
  }
  std::sort(system.exclusions.begin(), system.exclusions.end());
  system.exclusions.erase(std::unique(system.exclusions.begin(), system.exclusions.end()), system.exclusions.end());
}

PairOrder order_particles(const System& system, const std::vector<Exclusion>& masked) {
  const auto size = std::size_t(system.size());
  PairOrder order;
  std::vector<std::vector<std::int32_t>> of_type(std::size_t(system.table.types));
  for (std::size_t i = 0; i < size; ++i) of_type[std::size_t(system.types[i])].push_back(std::int32_t(i));
  order.slot_of.resize(size);
  for (std::size_t type = 0; type < of_type.size(); ++type) {
    for (std::size_t n = 0; n < of_type[type].size(); ++n) {
      if (n % chunk_size == 0) {
        order.chunk_type.push_back(std::int32_t(type));
        order.chunk_count.push_back(0);
        order.particle_of.resize(order.chunk_type.size() * chunk_size, -1);
      }
      const std::size_t slot = (order.chunk_type.size() - 1) * chunk_size + n % chunk_size;
      order.particle_of[slot] = of_type[type][n];
      order.slot_of[std::size_t(of_type[type][n])] = std::int32_t(slot);
      ++order.chunk_count.back();
    }
  }
  // Rows of bits by group and chunk; the diagonal is there for every group.
  using Rows = std::array<std::uint64_t, chunk_size>;
  std::vector<std::map<std::int32_t, Rows>> rows(std::size_t(order.groups()));
  const auto leave_out = [&](std::int32_t i, std::int32_t j) {
    rows[std::size_t(i / chunk_size)][j / chunk_size][std::size_t(i % chunk_size)] |= std::uint64_t(1)
                                                                                      << j % chunk_size;
  };
  for (std::int32_t slot = 0; slot < std::int32_t(order.slots()); ++slot) leave_out(slot, slot);
  for (const auto& [a, b] : masked) {
    const std::int32_t i = order.slot_of[std::size_t(a)], j = order.slot_of[std::size_t(b)];
    leave_out(i, j);
    leave_out(j, i);
  }
  order.masked_begin.push_back(0);
  for (const auto& group : rows) {
    for (const auto& [chunk, words] : group) {
      order.masked_chunks.push_back(chunk);
      order.mask.insert(order.mask.end(), words.begin(), words.end());
    }
    order.masked_begin.push_back(std::int64_t(order.masked_chunks.size()));
  }
  return order;
}

ListedPairs list_pairs(const System& system, const PairOrder& order, bool take_away) {
  std::vector<std::vector<ListedIndex>> of_slot(std::size_t(order.slots()));
  const auto add = [&](std::int32_t a, std::int32_t b, std::int64_t scaled) {
    const std::int32_t i = order.slot_of[std::size_t(a)], j = order.slot_of[std::size_t(b)];
    of_slot[std::size_t(i)].push_back({j, scaled});
    of_slot[std::size_t(j)].push_back({i, scaled});
  };
  if (take_away) {
    for (const auto& [a, b] : system.exclusions) add(a, b, -1);
  }
  for (std::size_t n = 0; n < system.scaled_pairs.size(); ++n) {
    add(system.scaled_pairs[n].first, system.scaled_pairs[n].second, std::int64_t(n));
  }
  ListedPairs out;
  out.begin.push_back(0);
  for (const auto& list : of_slot) {
    out.pairs.insert(out.pairs.end(), list.begin(), list.end());
    out.begin.push_back(std::int64_t(out.pairs.size()));
  }
  return out;
}

}  // namespace quadrille::md
