#include "modules/md/list_forces.h"

#include "core/backend/backend.h"
#include "core/error.h"
#include "core/numbers/chunked_sum.h"
#include "core/simd/isa.h"
#include "modules/md/fixed_scales.h"
#include "modules/md/list_kernels.h"
#include "modules/md/neighbour_lists.h"
#include "modules/md/pair_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>

namespace quadrille::md {
namespace {

/// What single precision may take from a distance is little beside this: lists are built for a radius that much larger.
constexpr double margin = 1e-5;

ListKernels find_kernels(const ListForm& form) {
  switch (active_isa()) {
#ifdef QUADRILLE_HAVE_AVX512
    case Isa::Avx512: return find_list_kernels_avx512(form);
#endif
#ifdef QUADRILLE_HAVE_AVX2
    case Isa::Avx2: return find_list_kernels_avx2(form);
#endif
    default: return find_list_kernels_generic(form);
  }
}

/// The nearest whole number of 2^-32 of the edge, in the box; |fraction| < 2^19 edges.
std::uint32_t fraction_of(double position, double inverse_unit) {
  const double shifted = position * inverse_unit + 0x1.8p52;
  return std::uint32_t(std::bit_cast<std::uint64_t>(shifted));
}
/// Beyond this many edges a fraction has no meaning.
constexpr double furthest = 0x1p18;

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

/// What kernels of a precision read, in memory of its own.
template <class T>
struct ListTables {
  std::vector<Place<T>> at;
  std::vector<T> charge;
  TypeTables<T> of_types;
  std::vector<T> edge_force, energy_shift;
  std::vector<ListedPair<T>> listed;
  ListProblem<T> problem{};  ///< of constants

  void scale(const System& system, const ListOptions& options, const Exponents& exponents) {
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
    const Edge charges = shift_of(edge_of_charges(options.forces), options.truncation, rc);
    problem.edge_coulomb = T(charges.force);
    problem.shift_coulomb = T(charges.energy);
    problem.shifted_force = options.truncation == Truncation::shifted_force;
    problem.types = system.table.types;
    problem.cutoff_squared = T(rc) * T(rc);
    scale_constants<T>(problem, system, options.forces, exponents);
  }
};

}  // namespace

struct ListForces::State {
  State(const System& given, const ListOptions& chosen)
      : system(prepared(given, chosen)),
        options(chosen),
        lists(system.size(), afterwards() ? std::vector<Exclusion>{} : system.exclusions) {}

  static System prepared(System system, const ListOptions& options);
  bool afterwards() const { return options.forces.exclusions == ExclusionWay::afterwards; }
  bool wide() const { return options.forces.method == Method::double_double; }
  double radius() const { return (options.forces.cutoff + options.skin) * (1 + margin); }
  bool charged() const { return options.forces.coulomb != Coulomb::none; }

  bool stale_lists(std::span<const double> positions, const std::array<double, 3>& box) const;
  void build(std::span<const double> positions, const std::array<double, 3>& box);
  void list_own_pairs();
  template <class T>
  void scale_own_pairs(ListTables<T>& tables);
  template <class T>
  void settle(ListTables<T>& tables);
  void place(std::span<const double> positions);
  template <class T>
  void run_kernel(ListKernel<T> kernel, ListTables<T>& tables, int lanes);
  void run_pass(Method method, bool energy);
  void run(std::span<const double> positions, bool energy);
  bool rescale(Method method, std::span<const double> positions);
  void check_finite(bool watched, bool energy, std::span<const double> positions) const;
  double constant_force() const;
  double total(int sum) const;
  ForceResult result(std::span<double> forces, bool energy) const;
  ForceResult compute(std::span<const double> positions, const std::array<double, 3>& box, std::span<double> forces,
                      bool energy, bool with_quanta);

