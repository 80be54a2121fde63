// Dynamics on the device. A step is two kernels: one kicks and moves the particles, one finds the forces; with bonded
// terms four, to find these and to add them. The host asks for a few steps ahead; where one cannot go on (halt.h) those
// queued after it do nothing, and the host does what is needed: mostly, lists of new neighbours.
#include "core/backend/cuda/owned.h"
#include "core/error.h"
#include "modules/md/bonded/cuda/bonded.h"
#include "modules/md/dynamics/dynamics_engine.h"
#include "modules/md/lists/cuda/list_engine.h"
#include "modules/md/lists/list_passes.h"

#include <cmath>

namespace quadrille::md {
namespace {

/// Steps that are queued before the device has begun the one before them.
constexpr std::int64_t steps_ahead = 3;

template <class T>
class CudaDynamics final : public DynamicsEngine {
 public:
  CudaDynamics(const System& system, std::span<const double> velocities, const DynamicsOptions& options);
  ~CudaDynamics() override { (void)cudaStreamSynchronize(cuda::stream()); }  // kernels write into the host's word

  void run(std::int64_t steps) override;
  Observables observe() override;
  std::int64_t step() const override { return step_; }
  const std::vector<double>& positions() override {
    return here(positions_, [&] { return lists_.positions(); });
  }
  const std::vector<double>& velocities() override {
    return here(velocities_, [&] { return lists_.velocities(); });
  }
  const std::vector<double>& forces() override;
  ListStatistics statistics() const override { return {builds_, double(lists_.entries()) / double(pairs_.size())}; }
  Dynamics::Memory memory() override;
  void remember(const Dynamics::Memory& memory) override;

 private:
  /// Numbers of this moment on the host, fetched on request.
  using Here = std::optional<std::vector<double>>;
  template <class Fetch>
  static const std::vector<double>& here(Here& numbers, Fetch fetch) {
    if (!numbers) numbers = fetch();
    return *numbers;
  }

  void build(std::span<const double> positions);
  void find_forces(bool energy);
  void ask_for_forces();
  const double* force_sums() { return bonded_.empty() ? lists_.sums().values : bonded_.total(); }
  double force_unit() const { return bonded_.empty() ? passes_.unit() : 1; }
  bool stale(std::span<const double> positions, std::span<const double> listed) const;

  Advance advance(std::int64_t step, int kicks);
  Gate gate() { return {lists_.halt(), seen_, tick_++}; }
  void begin_at(std::int64_t step);
  void ask_for_step();
  Sighting poll() const;
  Sighting wait();
  void mend(const Sighting& sighting);
  [[noreturn]] void refuse(std::int64_t step, const Halt& halt, unsigned reasons);
  std::int64_t step_of(const Sighting& sighting) const {
    return first_step_ + std::int64_t(sighting.tick - first_tick_) / (bonded_.empty() ? 2 : 4);
  }

