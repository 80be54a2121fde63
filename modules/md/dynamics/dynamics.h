// Molecular dynamics in a periodic box: velocity Verlet at constant energy, or with a Langevin thermostat.
//
//   Dynamics dynamics(system, thermal_velocities(system, 1.44, 1, seed), options);
//   dynamics.run(100);
//   const Observables now = dynamics.observe();
//
// Positions and velocities are double in every method; positions are never put back into the box. Units are those of
// the system: a time is length x sqrt(mass / energy).
#pragma once

#include "modules/md/lists/list_forces.h"

namespace quadrille::md {

struct DynamicsOptions {
  ListOptions lists;
  double time_step = 0.005;
  double boltzmann = 1;  ///< energy over temperature
  /// Of the thermostat, over time; 0: none. Its random numbers are functions of seed, step and particle.
  double friction = 0;
  double temperature = 0;
  std::uint64_t seed = 1;
  /// Energies and pressures in double (method G), whatever moves the particles, from terms of the same positions.
  bool energies_in_double = false;
};

struct Observables {
  std::int64_t step = 0;
  double kinetic = 0, pairs = 0, bonded = 0;  ///< energies
  double temperature = 0;                     ///< of 3 N - 3 degrees of freedom, with a thermostat 3 N
  double pressure = 0;
  std::array<double, 3> momentum{};

  double energy() const { return kinetic + pairs + bonded; }
};

/// Normal velocities of this temperature, without momentum and scaled to have exactly it; functions of seed and
/// particle. [particle][x, y, z]; the masses of the system count, 1 where it has none.
QUADRILLE_API std::vector<double> thermal_velocities(const System& system, double temperature, double boltzmann,
                                                     std::uint64_t seed);

class DynamicsEngine;

class QUADRILLE_API Dynamics {
 public:
  /// With the backend cuda the particles stay on the GPU.
  /// Errors (ErrorCode::invalid_input): what ListForces refuses, bonded terms of particles that there are not or with a
  /// periodicity that is not a whole number, masses that are not above 0, velocities that are not finite or are not
  /// those of so many particles, a time step that is not above 0.
  Dynamics(const System& system, std::span<const double> velocities, const DynamicsOptions& options);
  ~Dynamics();
  Dynamics(Dynamics&&) noexcept;
  Dynamics& operator=(Dynamics&&) noexcept;

  /// Errors (ErrorCode::numerical) name the step and the first particle: one that moves by more than half the cutoff in
  /// a step (the time step is too large), particles at the same place, sums that are not finite, angles without a
  /// plane.
  void run(std::int64_t steps);
  /// Of this moment.
  Observables observe();

  std::int64_t step() const;
  const std::vector<double>& positions() const;   ///< [particle][x, y, z]
  const std::vector<double>& velocities() const;  ///< the same
  const std::vector<double>& forces() const;      ///< the same, of pairs and bonded terms
  ListStatistics statistics() const;

  /// All that the following steps depend on. A Dynamics of the same system and options that is given it goes on with
  /// the same bits, on any number of threads of the same instruction set. Without a thermostat a GPU goes on with the
  /// bits of CPUs with AVX2 or AVX-512, and they with its.
  struct Memory {
    std::int64_t step = 0;
    std::vector<double> positions, velocities;
    ListForces::Memory lists;
  };
  Memory memory() const;
  /// Errors (ErrorCode::invalid_input): counts that are not those of the system, numbers that are not finite.
  void remember(const Memory& memory);

 private:
  std::unique_ptr<DynamicsEngine> engine_;
  std::int64_t particles_ = 0;
  std::array<double, 3> box_{};
};

}  // namespace quadrille::md