  System system;  ///< without positions, masses and bonded terms
  ListOptions options;
  CellOrder order;
  NeighbourLists lists;
  int lanes = 0;               ///< of the lists
  std::vector<double> listed;  ///< positions that they were built for
  std::array<double, 3> edges{};
  std::vector<std::int32_t> type;       ///< [slot]
  std::vector<std::int64_t> own_begin;  ///< [slot + 1] pairs of their own; empty: none
  std::vector<ListedIndex> own;
  ListTables<float> single;
  ListTables<double> double_;
  SlotSums sums{0};
  FixedScales scales;
  bool stale = true;    ///< tables have not been scaled by them
  bool quanta = false;  ///< the passes write them
  int passes = 0;
  double seconds = 0;
  std::int64_t builds = 0;
};

System ListForces::State::prepared(System system, const ListOptions& options) {
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
  if (options.forces.backend != nullptr && !options.forces.backend->host_memory()) {
    throw Error(ErrorCode::unsupported, "neighbour lists run on the CPU only");
  }
  for (std::vector<double>* unused : {&system.positions, &system.velocities, &system.masses})
    std::vector<double>().swap(*unused);
  system.bonds.clear();
  system.angles.clear();
  system.torsions.clear();
  sort_exclusions(system);
  return system;
}

/// Whether lists are to be built: there are none for this box, or a particle has moved by half the skin. Checks
/// positions, too.
bool ListForces::State::stale_lists(std::span<const double> positions, const std::array<double, 3>& box) const {
  if (std::int64_t(positions.size()) != 3 * system.size()) {
    check_positions(system.size(), options.forces, positions, box);
  }
  check_box(options.forces, box);
  std::array<double, 3> most{};
  for (std::size_t k = 0; k < 3; ++k) most[k] = furthest * box[k];
  const bool none = listed.empty() || box != edges;
  const double squared_limit = options.skin * options.skin / 4;
  std::atomic<bool> moved = none, lost = false;
  team_ranges(system.size(), [&](std::int64_t begin, std::int64_t end) {
    bool far = false, bad = false;
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      double squared = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const double x = positions[3 * i + k];
        bad |= !(std::abs(x) < most[k]);
        const double d = none ? 0 : x - listed[3 * i + k];
        squared += d * d;
      }
      far |= squared > squared_limit;
    }
    if (far) moved = true;
    if (bad) lost = true;
  });
  if (lost) {
    check_positions(system.size(), options.forces, positions, box);
    for (std::size_t n = 0; n < positions.size(); ++n) {
      if (std::abs(positions[n]) < most[n % 3]) continue;
      throw Error(ErrorCode::numerical,
                  fmt::format("particle {} is lost: its coordinate {} is {:g}, more than 2^18 box edges away",
                              n / 3 + 1, "xyz"[n % 3], positions[n]));
    }
  }
  return moved;
}

void ListForces::State::build(std::span<const double> positions, const std::array<double, 3>& box) {
  edges = box;
  listed.assign(positions.begin(), positions.end());
  std::vector<std::uint32_t> fractions(positions.size());
  team_ranges(system.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto n = std::size_t(3 * begin); n < std::size_t(3 * end); ++n) {
      fractions[n] = fraction_of(positions[n], 0x1p32 / box[n % 3]);
    }
  });
  order.sort(fractions, box, radius());
  const auto slots = std::size_t(order.slots());
  std::array<std::vector<std::int32_t>, 3> by_slot;
  for (std::vector<std::int32_t>& axis : by_slot) axis.resize(slots + slot_unit);
  type.assign(slots, 0);
  team_ranges(order.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto slot = std::size_t(begin); slot < std::size_t(end); ++slot) {
      const auto particle = std::size_t(order.particle_of[slot]);
      for (std::size_t k = 0; k < 3; ++k) by_slot[k][slot] = std::int32_t(fractions[3 * particle + k]);
      type[slot] = system.types[particle];
    }
  });
  NearProblem problem{by_slot[0].data(), by_slot[1].data(), by_slot[2].data(), {}, float(radius() * radius())};
  for (std::size_t k = 0; k < 3; ++k) problem.unit[k] = float(box[k] * 0x1p-32);
  const ListKernels kernels = find_kernels({options.forces.method, false, false, false});
  lanes = kernels.lanes;
  lists.build(order, problem, kernels.near, lanes);
  ++builds;

  list_own_pairs();
  if (wide()) {
    settle(double_);
  } else {
    settle(single);
  }
  if (sums.strayed.size() != slots) sums = SlotSums(order.slots());
  stale = true;
}

