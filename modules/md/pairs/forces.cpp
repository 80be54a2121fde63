#include "modules/md/pairs/forces.h"

#include "core/backend/backend.h"
#include "core/backend/of_backend.h"
#include "core/error.h"
#include "core/numbers/chunked_sum.h"
#include "modules/md/pairs/fixed_scales.h"
#include "modules/md/pairs/pair_engine.h"
#include "modules/md/pairs/pair_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace quadrille::md {
struct PairForces::State {
  State(const System& given, const ForceOptions& chosen)
      : system(given),
        options(chosen),
        order(prepare()),
        pairs(list_pairs(system, order, afterwards())),
        sums(order.slots()) {
    const bool host = options.backend == nullptr || options.backend->host_memory();
    engine = host ? make_cpu_engine(order, pairs, options.ranks) : with_cuda<std::unique_ptr<PairEngine>>([&](auto) {
      return make_cuda_engine(order, pairs, options.ranks);
    });
  }

  PairOrder prepare() {
    check_system(system, options);
    for (std::vector<double>* unused : {&system.positions, &system.velocities, &system.masses})
      std::vector<double>().swap(*unused);
    system.bonds.clear();
    system.angles.clear();
    system.torsions.clear();
    sort_exclusions(system);
    return order_particles(system, afterwards() ? std::vector<Exclusion>{} : system.exclusions);
  }
  bool afterwards() const { return options.exclusions == ExclusionWay::afterwards; }

  void place(std::span<const double> positions, const std::array<double, 3>& box);
  void run_pass(Method method, bool energy);
  void run(std::span<const double> positions, bool energy);
  bool rescale(Method method, std::span<const double> positions);
  void check_finite(bool energy, std::span<const double> positions) const;
  double total(int sum) const;
  ForceResult result(bool energy) const;

  System system;  ///< without positions, masses and bonded terms
  ForceOptions options;
  PairOrder order;
  ListedPairs pairs;
  PairTables<float> single;
  PairTables<double> wide;
  SlotSums sums;
  std::unique_ptr<PairEngine> engine;
  FixedScales scales;
  bool stale = true;  ///< tables have not been scaled by them
  int passes = 0;
  double seconds = 0;  ///< of the last pass
  std::array<double, 3> edges{};
};

void PairForces::State::place(std::span<const double> positions, const std::array<double, 3>& box) {
  edges = box;
  if (options.method == Method::double_double) {
    wide.place(positions, order, options, box);
  } else {
    single.place(positions, order, options, box);
  }
}

void PairForces::State::run_pass(Method method, bool energy) {
  if (stale) {
    if (options.method == Method::double_double) {
      wide.scale(system, options, order, pairs, scales.exponents);
    } else {
      single.scale(system, options, order, pairs, scales.exponents);
    }
  }
  const PairForm form{method, options.coulomb != Coulomb::none, options.cutoff > 0, energy};
  seconds = engine->run(form, single, wide, stale, sums.view());
  stale = false;
  ++passes;
}

/// Whether another pass is needed, with other exponents.
bool PairForces::State::rescale(Method method, std::span<const double> positions) {
  PassWatch watch;
  for (std::size_t slot = 0; slot < order.particle_of.size(); ++slot) {
    const std::int32_t particle = order.particle_of[slot];
    if (particle < 0) continue;
    if (!std::isfinite(sums.worst_ratio[slot]) || !std::isfinite(sums.worst_energy[slot]))
      explain_infinite(system, options, positions, edges, particle);
    watch.ratio = std::max(watch.ratio, sums.worst_ratio[slot]);
    watch.energy = std::max(watch.energy, sums.worst_energy[slot]);
    watch.strayed |= sums.strayed[slot];
    if (sums.strayed[slot] != 0) watch.who = particle;
  }
  const bool again = scales.fit(watch, method, system, options);
  if (again) stale = true;
  return again;
}

