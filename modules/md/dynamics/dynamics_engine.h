// Particles in motion on a backend: what Dynamics hands on.
#pragma once

#include "core/error.h"
#include "modules/md/dynamics/dynamics.h"

#include <memory>
#include <optional>

namespace quadrille::md {

/// Arguments have been checked.
class DynamicsEngine {
 public:
  virtual ~DynamicsEngine() = default;
  virtual void run(std::int64_t steps) = 0;
  virtual Observables observe() = 0;
  virtual std::int64_t step() const = 0;
  virtual const std::vector<double>& positions() = 0;
  virtual const std::vector<double>& velocities() = 0;
  virtual const std::vector<double>& forces() = 0;
  virtual ListStatistics statistics() const = 0;
  virtual Dynamics::Memory memory() = 0;
  virtual void remember(const Dynamics::Memory& memory) = 0;
};

/// The integrator runs on the CPU, pair forces on the backend of the options.
std::unique_ptr<DynamicsEngine> make_host_dynamics(const System& system, std::span<const double> velocities,
                                                   const DynamicsOptions& options);
/// All on the GPU.
std::unique_ptr<DynamicsEngine> make_cuda_dynamics(const System& system, std::span<const double> velocities,
                                                   const DynamicsOptions& options);

inline double mass_of(const System& system, std::size_t particle) {
  return system.masses.empty() ? 1 : system.masses[particle];
}
inline bool has_thermostat(const DynamicsOptions& options) { return options.friction > 0; }

/// A step of friction and noise, which is exact for free particles: v becomes kept v + noise / sqrt(m) x.
struct Friction {
  explicit Friction(const DynamicsOptions& options);
  double kept, noise;
};
/// Of the random numbers of a step.
std::uint64_t thermostat_seed(const DynamicsOptions& options, std::int64_t step);

struct Motion {
  double kinetic;
  std::array<double, 3> momentum;
};
Motion motion_of(const System& system, std::span<const double> velocities);

struct BondedTotals {
  std::array<double, 3> energies{};  ///< of bonds, angles and torsions
  double virial = 0;
};
/// `found` has energy and virial of pairs.
Observables observables_of(const System& system, const DynamicsOptions& options, std::int64_t step,
                           const Motion& motion, const ForceResult& found, const BondedTotals& bonded);

/// Of `options.energies_in_double`: energy and virial by method G, with lists of this moment. So their bits depend on
/// where the particles are, on nothing that was before.
class EnergiesInDouble {
 public:
  EnergiesInDouble(const System& system, ListOptions options);
  ForceResult at(std::span<const double> positions, const std::array<double, 3>& box);

 private:
  ListForces pairs_;
};

/// Step `step` has moved a particle (from 0) by `distance`.
[[noreturn]] void refuse_move(std::int64_t step, std::size_t particle, double distance, double time_step);
/// The error with the step before its message.
[[noreturn]] void throw_in_step(std::int64_t step, const Error& error);

}  // namespace quadrille::md