void ListForces::State::list_own_pairs() {
  std::vector<std::vector<ListedIndex>> of_slot;
  const auto add = [&](std::int32_t a, std::int32_t b, std::int64_t scaled) {
    if (of_slot.empty()) of_slot.resize(std::size_t(order.slots()));
    const std::int32_t i = order.slot_of[std::size_t(a)], j = order.slot_of[std::size_t(b)];
    of_slot[std::size_t(i)].push_back({j, scaled});
    of_slot[std::size_t(j)].push_back({i, scaled});
  };
  if (afterwards()) {
    for (const auto& [a, b] : system.exclusions) add(a, b, -1);
  }
  for (std::size_t n = 0; n < system.scaled_pairs.size(); ++n) {
    add(system.scaled_pairs[n].first, system.scaled_pairs[n].second, std::int64_t(n));
  }
  own.clear();
  own_begin.clear();
  if (of_slot.empty()) return;
  own_begin.push_back(0);
  for (const auto& list : of_slot) {
    own.insert(own.end(), list.begin(), list.end());
    own_begin.push_back(std::int64_t(own.size()));
  }
}

/// Sizes and what does not change until lists are built again.
template <class T>
void ListForces::State::settle(ListTables<T>& tables) {
  const auto slots = std::size_t(order.slots());
  const double rc = options.forces.cutoff;
  tables.at.assign(slots, Place<T>{0, 0, 0, T(1000 * rc * rc)});
  tables.charge.assign(slots, T(0));
  if (charged()) {
    for (std::size_t i = 0; i < system.charges.size(); ++i) {
      tables.charge[std::size_t(order.slot_of[i])] = T(system.charges[i]);
    }
  }
  for (std::size_t k = 0; k < 3; ++k) {
    tables.problem.unit[k] = T(edges[k] * 0x1p-32);
    tables.problem.edges[k] = T(edges[k]);
    tables.problem.inverse_edges[k] = T(1 / edges[k]);
  }
}

template <class T>
void ListForces::State::scale_own_pairs(ListTables<T>& tables) {
  tables.listed.clear();
  for (const ListedIndex& index : own) {
    if (index.scaled < 0) {
      tables.listed.push_back({index.other, 1, 0, 0, 0, 0, 0});
    } else {
      tables.listed.push_back(
          scaled_pair<T>(system.scaled_pairs[std::size_t(index.scaled)], index.other, scales.exponents));
    }
  }
}

void ListForces::State::place(std::span<const double> positions) {
  std::array<double, 3> inverse_units{};
  for (std::size_t k = 0; k < 3; ++k) inverse_units[k] = 0x1p32 / edges[k];
  team_ranges(system.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      const double* const x = positions.data() + 3 * i;
      const auto slot = std::size_t(order.slot_of[i]);
      if (wide()) {
        const auto inside = [&](std::size_t k) { return x[k] - edges[k] * std::floor(x[k] / edges[k]); };
        double_.at[slot] = {inside(0), inside(1), inside(2), 0};
      } else {
        const auto inside = [&](std::size_t k) { return std::int32_t(fraction_of(x[k], inverse_units[k])); };
        single.at[slot] = {inside(0), inside(1), inside(2), 0};
      }
    }
  });
}

