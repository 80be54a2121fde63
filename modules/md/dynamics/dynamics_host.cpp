// Velocity Verlet on the CPU.
#include "core/error.h"
#include "core/random/random.h"
#include "core/system/team.h"
#include "modules/md/bonded/bonded.h"
#include "modules/md/dynamics/dynamics_engine.h"

#include <atomic>
#include <cmath>

namespace quadrille::md {
namespace {

class HostDynamics final : public DynamicsEngine {
 public:
  HostDynamics(const System& system, std::span<const double> velocities, const DynamicsOptions& options)
      : system_(system),
        options_(options),
        pairs_(system, options.lists),
        bonded_(system),
        velocities_(velocities.begin(), velocities.end()),
        forces_(velocities_.size()) {
    if (options.energies_in_double) in_double_.emplace(system, options.lists);
    find_forces();
  }

  void run(std::int64_t steps) override {
    for (std::int64_t n = 0; n < steps; ++n) one_step();
  }
  Observables observe() override;
  std::int64_t step() const override { return step_; }
  const std::vector<double>& positions() override { return system_.positions; }
  const std::vector<double>& velocities() override { return velocities_; }
  const std::vector<double>& forces() override { return forces_; }
  ListStatistics statistics() const override { return pairs_.statistics(); }
  Dynamics::Memory memory() override { return {step_, system_.positions, velocities_, pairs_.memory()}; }
  void remember(const Dynamics::Memory& memory) override;

 private:
  void find_forces();
  void kick();
  void drift(double time);
  void ou_step();
  void one_step();
  [[noreturn]] void refuse(double time) const;

  System system_;  ///< with the positions of this moment
  const DynamicsOptions options_;
  ListForces pairs_;
  BondedSums bonded_;
  std::optional<EnergiesInDouble> in_double_;
  std::vector<double> velocities_, forces_;
  std::int64_t step_ = 0;
};

void HostDynamics::find_forces() {
  pairs_.compute_into(system_.positions, system_.box, forces_);
  if (bonded_.empty()) return;
  bonded_.find(system_.positions);
  bonded_.add_to(forces_);
}

/// Half a step of the velocities.
void HostDynamics::kick() {
  const double half = options_.time_step / 2;
  team_ranges(system_.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      const double per_mass = half / mass_of(system_, i);
      for (std::size_t n = 3 * i; n < 3 * i + 3; ++n) velocities_[n] += per_mass * forces_[n];
    }
  });
}

void HostDynamics::drift(double time) {
  const double most = options_.lists.forces.cutoff / 2, limit = most * most;
  std::atomic<bool> too_far = false;
  team_ranges(system_.size(), [&](std::int64_t begin, std::int64_t end) {
    bool far = false;
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      double squared = 0;
      for (std::size_t n = 3 * i; n < 3 * i + 3; ++n) {
        const double d = time * velocities_[n];
        system_.positions[n] += d;
        squared += d * d;
      }
      far |= !(squared <= limit);
    }
    if (far) too_far = true;
  });
  if (too_far) refuse(time);
}

void HostDynamics::refuse(double time) const {
  std::size_t first = 0;
  double d = 0;
  for (; first < std::size_t(system_.size()); ++first) {
    const double* const v = velocities_.data() + 3 * first;
    d = std::hypot(time * v[0], time * v[1], time * v[2]);
    if (!(d <= options_.lists.forces.cutoff / 2)) break;
  }
  refuse_move(step_ + 1, first, d, options_.time_step);
}

/// A whole step of friction and noise: exact for free particles.
void HostDynamics::ou_step() {
  const Friction friction(options_);
  const std::uint64_t seed = thermostat_seed(options_, step_);
  team_ranges(system_.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      SiteRandom random(seed, RandomPurpose::Thermostat, std::int64_t(i));
      const double width = friction.noise / std::sqrt(mass_of(system_, i));
      for (std::size_t n = 3 * i; n < 3 * i + 3; ++n) {
        velocities_[n] = friction.kept * velocities_[n] + width * random.normal();
      }
    }
  });
}

/// With a thermostat in the order BAOAB of Leimkuhler and Matthews, J. Chem. Phys. 138 (2013) 174102.
void HostDynamics::one_step() {
  kick();
  if (has_thermostat(options_)) {
    drift(options_.time_step / 2);
    ou_step();
    drift(options_.time_step / 2);
  } else {
    drift(options_.time_step);
  }
  try {
    find_forces();
  } catch (const Error& error) {
    throw_in_step(step_ + 1, error);
  }
  kick();
  ++step_;
}

Observables HostDynamics::observe() {
  ForceResult found;
  if (in_double_) {
    found = in_double_->at(system_.positions, system_.box);
  } else {
    // The same forces again, with energy, in a place of their own: bonded ones have been added to those here.
    std::vector<double> again(forces_.size());
    found = pairs_.compute_into(system_.positions, system_.box, again, true);
  }
  BondedTotals bonded;
  if (!bonded_.empty()) bonded = {bonded_.energies(), bonded_.virial(system_.positions)};
  return observables_of(system_, options_, step_, motion_of(system_, velocities_), found, bonded);
}

void HostDynamics::remember(const Dynamics::Memory& memory) {
  step_ = memory.step;
  system_.positions = memory.positions;
  velocities_ = memory.velocities;
  pairs_.remember(memory.lists);
  find_forces();
}

}  // namespace

std::unique_ptr<DynamicsEngine> make_host_dynamics(const System& system, std::span<const double> velocities,
                                                   const DynamicsOptions& options) {
  return std::make_unique<HostDynamics>(system, velocities, options);
}

}  // namespace quadrille::md