void PairForces::State::run(std::span<const double> positions, bool energy) {
  passes = 0;
  const bool fixed = is_fixed(options.method), large = options.method == Method::nitadori_large;
  if (large && !scales.known) {  // its terms are not watched; those of F are the same
    do run_pass(Method::narumi, energy);
    while (rescale(Method::narumi, positions));
    scales.exponents.force = std::min(scales.exponents.force, large_exponent);
    stale = true;
  }
  run_pass(options.method, energy);
  while (fixed && rescale(options.method, positions)) run_pass(options.method, energy);
  if (!fixed) check_finite(energy, positions);
}

void PairForces::State::check_finite(bool energy, std::span<const double> positions) const {
  const std::size_t slots = order.particle_of.size();
  for (std::size_t slot = 0; slot < slots; ++slot) {
    if (order.particle_of[slot] < 0) continue;
    for (std::size_t sum = 0; sum < std::size_t(energy ? all_sums : force_sums); ++sum) {
      if (!std::isfinite(sums.values[sum * slots + slot]))
        explain_infinite(system, options, positions, edges, order.particle_of[slot]);
    }
  }
}

/// Over all particles, in scaled units.
double PairForces::State::total(int sum) const {
  const std::size_t slots = order.particle_of.size(), from = std::size_t(sum) * slots;
  if (is_fixed(options.method)) {
    __int128 quanta = 0;
    for (const std::int32_t slot : order.slot_of) quanta += sums.quanta[from + std::size_t(slot)];
    return double(quanta);
  }
  const auto added = chunked_sum<1>(system.size(), [&](std::int64_t particle, std::array<double, 1>& part) {
    part[0] += sums.values[from + std::size_t(order.slot_of[std::size_t(particle)])];
  });
  return added[0];
}

ForceResult PairForces::State::result(bool energy) const {
  ForceResult out;
  out.passes = passes;
  out.pass_seconds = seconds;
  out.exponent = scales.exponents.force;
  const std::size_t slots = order.particle_of.size(), size = order.slot_of.size();
  out.forces.resize(3 * size);
  if (is_fixed(options.method)) out.quanta.resize(3 * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t at = k * slots + std::size_t(order.slot_of[i]);
      out.forces[3 * i + k] = std::ldexp(sums.values[at], -scales.exponents.force);
      if (!out.quanta.empty()) out.quanta[3 * i + k] = sums.quanta[at];
    }
  }
  if (!energy) return out;
  // Half of the sums, unscaled: every pair has been met twice.
  set_totals(out, {total(3), total(4), total(5), total(6), total(7), total(8), total(9)},
             std::ldexp(1.0, -scales.exponents.energy - 1));
  return out;
}

PairForces::PairForces(const System& system, const ForceOptions& options)
    : state_(std::make_unique<State>(system, options)) {}
PairForces::~PairForces() = default;
PairForces::PairForces(PairForces&&) noexcept = default;
PairForces& PairForces::operator=(PairForces&&) noexcept = default;

std::int64_t PairForces::size() const { return state_->system.size(); }

ForceResult PairForces::compute(std::span<const double> positions, const std::array<double, 3>& box, bool energy) {
  check_positions(size(), state_->options, positions, box);
  state_->place(positions, box);
  state_->run(positions, energy);
  return state_->result(energy);
}

ForceResult PairForces::compute_there(const double* positions, const std::array<double, 3>& box, double* forces,
                                      bool energy) {
  Backend& backend = state_->options.backend == nullptr ? cpu_backend() : *state_->options.backend;
  std::vector<double> here(3 * std::size_t(size()));
  backend.copy_out(here.data(), positions, here.size() * sizeof(double));
  ForceResult result = compute(here, box, energy);
  backend.copy_in(forces, result.forces.data(), result.forces.size() * sizeof(double));
  result.forces.clear();
  result.quanta.clear();
  return result;
}

ForceResult forces(const System& system, const ForceOptions& options) {
  return PairForces(system, options).compute(system.positions, system.box, true);
}

}  // namespace quadrille::md