template <class T>
void ListForces::State::run_kernel(ListKernel<T> kernel, ListTables<T>& tables, int width) {
  if (kernel == nullptr || width != lanes) {
    throw Error(ErrorCode::internal, "no list kernel for method " + letter_of(options.forces.method));
  }
  if (stale) {
    tables.scale(system, options, scales.exponents);
    scale_own_pairs(tables);
  }
  ListProblem<T> problem = tables.problem;
  problem.force12 = tables.of_types.force12.data();
  problem.force6 = tables.of_types.force6.data();
  problem.energy12 = tables.of_types.energy12.data();
  problem.energy6 = tables.of_types.energy6.data();
  problem.edge_force = tables.edge_force.data();
  problem.energy_shift = tables.energy_shift.data();
  problem.at = tables.at.data();
  problem.type = type.data();
  problem.charge_at = tables.charge.data();
  problem.entries = lists.entries.data();
  problem.length = lists.length.data();
  problem.listed_begin = own_begin.empty() ? nullptr : own_begin.data();
  problem.listed = tables.listed.data();
  PairSums out = sums.view();
  if (!quanta) out.quanta = nullptr;
  constexpr std::int64_t piece = 32;
  const std::int64_t groups = lists.groups();
  const auto began = std::chrono::steady_clock::now();
  team_for_uneven((groups + piece - 1) / piece,
                  [&](std::int64_t n) { kernel(problem, out, n * piece, std::min(groups, (n + 1) * piece)); });
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void ListForces::State::run_pass(Method method, bool energy) {
  const ListKernels kernels = find_kernels({method, charged(), system.table.types > 1, energy});
  if (wide()) {
    run_kernel(kernels.wide, double_, kernels.lanes);
  } else {
    run_kernel(kernels.single, single, kernels.lanes);
  }
  stale = false;
  ++passes;
}

/// What shifted forces add to that of a pair, at most.
double ListForces::State::constant_force() const {
  if (options.truncation != Truncation::shifted_force) return 0;
  double most = 0, charge = 0;
  for (std::size_t n = 0; n < system.table.c12.size(); ++n) {
    most = std::max(most, std::abs(edge_of(system.table.c12[n], system.table.c6[n], options.forces.cutoff).force));
  }
  if (charged()) {
    for (const double q : system.charges) charge = std::max(charge, std::abs(q));
  }
  return most + charge * charge * std::abs(system.coulomb_constant * edge_of_charges(options.forces).force);
}

/// Whether another pass is needed, with other exponents.
bool ListForces::State::rescale(Method method, std::span<const double> positions) {
  constexpr std::int64_t piece = 4096;
  const std::int64_t size = order.size(), pieces = (size + piece - 1) / piece;
  std::vector<PassWatch> found(static_cast<std::size_t>(pieces));
  std::atomic<bool> infinite = false;
  team_for(pieces, [&](std::int64_t n) {
    PassWatch watch;
    bool finite = true;
    for (auto slot = std::size_t(n * piece); slot < std::size_t(std::min(size, (n + 1) * piece)); ++slot) {
      const float ratio = sums.worst_ratio[slot], energy = sums.worst_energy[slot];
      finite = finite && std::isfinite(ratio) && std::isfinite(energy);
      watch.ratio = std::max(watch.ratio, ratio);
      watch.energy = std::max(watch.energy, energy);
      watch.strayed |= sums.strayed[slot];
      if (sums.strayed[slot] != 0) watch.who = order.particle_of[slot];
    }
    if (!finite) infinite = true;
    found[std::size_t(n)] = watch;
  });
  if (infinite) check_finite(true, false, positions);
  PassWatch watch;
  for (const PassWatch& part : found) {
    watch.ratio = std::max(watch.ratio, part.ratio);
    watch.energy = std::max(watch.energy, part.energy);
    watch.strayed |= part.strayed;
    if (part.strayed != 0) watch.who = part.who;
  }
  const bool again = scales.fit(watch, method, system, options.forces, constant_force());
  if (again) stale = true;
  return again;
}

void ListForces::State::run(std::span<const double> positions, bool energy) {
  passes = 0;
  const Method method = options.forces.method;
  if (method == Method::nitadori_large && !scales.known) {  // its terms are not watched; those of F are the same
    do run_pass(Method::narumi, energy);
    while (rescale(Method::narumi, positions));
    scales.exponents.force = std::min(scales.exponents.force, large_exponent);
    stale = true;
  }
  run_pass(method, energy);
  if (is_fixed(method)) {
    while (rescale(method, positions)) run_pass(method, energy);
  } else {
    check_finite(false, energy, positions);
  }
}

/// `watched`: of the pass, which was in fixed point.
void ListForces::State::check_finite(bool watched, bool energy, std::span<const double> positions) const {
  const auto slots = std::size_t(order.slots());
  std::atomic<std::int32_t> first = std::int32_t(slots);
  team_ranges(order.size(), [&](std::int64_t begin, std::int64_t end) {
    const auto worse = [&](std::size_t slot) {
      if (watched && (!std::isfinite(sums.worst_ratio[slot]) || !std::isfinite(sums.worst_energy[slot]))) {
        return true;
      }
      for (std::size_t sum = 0; sum < std::size_t(energy ? all_sums : force_sums); ++sum) {
        if (!std::isfinite(sums.values[sum * slots + slot])) return true;
      }
      return false;
    };
    for (auto slot = std::int32_t(begin); slot < std::int32_t(end); ++slot) {
      if (!worse(std::size_t(slot))) continue;
      std::int32_t known = first;
      while (slot < known && !first.compare_exchange_weak(known, slot)) {
      }
      break;
    }
  });
  if (first < std::int32_t(slots)) {
    explain_infinite(system, options.forces, positions, edges, order.particle_of[std::size_t(first)]);
  }
}

/// Half the sum over all particles, unscaled: every pair has been met twice.
double ListForces::State::total(int sum) const {
  const std::size_t slots = std::size_t(order.slots()), from = std::size_t(sum) * slots;
  if (is_fixed(options.forces.method)) {
    __int128 added = 0;
    for (const std::int32_t slot : order.slot_of) added += sums.quanta[from + std::size_t(slot)];
    return std::ldexp(double(added), -scales.exponents.energy - 1);
  }
  const auto added = chunked_sum<1>(system.size(), [&](std::int64_t particle, std::array<double, 1>& part) {
    part[0] += sums.values[from + std::size_t(order.slot_of[std::size_t(particle)])];
  });
  return std::ldexp(added[0], -scales.exponents.energy - 1);
}

ForceResult ListForces::State::result(std::span<double> forces, bool energy) const {
  ForceResult out;
  out.passes = passes;
  out.pass_seconds = seconds;
  out.exponent = scales.exponents.force;
  const auto slots = std::size_t(order.slots());
  const double unit = std::ldexp(1.0, -scales.exponents.force);
  team_ranges(system.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      const auto slot = std::size_t(order.slot_of[i]);
      for (std::size_t k = 0; k < 3; ++k) forces[3 * i + k] = sums.values[k * slots + slot] * unit;
    }
  });
  if (!energy) return out;
  out.energy = total(3);
  const double xx = total(4), xy = total(5), xz = total(6), yy = total(7), yz = total(8), zz = total(9);
  out.virial = {xx, xy, xz, xy, yy, yz, xz, yz, zz};
  return out;
}