  const System system_;  ///< masses and box
  const DynamicsOptions options_;
  const System pairs_;  ///< as lists read it
  mutable CudaListEngine<T> lists_;
  ListPasses passes_;
  CudaBonded bonded_;
  std::optional<EnergiesInDouble> in_double_;
  cuda::PinnedMemory word_;
  volatile unsigned long long* seen_;
  std::int64_t step_ = 0, builds_ = 0;
  // Of the queued steps: kernel `first_tick_` is the first of `first_step_`, and each has as many.
  unsigned long long tick_ = 1, first_tick_ = 1;
  std::int64_t first_step_ = 0, next_ = 0;
  int kicks_ = 1;  ///< of the next step
  Here positions_, velocities_, forces_;
};

template <class T>
CudaDynamics<T>::CudaDynamics(const System& system, std::span<const double> velocities, const DynamicsOptions& options)
    : system_(system),
      options_(options),
      pairs_(system_of_lists(system, options.lists)),
      lists_(pairs_, options_.lists),
      passes_(pairs_, options_.lists, lists_),
      bonded_(system),
      word_(cuda::make_pinned(sizeof(unsigned long long), cudaHostAllocMapped, "steps of dynamics")),
      seen_(reinterpret_cast<volatile unsigned long long*>(word_.get())) {
  *seen_ = 0;
  if (options.energies_in_double) in_double_.emplace(system, options.lists);
  check_box(options.lists.forces, system.box);
  check_places(system.size(), options.lists.forces, system.positions, system.box);
  build(system.positions);
  lists_.set_in_motion(velocities, system.masses);
  find_forces(false);
}

template <class T>
void CudaDynamics<T>::build(std::span<const double> positions) {
  lists_.build(positions, system_.box);
  ++builds_;
}

/// Waits for them.
template <class T>
void CudaDynamics<T>::find_forces(bool energy) {
  const std::int32_t infinite = passes_.run(energy, energy);
  if (infinite >= 0) explain_infinite(pairs_, options_.lists.forces, positions(), system_.box, infinite);
  if (bonded_.empty()) return;
  lists_.forget_halt();
  bonded_.launch_terms(lists_.particles(), {lists_.halt(), nullptr, 0});
  const Halt halt = lists_.halted();
  if (halt.reasons != 0) explain_undefined(bonded_.tables(), halt.term, positions());
  bonded_.launch_total(lists_.particles(), lists_.sums().values, passes_.unit(), {});
}

/// For where particles are; the rest of a step that has moved them.
template <class T>
void CudaDynamics<T>::ask_for_forces() {
  lists_.launch(gate(), passes_.scales().safe_ratio());
  if (bonded_.empty()) return;
  bonded_.launch_terms(lists_.particles(), gate());
  bonded_.launch_total(lists_.particles(), lists_.sums().values, passes_.unit(), gate());
  if (lists_.several_ranks()) cuda_backend().synchronize();  // all see the same before they ask for more
}

template <class T>
Advance CudaDynamics<T>::advance(std::int64_t step, int kicks) {
  const double move = options_.lists.forces.cutoff / 2, skin = options_.lists.skin;
  const Friction friction(options_);
  return {lists_.particles(),       lists_.box(),  force_sums(),   force_unit(),
          options_.time_step / 2,   kicks,         move * move,    skin * skin / 4,
          has_thermostat(options_), friction.kept, friction.noise, thermostat_seed(options_, step)};
}

/// The next kernel is the first of this step.
template <class T>
void CudaDynamics<T>::begin_at(std::int64_t step) {
  first_step_ = next_ = step;
  first_tick_ = tick_;
}

template <class T>
void CudaDynamics<T>::ask_for_step() {
  const Gate moving = gate();
  launch_advance(advance(next_, kicks_), lists_.places(), moving);
  ask_for_forces();
  kicks_ = 2;
  ++next_;
}

template <class T>
Sighting CudaDynamics<T>::poll() const {
  const Sighting sighting = sighting_of(*seen_);
  return sighting.tick < first_tick_ ? Sighting{first_tick_, 0} : sighting;  // of kernels before
}

/// The state when all queued work is done.
template <class T>
Sighting CudaDynamics<T>::wait() {
  const Halt halt = lists_.halted();
  return {halt.tick, halt.reasons};
}

template <class T>
void CudaDynamics<T>::run(std::int64_t steps) {
  if (steps <= 0) return;
  positions_.reset();
  velocities_.reset();
  forces_.reset();
  const std::int64_t last = step_ + steps;
  lists_.forget_halt();
  kicks_ = 1;
  begin_at(step_);
  for (unsigned looks = 1;; ++looks) {
    Sighting sighting = poll();
    if (sighting.reasons == 0 && next_ == last) sighting = wait();
    if (sighting.reasons != 0) {
      mend(sighting);
    } else if (next_ == last) {
      break;
    } else if (next_ - step_of(sighting) <= steps_ahead) {
      ask_for_step();
    } else if (looks % 65536 == 0) {  // an error ends the wait
      const cudaError_t status = cudaStreamQuery(cuda::stream());
      if (status != cudaErrorNotReady) cuda::check(status, "a step of dynamics");
    }
  }
  launch_kick(advance(last, 1));
  cuda_backend().synchronize();
  step_ = last;
}

/// Goes on with the step that has halted; the following ones are to be queued again.
template <class T>
void CudaDynamics<T>::mend(const Sighting& sighting) {
  const std::int64_t step = step_of(sighting);
  begin_at(step);
  if (sighting.reasons == lists_stale) {  // nothing to wait for
    ++builds_;
    lists_.relist(gate());
    ask_for_forces();
  } else {
    const Halt halt = lists_.halted();
    lists_.forget_halt();
    if ((sighting.reasons & (moved_too_far | lost | terms_undefined)) != 0) refuse(step, halt, sighting.reasons);
    if ((sighting.reasons & lists_full) != 0) {
      lists_.grow_lists(halt.longest, gate());
      ask_for_forces();
    } else {
      try {
        find_forces(false);
      } catch (const Error& error) {
        throw_in_step(step + 1, error);
      }
      begin_at(step + 1);
    }
  }
  next_ = step + 1;
}

template <class T>
void CudaDynamics<T>::refuse(std::int64_t step, const Halt& halt, unsigned reasons) {
  const auto particle = std::size_t(halt.particle);
  if ((reasons & moved_too_far) != 0) {
    const double* const v = velocities().data() + 3 * particle;
    const double time = has_thermostat(options_) ? options_.time_step / 2 : options_.time_step;
    refuse_move(step + 1, particle, std::hypot(time * v[0], time * v[1], time * v[2]), options_.time_step);
  }
  try {
    if ((reasons & terms_undefined) != 0) explain_undefined(bonded_.tables(), halt.term, positions());
    check_places(pairs_.size(), options_.lists.forces, positions(), system_.box);
  } catch (const Error& error) {
    throw_in_step(step + 1, error);
  }
  throw Error(ErrorCode::internal, "a particle was lost on the device alone");
}

template <class T>
const std::vector<double>& CudaDynamics<T>::forces() {
  return here(forces_, [&] {
    const double* const sums = force_sums();
    const std::int64_t slots = lists_.particles().slots;
    return lists_.in_order({sums, sums + slots, sums + 2 * slots}, force_unit());
  });
}

template <class T>
Observables CudaDynamics<T>::observe() {
  ForceResult found;
  if (in_double_) {
    found = in_double_->at(positions(), system_.box);
  } else {
    find_forces(true);
    found = passes_.result(true);
  }
  BondedTotals bonded;
  if (!bonded_.empty()) bonded = {bonded_.energies(), bonded_.virial(lists_.particles())};
  const std::array<double, 4> motion = lists_.motion();
  return observables_of(system_, options_, step_, {motion[3], {motion[0], motion[1], motion[2]}}, found, bonded);
}

template <class T>
Dynamics::Memory CudaDynamics<T>::memory() {
  const FixedScales& scales = passes_.scales();
  return {step_,
          positions(),
          velocities(),
          {lists_.listed_positions(), system_.box, scales.exponents.force, scales.exponents.energy, scales.known}};
}

template <class T>
bool CudaDynamics<T>::stale(std::span<const double> positions, std::span<const double> listed) const {
  for (std::size_t i = 0; i < positions.size(); i += 3) {
    double squared = 0;
    for (std::size_t n = i; n < i + 3; ++n) squared += (positions[n] - listed[n]) * (positions[n] - listed[n]);
    if (squared > options_.lists.skin * options_.lists.skin / 4) return true;
  }
  return false;
}

template <class T>
void CudaDynamics<T>::remember(const Dynamics::Memory& memory) {
  const ListForces::Memory& kept = memory.lists;
  check_places(pairs_.size(), options_.lists.forces, memory.positions, system_.box);
  if (!kept.listed_positions.empty()) {
    check_places(pairs_.size(), options_.lists.forces, kept.listed_positions, system_.box);
  }
  positions_.reset();
  velocities_.reset();
  forces_.reset();
  const bool none = kept.listed_positions.empty() || stale(memory.positions, kept.listed_positions);
  build(none ? memory.positions : kept.listed_positions);
  lists_.place(memory.positions);
  lists_.set_velocities(memory.velocities);
  passes_.set_scales({kept.force_exponent, kept.energy_exponent}, kept.scaled);
  step_ = memory.step;
  find_forces(false);
}

}  // namespace

std::unique_ptr<DynamicsEngine> make_cuda_dynamics(const System& system, std::span<const double> velocities,
                                                   const DynamicsOptions& options) {
  if (options.lists.forces.method == Method::double_double) {
    return std::make_unique<CudaDynamics<double>>(system, velocities, options);
  }
  return std::make_unique<CudaDynamics<float>>(system, velocities, options);
}

}  // namespace quadrille::md
