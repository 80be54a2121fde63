#include "modules/md/dynamics.h"

#include "core/error.h"
#include "core/numbers/chunked_sum.h"
#include "core/random/random.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>

namespace quadrille::md {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_input, message); }

/// The stream of a system's random numbers that its velocities have (generated_systems.cpp has others).
constexpr std::uint32_t of_velocities = 3;

double mass_of(const System& system, std::size_t particle) {
  return system.masses.empty() ? 1 : system.masses[particle];
}

std::array<double, 3> momentum_of(const System& system, std::span<const double> velocities) {
  return chunked_sum<3>(system.size(), [&](std::int64_t i, std::array<double, 3>& sums) {
    for (std::size_t k = 0; k < 3; ++k) sums[k] += mass_of(system, std::size_t(i)) * velocities[3 * std::size_t(i) + k];
  });
}

double kinetic_energy(const System& system, std::span<const double> velocities) {
  return chunked_sum<1>(system.size(), [&](std::int64_t i, std::array<double, 1>& sum) {
    const double* const v = velocities.data() + 3 * i;
    sum[0] += mass_of(system, std::size_t(i)) / 2 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  })[0];
}

void check_finite(std::span<const double> numbers, const char* what) {
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    if (!std::isfinite(numbers[n])) {
      refuse(fmt::format("{} {} of particle {} is {}", what, "xyz"[n % 3], n / 3 + 1, numbers[n]));
    }
  }
}

void check_count(std::size_t numbers, const System& system, const char* what) {
  if (numbers == system.positions.size()) return;
  refuse(fmt::format("{} {} for {} particles: there must be three for each", numbers, what, system.size()));
}

void check_options(const System& system, const DynamicsOptions& options) {
  if (!(options.time_step > 0) || !std::isfinite(options.time_step)) {
    refuse(fmt::format("time step = {:g}: it must be above 0", options.time_step));
  }
  if (!(options.friction >= 0) || !(options.temperature >= 0) || !(options.boltzmann > 0)) {
    refuse("friction and temperature must not be negative, Boltzmann's constant must be above 0");
  }
  if (!system.masses.empty() && std::int64_t(system.masses.size()) != system.size()) {
    refuse(fmt::format("{} masses for {} particles: there must be one for each", system.masses.size(), system.size()));
  }
  for (std::size_t i = 0; i < system.masses.size(); ++i) {
    if (!(system.masses[i] > 0) || !std::isfinite(system.masses[i])) {
      refuse(fmt::format("the mass of particle {} is {:g}: it must be above 0", i + 1, system.masses[i]));
    }
  }
  check_count(system.positions.size(), system, "coordinates");
  for (const double x : system.positions) {
    if (!std::isfinite(x)) check_finite(system.positions, "coordinate");
  }
}

}  // namespace

std::vector<double> thermal_velocities(const System& system, double temperature, double boltzmann, std::uint64_t seed) {
  std::vector<double> out(3 * std::size_t(system.size()));
  for (std::size_t i = 0; i < std::size_t(system.size()); ++i) {
    SiteRandom random(seed, RandomPurpose::GeneratedSystem, std::int64_t(i), of_velocities);
    const double width = std::sqrt(boltzmann * temperature / mass_of(system, i));
    for (std::size_t k = 0; k < 3; ++k) out[3 * i + k] = width * random.normal();
  }
  if (system.size() < 2) return out;
  const std::array<double, 3> momentum = momentum_of(system, out);
  double mass = 0;
  for (std::size_t i = 0; i < std::size_t(system.size()); ++i) mass += mass_of(system, i);
  for (std::size_t n = 0; n < out.size(); ++n) out[n] -= momentum[n % 3] / mass;
  const double kinetic = kinetic_energy(system, out);
  const double wanted = (3 * double(system.size()) - 3) / 2 * boltzmann * temperature;
  for (double& v : out) v *= kinetic > 0 ? std::sqrt(wanted / kinetic) : 0;
  return out;
}

struct Dynamics::State {
  State(const System& given, std::span<const double> start, const DynamicsOptions& chosen)
      : system((check_options(given, chosen), given)),
        options(chosen),
        pairs(given, chosen.lists),
        velocities(start.begin(), start.end()),
        forces(velocities.size()) {
    check_count(velocities.size(), system, "velocities");
    check_finite(velocities, "velocity");
    if (chosen.energies_in_double) {
      ListOptions wide = chosen.lists;
      wide.forces.method = Method::double_double;
      in_double.emplace_back(given, wide);
    }
    find_forces();
  }

  bool bonded() const { return !system.bonds.empty() || !system.angles.empty() || !system.torsions.empty(); }
  bool thermostat() const { return options.friction > 0; }

  void find_forces();
  void kick();
  void drift(double time);
  void rub();
  void one_step();
  [[noreturn]] void refuse_move(double time) const;
  Observables observe();

  System system;  ///< with the positions of this moment
  DynamicsOptions options;
  ListForces pairs;
  std::vector<ListForces> in_double;  ///< for energies, or none
  std::vector<double> velocities, forces;
  std::int64_t step = 0;
  double bonded_energy = 0, bonded_virial = 0;
};

void Dynamics::State::find_forces() {
  pairs.compute_into(system.positions, system.box, forces);
  if (!bonded()) return;
  const BondedForces own = bonded_forces(system);
  bonded_energy = own.bonds + own.angles + own.torsions;
  bonded_virial = 0;
  for (std::size_t n = 0; n < forces.size(); ++n) {
    forces[n] += own.forces[n];
    bonded_virial += own.forces[n] * system.positions[n];
  }
}