ListForces::ListForces(const System& system, const ListOptions& options)
    : state_(std::make_unique<State>(system, options)) {}
ListForces::~ListForces() = default;
ListForces::ListForces(ListForces&&) noexcept = default;
ListForces& ListForces::operator=(ListForces&&) noexcept = default;

std::int64_t ListForces::size() const { return state_->system.size(); }

ForceResult ListForces::State::compute(std::span<const double> positions, const std::array<double, 3>& box,
                                       std::span<double> forces, bool energy, bool with_quanta) {
  if (stale_lists(positions, box)) build(positions, box);
  place(positions);
  quanta = is_fixed(options.forces.method) && (energy || with_quanta);
  run(positions, energy);
  return result(forces, energy);
}

ForceResult ListForces::compute(std::span<const double> positions, const std::array<double, 3>& box, bool energy) {
  std::vector<double> forces(3 * std::size_t(size()));
  ForceResult out = state_->compute(positions, box, forces, energy, true);
  out.forces = std::move(forces);
  if (!state_->quanta) return out;
  const std::vector<std::int64_t>& quanta = state_->sums.quanta;
  const auto slots = std::size_t(state_->order.slots());
  out.quanta.resize(out.forces.size());
  for (std::size_t n = 0; n < out.quanta.size(); ++n) {
    out.quanta[n] = quanta[n % 3 * slots + std::size_t(state_->order.slot_of[n / 3])];
  }
  return out;
}

ForceResult ListForces::compute_into(std::span<const double> positions, const std::array<double, 3>& box,
                                     std::span<double> forces, bool energy) {
  if (std::int64_t(forces.size()) != 3 * size()) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("room for {} numbers for the forces on {} particles: there must be three for each",
                            forces.size(), size()));
  }
  return state_->compute(positions, box, forces, energy, false);
}

ListStatistics ListForces::statistics() const {
  return {state_->builds, double(state_->lists.pairs()) / double(size())};
}

ListForces::Memory ListForces::memory() const {
  const Exponents& exponents = state_->scales.exponents;
  return {state_->listed, state_->edges, exponents.force, exponents.energy, state_->scales.known};
}

void ListForces::remember(const Memory& memory) {
  if (!memory.listed_positions.empty()) {
    state_->stale_lists(memory.listed_positions, memory.box);  // checks them
    state_->build(memory.listed_positions, memory.box);
  }
  state_->scales = {};
  state_->scales.exponents = {memory.force_exponent, memory.energy_exponent};
  state_->scales.known = memory.scaled;
  state_->stale = true;
}

}  // namespace quadrille::md
