#include "core/backend/of_backend.h"
#include "modules/md/dynamics/dynamics_engine.h"

#include "core/backend/backend.h"
#include "core/error.h"
#include "core/numbers/chunked_sum.h"
#include "core/random/random.h"

#include <fmt/format.h>

#include <cmath>

namespace quadrille::md {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_input, message); }

/// The stream of a system's random numbers that its velocities have (generated_systems.cpp has others).
constexpr std::uint32_t of_velocities = 3;

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

void check_count(std::size_t numbers, std::int64_t particles, const char* what) {
  if (std::int64_t(numbers) == 3 * particles) return;
  refuse(fmt::format("{} {} for {} particles: each particle has three", numbers, what, particles));
}

void check_options(const System& system, const DynamicsOptions& options) {
  if (!(options.time_step > 0) || !std::isfinite(options.time_step)) {
    refuse(fmt::format("time step = {:g}: it must be above 0", options.time_step));
  }
  if (!(options.friction >= 0) || !(options.temperature >= 0) || !(options.boltzmann > 0)) {
    refuse("friction and temperature must not be negative, Boltzmann's constant must be above 0");
  }
  if (!system.masses.empty() && std::int64_t(system.masses.size()) != system.size()) {
    refuse(fmt::format("{} masses for {} particles: each particle has one", system.masses.size(), system.size()));
  }
  for (std::size_t i = 0; i < system.masses.size(); ++i) {
    if (!(system.masses[i] > 0) || !std::isfinite(system.masses[i])) {
      refuse(fmt::format("the mass of particle {} is {:g}: it must be above 0", i + 1, system.masses[i]));
    }
  }
  check_count(system.positions.size(), system.size(), "coordinates");
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

Friction::Friction(const DynamicsOptions& options)
    : kept(std::exp(-options.friction * options.time_step)),
      noise(std::sqrt((1 - kept * kept) * options.boltzmann * options.temperature)) {}

std::uint64_t thermostat_seed(const DynamicsOptions& options, std::int64_t step) {
  return step_seed(options.seed, RandomPurpose::Thermostat, std::uint64_t(step));
}

Motion motion_of(const System& system, std::span<const double> velocities) {
  return {kinetic_energy(system, velocities), momentum_of(system, velocities)};
}

Observables observables_of(const System& system, const DynamicsOptions& options, std::int64_t step,
                           const Motion& motion, const ForceResult& found, const BondedTotals& bonded) {
  Observables out;
  out.step = step;
  const double volume = system.box[0] * system.box[1] * system.box[2];
  const double freedom = has_thermostat(options) ? 3 * double(system.size()) : 3 * double(system.size()) - 3;
  out.kinetic = motion.kinetic;
  out.pairs = found.energy;
  out.bonded = bonded.energies[0] + bonded.energies[1] + bonded.energies[2];
  out.temperature = freedom > 0 ? 2 * out.kinetic / (freedom * options.boltzmann) : 0;
  out.pressure = (2 * out.kinetic + found.virial[0] + found.virial[4] + found.virial[8] + bonded.virial) / (3 * volume);
  out.momentum = motion.momentum;
  return out;
}

EnergiesInDouble::EnergiesInDouble(const System& system, ListOptions options)
    : pairs_(system, (options.forces.method = Method::double_double, options)) {}

ForceResult EnergiesInDouble::at(std::span<const double> positions, const std::array<double, 3>& box) {
  pairs_.remember({{positions.begin(), positions.end()}, box, 0, 0, false});
  std::vector<double> forces(positions.size());
  return pairs_.compute_into(positions, box, forces, true);
}

void refuse_move(std::int64_t step, std::size_t particle, double distance, double time_step) {
  throw Error(ErrorCode::numerical,
              fmt::format("step {}: particle {} moves by {:g}, more than half the cutoff: the time step, {:g}, is too "
                          "large, or particles are too close to each other",
                          step, particle + 1, distance, time_step));
}

void throw_in_step(std::int64_t step, const Error& error) {
  throw Error(error.code(), fmt::format("step {}: {}", step, error.message()));
}

Dynamics::Dynamics(const System& system, std::span<const double> velocities, const DynamicsOptions& options) {
  check_options(system, options);
  check_count(velocities.size(), system.size(), "velocities");
  check_finite(velocities, "velocity");
  const Backend* const backend = options.lists.forces.backend;
  const bool host = backend == nullptr || backend->host_memory();
  engine_ = host ? make_host_dynamics(system, velocities, options)
                 : with_cuda<std::unique_ptr<DynamicsEngine>>(
                       [&](auto) { return make_cuda_dynamics(system, velocities, options); });
  box_ = system.box;
  particles_ = system.size();
}
Dynamics::~Dynamics() = default;
Dynamics::Dynamics(Dynamics&&) noexcept = default;
Dynamics& Dynamics::operator=(Dynamics&&) noexcept = default;

void Dynamics::run(std::int64_t steps) { engine_->run(steps); }
Observables Dynamics::observe() { return engine_->observe(); }
std::int64_t Dynamics::step() const { return engine_->step(); }
const std::vector<double>& Dynamics::positions() const { return engine_->positions(); }
const std::vector<double>& Dynamics::velocities() const { return engine_->velocities(); }
const std::vector<double>& Dynamics::forces() const { return engine_->forces(); }
ListStatistics Dynamics::statistics() const { return engine_->statistics(); }
Dynamics::Memory Dynamics::memory() const { return engine_->memory(); }

void Dynamics::remember(const Memory& memory) {
  check_count(memory.positions.size(), particles_, "coordinates");
  check_count(memory.velocities.size(), particles_, "velocities");
  check_finite(memory.positions, "coordinate");
  check_finite(memory.velocities, "velocity");
  const std::array<double, 3>& box = memory.lists.box;
  if (!memory.lists.listed_positions.empty() && box != box_) {
    refuse(fmt::format("the state has a box of {:g} x {:g} x {:g}, but the system's is {:g} x {:g} x {:g}", box[0],
                       box[1], box[2], box_[0], box_[1], box_[2]));
  }
  engine_->remember(memory);
}

}  // namespace quadrille::md
