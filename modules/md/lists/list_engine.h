// Neighbour lists of a system and passes over them on a backend.
#pragma once

#include "modules/md/lists/list_tables.h"
#include "modules/md/pairs/fixed_scales.h"

#include <memory>
#include <optional>

namespace quadrille::md {

/// The sums after those of the force: energy, virial xx, xy, xz, yy, yz, zz.
constexpr int total_sums = all_sums - force_sums;

struct ListPass {
  PassWatch watch;             ///< in fixed point
  std::int32_t infinite = -1;  ///< a particle that a term or a sum of is not finite
  double seconds = 0;          ///< of the kernel
};

class ListEngine {
 public:
  virtual ~ListEngine() = default;

  /// Lists for positions [particle][x, y, z], within 2^18 edges, and puts the particles there.
  virtual void build(std::span<const double> positions, const std::array<double, 3>& box) = 0;
  /// Puts them elsewhere; lists stay.
  virtual void place(std::span<const double> positions) = 0;
  /// Coefficients scaled by these powers of two.
  virtual void scale(const Exponents& exponents) = 0;
  /// Sums of all pairs by a method, of the precision that the engine was made for; with energy also those of energy
  /// and virial. `quanta`: they are wanted, as integers too.
  virtual ListPass run(Method method, bool energy, bool quanta) = 0;

  // Of the last pass, in scaled units.
  /// [particle][x, y, z], times `unit`; overwrites `out`.
  virtual void forces(double unit, std::span<double> out) = 0;
  /// The same as integers, of a pass with quanta.
  virtual std::vector<std::int64_t> quanta() = 0;
  /// Sums over all particles of a pass with energy, and in fixed point with quanta: exact then, and rounded once.
  virtual std::array<double, total_sums> totals() = 0;

  /// Entries of all lists, padded to those of the particles beside; each pair twice.
  virtual std::int64_t entries() = 0;
};

/// On a device: also for arrays [particle][x, y, z] in its memory.
class DeviceListEngine : public ListEngine {
 public:
  virtual void build_there(const double* positions, const std::array<double, 3>& box) = 0;
  virtual void place_there(const double* positions) = 0;
  virtual void forces_there(double unit, double* out) = 0;
  /// What has become of the particles since lists were built.
  struct Change {
    bool moved;  ///< one has by more than `limit`
    bool lost;   ///< one is not within `furthest` edges
  };
  /// Before lists are built: without a limit, only whether one is lost.
  virtual Change change(const double* positions, const std::array<double, 3>& box, std::optional<double> limit) = 0;
  /// Those that lists were built for, on the host.
  virtual std::vector<double> listed_positions() = 0;
};

/// Engines for a system from system_of_lists(), which must outlive them.
std::unique_ptr<ListEngine> make_cpu_list_engine(const System& system, const ListOptions& options);
/// In builds with CUDA alone (core/backend/of_backend.h).
std::unique_ptr<DeviceListEngine> make_cuda_list_engine(const System& system, const ListOptions& options);

}  // namespace quadrille::md
