// Neighbour lists on the device, with the particles in slots beside them; what dynamics on the device builds on.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/stream_clock.h"
#include "modules/md/lists/cuda/list_kernels.h"
#include "modules/md/lists/list_engine.h"
#include "modules/md/pairs/rank_shares.h"

#include <optional>

namespace quadrille::md {

/// Three arrays by slot.
using ThreeDevice = std::array<cuda::DeviceArray<double>, 3>;

template <class T>
class CudaListEngine final : public DeviceListEngine {
 public:
  CudaListEngine(const System& system, const ListOptions& options);

  void build(std::span<const double> positions, const std::array<double, 3>& box) override;
  void place(std::span<const double> positions) override;
  void scale(const Exponents& exponents) override;
  ListPass run(Method method, bool energy, bool quanta) override;
  void forces(double unit, std::span<double> out) override;
  std::vector<std::int64_t> quanta() override;
  std::array<double, total_sums> totals() override;
  std::int64_t entries() override;

  void build_there(const double* positions, const std::array<double, 3>& box) override;
  void place_there(const double* positions) override;
  void forces_there(double unit, double* out) override;
  Change change(const double* positions, const std::array<double, 3>& box, std::optional<double> limit) override;
  /// [particle][x, y, z], waits for the device.
  std::vector<double> listed_positions() override { return in_order(listed_, 1); }

  // For particles that move on the device. What has a gate does not wait for the device.

  /// Gives them velocities [particle][x, y, z] and masses (empty: 1), which go to new slots with them. Lists must have
  /// been built.
  void set_in_motion(std::span<const double> velocities, std::span<const double> masses);
  void set_velocities(std::span<const double> velocities) { to_slots(velocities, velocity_); }
  /// Lists for where the particles are; what halted is forgotten first. Halts with lists_full: then grow_lists().
  void relist(const Gate& gate);
  /// Makes room for lists of this length, and finds them again.
  void grow_lists(std::int32_t longest, const Gate& gate);
  /// A pass without energy and quanta, which halts as launch_list_pass() says. With several ranks it waits for all of
  /// them: then all have all sums, or halt alike.
  void launch(const Gate& gate, float safe_ratio);

  DeviceParticles particles();
  const DeviceBox& box() const { return box_; }
  Place<T>* places() { return at_.get(); }
  PairSums sums() const;
  bool several_ranks() const { return shares_.several(); }
  Halt* halt() { return halt_.get(); }
  Halt halted() const;
  void forget_halt();

  /// [particle][x, y, z] of numbers by slot, times `factor`; waits for the device.
  std::vector<double> in_order(const double* const (&by_slot)[3], double factor);
  std::vector<double> positions() { return in_order(position_, 1); }
  std::vector<double> velocities() { return in_order(velocity_, 1); }
  /// Momentum x, y, z and kinetic energy, as on the CPU.
  std::array<double, 4> motion();

 private:
  bool charged() const { return options_.forces.coulomb != Coulomb::none; }
  bool typed() const { return system_.table.types > 1; }
  void set_box(const std::array<double, 3>& box);
  void send_by_particle();
  void find_lists(const Gate& gate);
  /// [particle][x, y, z] on the device.
  cuda::DeviceArray<double> sent_numbers(std::span<const double> numbers) const;
  void to_slots(std::span<const double> numbers, ThreeDevice& by_slot);
  void to_slots(const double* numbers_there, ThreeDevice& by_slot);
  std::vector<double> in_order(const ThreeDevice& by_slot, double factor) {
    return in_order({by_slot[0].get(), by_slot[1].get(), by_slot[2].get()}, factor);
  }
  /// This rank's.
  ListPassOf pass(const Gate& gate, float safe_ratio) const;
  void agree_on_halt(const Gate& gate);
  ListProblem<T> problem() const;
  DeviceLists lists() const { return {quads_.get(), length_.get(), capacity_}; }

  const System& system_;
  const ListOptions options_;
  const OwnPairs own_;
  RankShares shares_;
  const std::int64_t size_, slots_;
  std::array<double, 3> edges_{};
  DeviceBox box_{};
  CellGrid grid_;
  ListTables<T> tables_;
  Method last_ = Method::narumi;  ///< of the last pass

  // By particle: kinds, pairs that lists leave out, pairs of their own; numbers from 0.
  cuda::DeviceArray<std::int32_t> type_of_particle_, numbers_, cell_of_particle_, left_out_;
  cuda::DeviceArray<T> charge_of_particle_;
  cuda::DeviceArray<double> mass_of_particle_;
  cuda::DeviceArray<std::int64_t> left_out_begin_, own_begin_;
  // By slot; `old` is where they were before they were sorted again.
  ThreeDevice position_, old_position_, velocity_, old_velocity_, listed_;
  cuda::DeviceArray<double> mass_;
  cuda::DeviceArray<std::int32_t> particle_of_, slot_of_, type_, cell_, cell_begin_;
  cuda::DeviceArray<T> charge_;
  cuda::DeviceArray<Place<T>> at_;
  cuda::DeviceArray<Place<float>> near_;  ///< in double only: there places are not what lists are built from
  cuda::DeviceArray<char> workspace_;
  // Lists.
  cuda::DeviceArray<ListQuad> quads_;
  cuda::DeviceArray<std::int32_t> length_;
  std::int32_t capacity_ = 0;
  cuda::DeviceArray<Halt> halt_;
  // Coefficients and sums.
  cuda::DeviceArray<T> force12_, force6_, energy12_, energy6_, edge_force_, energy_shift_;
  cuda::DeviceArray<ListedPair<T>> listed_pairs_;
  cuda::DeviceArray<double> values_;
  cuda::DeviceArray<std::int64_t> quanta_;
  cuda::DeviceArray<float> worst_ratio_, worst_energy_;
  cuda::DeviceArray<std::uint8_t> strayed_;
  cuda::DeviceArray<DeviceWatch> watch_;
  std::optional<cuda::StreamClock> clock_;
};

}  // namespace quadrille::md
