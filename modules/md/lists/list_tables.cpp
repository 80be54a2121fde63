#include "modules/md/lists/list_tables.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::md {
namespace {

/// A pair at the cutoff, before it is shifted: force along the separation and energy; of charges over K q q.
struct Edge {
  double force = 0, energy = 0;
};
Edge edge_of(double c12, double c6, double rc) {
  return {12 * c12 / std::pow(rc, 13) - 6 * c6 / std::pow(rc, 7), c12 / std::pow(rc, 12) - c6 / std::pow(rc, 6)};
}
Edge edge_of_charges(const ForceOptions& options) {
  const double rc = options.cutoff;
  const ReactionField field = reaction_field(options);
  return {1 / (rc * rc) - 2 * field.krf * rc, 1 / rc + field.krf * rc * rc - field.crf};
}
/// What is taken from forces and from energies at a distance r, of which the second is without force x r.
Edge shift_of(const Edge& edge, Truncation truncation, double rc) {
  switch (truncation) {
    case Truncation::cut: return {};
    case Truncation::shifted_potential: return {0, edge.energy};
    default: return {edge.force, edge.energy + rc * edge.force};
  }
}

}  // namespace

System system_of_lists(System system, const ListOptions& options) {
  check_system(system, options.forces);
  const auto refuse = [](const std::string& what) { throw Error(ErrorCode::invalid_input, what); };
  if (!(options.forces.cutoff > 0)) refuse("neighbour lists need a cutoff");
  if (!(options.skin > 0) || !std::isfinite(options.skin)) {
    refuse(fmt::format("skin = {:g}: it must be above 0", options.skin));
  }
  const Method method = options.forces.method;
  if (method == Method::exact || method == Method::magnitudes) {
    refuse("neighbour lists cannot use the method " + letter_of(method));
  }
  for (std::vector<double>* unused : {&system.positions, &system.velocities, &system.masses})
    std::vector<double>().swap(*unused);
  system.bonds.clear();
  system.angles.clear();
  system.torsions.clear();
  sort_exclusions(system);
  return system;
}

void check_places(std::int64_t size, const ForceOptions& options, std::span<const double> positions,
                  const std::array<double, 3>& box) {
  check_positions(size, options, positions, box);
  for (std::size_t n = 0; n < positions.size(); ++n) {
    if (std::abs(positions[n]) < furthest * box[n % 3]) continue;
    throw Error(ErrorCode::numerical,
                fmt::format("particle {} is lost: its coordinate {} is {:g}, more than 2^18 box edges away", n / 3 + 1,
                            "xyz"[n % 3], positions[n]));
  }
}

double constant_force(const System& system, const ListOptions& options) {
  if (options.truncation != Truncation::shifted_force) return 0;
  double most = 0, charge = 0;
  for (std::size_t n = 0; n < system.table.c12.size(); ++n) {
    most = std::max(most, std::abs(edge_of(system.table.c12[n], system.table.c6[n], options.forces.cutoff).force));
  }
  if (options.forces.coulomb != Coulomb::none) {
    for (const double q : system.charges) charge = std::max(charge, std::abs(q));
  }
  return most + charge * charge * std::abs(system.coulomb_constant * edge_of_charges(options.forces).force);
}

OwnPairs::OwnPairs(const System& system, const ListOptions& options) {
  std::vector<std::vector<Entry>> of_particle;
  const auto add = [&](std::int32_t a, std::int32_t b, std::int64_t scaled) {
    if (of_particle.empty()) of_particle.resize(std::size_t(system.size()));
    of_particle[std::size_t(a)].push_back({b, scaled});
    of_particle[std::size_t(b)].push_back({a, scaled});
  };
  if (options.forces.exclusions == ExclusionWay::afterwards) {
    for (const auto& [a, b] : system.exclusions) add(a, b, -1);
  }
  for (std::size_t n = 0; n < system.scaled_pairs.size(); ++n) {
    add(system.scaled_pairs[n].first, system.scaled_pairs[n].second, std::int64_t(n));
  }
  if (of_particle.empty()) return;
  begin.push_back(0);
  for (const std::vector<Entry>& list : of_particle) {
    entries.insert(entries.end(), list.begin(), list.end());
    begin.push_back(std::int64_t(entries.size()));
  }
}

template <class T>
void ListTables<T>::scale(const System& system, const ListOptions& options, const OwnPairs& own,
                          const Exponents& exponents) {
  of_types.scale(system.table, exponents);
  const std::size_t count = system.table.c12.size();
  edge_force.resize(count);
  energy_shift.resize(count);
  const double rc = options.forces.cutoff;
  for (std::size_t n = 0; n < count; ++n) {
    const Edge shift = shift_of(edge_of(system.table.c12[n], system.table.c6[n], rc), options.truncation, rc);
    edge_force[n] = T(std::ldexp(shift.force, exponents.force));
    energy_shift[n] = T(std::ldexp(shift.energy, exponents.energy));
  }
  for (std::vector<T>* table :
       {&of_types.force12, &of_types.force6, &of_types.energy12, &of_types.energy6, &edge_force, &energy_shift}) {
    table->resize(std::max(count, table_room));
  }
  const Edge charges = shift_of(edge_of_charges(options.forces), options.truncation, rc);
  problem.edge_coulomb = T(charges.force);
  problem.shift_coulomb = T(charges.energy);
  problem.shifted_force = options.truncation == Truncation::shifted_force;
  problem.types = system.table.types;
  problem.cutoff_squared = T(rc) * T(rc);
  scale_constants<T>(problem, system, options.forces, exponents);
  listed.clear();
  for (const OwnPairs::Entry& entry : own.entries) {
    if (entry.scaled < 0) {
      listed.push_back({entry.other, 1, 0, 0, 0, 0, 0});
    } else {
      listed.push_back(scaled_pair<T>(system.scaled_pairs[std::size_t(entry.scaled)], entry.other, exponents));
    }
  }
}

template <class T>
void ListTables<T>::set_box(const std::array<double, 3>& box) {
  for (std::size_t k = 0; k < 3; ++k) {
    problem.unit[k] = T(box[k] * 0x1p-32);
    problem.edges[k] = T(box[k]);
    problem.inverse_edges[k] = T(1 / box[k]);
  }
}

template <class T>
ListProblem<T> ListTables<T>::pointed() const {
  ListProblem<T> out = problem;
  out.force12 = of_types.force12.data();
  out.force6 = of_types.force6.data();
  out.energy12 = of_types.energy12.data();
  out.energy6 = of_types.energy6.data();
  out.edge_force = edge_force.data();
  out.energy_shift = energy_shift.data();
  out.listed = listed.data();
  return out;
}

template struct ListTables<float>;
template struct ListTables<double>;

}  // namespace quadrille::md