/// Half a step of the velocities.
void Dynamics::State::kick() {
  const double half = options.time_step / 2;
  team_ranges(system.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      const double per_mass = half / mass_of(system, i);
      for (std::size_t n = 3 * i; n < 3 * i + 3; ++n) velocities[n] += per_mass * forces[n];
    }
  });
}

void Dynamics::State::drift(double time) {
  const double most = options.lists.forces.cutoff / 2, limit = most * most;
  std::atomic<bool> too_far = false;
  team_ranges(system.size(), [&](std::int64_t begin, std::int64_t end) {
    bool far = false;
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      double squared = 0;
      for (std::size_t n = 3 * i; n < 3 * i + 3; ++n) {
        const double d = time * velocities[n];
        system.positions[n] += d;
        squared += d * d;
      }
      far |= !(squared <= limit);
    }
    if (far) too_far = true;
  });
  if (too_far) refuse_move(time);
}

void Dynamics::State::refuse_move(double time) const {
  std::size_t first = 0;
  double d = 0;
  for (; first < std::size_t(system.size()); ++first) {
    const double* const v = velocities.data() + 3 * first;
    d = std::hypot(time * v[0], time * v[1], time * v[2]);
    if (!(d <= options.lists.forces.cutoff / 2)) break;
  }
  throw Error(ErrorCode::numerical,
              fmt::format("step {}: particle {} moves by {:g}, more than half the cutoff: the time step, {:g}, is too "
                          "large, or particles are too close to each other",
                          step + 1, first + 1, d, options.time_step));
}

/// A whole step of friction and noise: exact for free particles.
void Dynamics::State::rub() {
  const double kept = std::exp(-options.friction * options.time_step);
  const double noise = std::sqrt((1 - kept * kept) * options.boltzmann * options.temperature);
  const std::uint64_t seed = step_seed(options.seed, RandomPurpose::Thermostat, std::uint64_t(step));
  team_ranges(system.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      SiteRandom random(seed, RandomPurpose::Thermostat, std::int64_t(i));
      const double width = noise / std::sqrt(mass_of(system, i));
      for (std::size_t n = 3 * i; n < 3 * i + 3; ++n) velocities[n] = kept * velocities[n] + width * random.normal();
    }
  });
}

/// With a thermostat in the order BAOAB of Leimkuhler and Matthews, J. Chem. Phys. 138 (2013) 174102.
void Dynamics::State::one_step() {
  kick();
  if (thermostat()) {
    drift(options.time_step / 2);
    rub();
    drift(options.time_step / 2);
  } else {
    drift(options.time_step);
  }
  try {
    find_forces();
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("step {}: {}", step + 1, error.message()));
  }
  kick();
  ++step;
}

Observables Dynamics::State::observe() {
  Observables out;
  out.step = step;
  ForceResult found;
  if (in_double.empty()) {
    // The same forces again, with energy, in a place of their own: bonded ones have been added to those here.
    std::vector<double> again(forces.size());
    found = pairs.compute_into(system.positions, system.box, again, true);
  } else {
    // With lists of this moment: bits depend on where the particles are, on nothing that was before.
    in_double[0].remember({system.positions, system.box, 0, 0, false});
    std::vector<double> again(forces.size());
    found = in_double[0].compute_into(system.positions, system.box, again, true);
  }
  const double volume = system.box[0] * system.box[1] * system.box[2];
  const double freedom = thermostat() ? 3 * double(system.size()) : 3 * double(system.size()) - 3;
  out.kinetic = kinetic_energy(system, velocities);
  out.pairs = found.energy;
  out.bonded = bonded_energy;
  out.temperature = freedom > 0 ? 2 * out.kinetic / (freedom * options.boltzmann) : 0;
  out.pressure = (2 * out.kinetic + found.virial[0] + found.virial[4] + found.virial[8] + bonded_virial) / (3 * volume);
  out.momentum = momentum_of(system, velocities);
  return out;
}

Dynamics::Dynamics(const System& system, std::span<const double> velocities, const DynamicsOptions& options)
    : state_(std::make_unique<State>(system, velocities, options)) {}
Dynamics::~Dynamics() = default;
Dynamics::Dynamics(Dynamics&&) noexcept = default;
Dynamics& Dynamics::operator=(Dynamics&&) noexcept = default;

void Dynamics::run(std::int64_t steps) {
  for (std::int64_t n = 0; n < steps; ++n) state_->one_step();
}
Observables Dynamics::observe() { return state_->observe(); }
std::int64_t Dynamics::step() const { return state_->step; }
const std::vector<double>& Dynamics::positions() const { return state_->system.positions; }
const std::vector<double>& Dynamics::velocities() const { return state_->velocities; }
const std::vector<double>& Dynamics::forces() const { return state_->forces; }
ListStatistics Dynamics::statistics() const { return state_->pairs.statistics(); }

Dynamics::Memory Dynamics::memory() const {
  return {state_->step, state_->system.positions, state_->velocities, state_->pairs.memory()};
}

void Dynamics::remember(const Memory& memory) {
  State& state = *state_;
  check_count(memory.positions.size(), state.system, "coordinates");
  check_count(memory.velocities.size(), state.system, "velocities");
  check_finite(memory.positions, "coordinate");
  check_finite(memory.velocities, "velocity");
  if (!memory.lists.listed_positions.empty() && memory.lists.box != state.system.box) {
    refuse(fmt::format("the state has a box of {:g} x {:g} x {:g}, but the system's is {:g} x {:g} x {:g}",
                       memory.lists.box[0], memory.lists.box[1], memory.lists.box[2], state.system.box[0],
                       state.system.box[1], state.system.box[2]));
  }
  state.step = memory.step;
  state.system.positions = memory.positions;
  state.velocities = memory.velocities;
  state.pairs.remember(memory.lists);
  state.find_forces();
}

}  // namespace quadrille::md
