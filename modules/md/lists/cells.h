// Particles sorted by place, so that those near a particle are few ranges of slots.
#pragma once

#include "modules/md/lists/cell_grid.h"
#include "modules/md/lists/list_problem.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace quadrille::md {

/// Slots come in groups of up to this many; there is at least one that nobody has.
constexpr std::int64_t slot_unit = 16;

class CellOrder {
 public:
  /// `fractions` [particle][x, y, z], in 2^-32 of the edges. Within a cell particles are in the order of their numbers.
  void sort(std::span<const std::uint32_t> fractions, const std::array<double, 3>& box, double radius);

  std::int64_t size() const { return std::int64_t(slot_of.size()); }
  std::int64_t slots() const { return std::int64_t(particle_of.size()); }
  /// The ranges of slots that have all particles within the radius of that in `slot`, each once.
  void ranges_near(std::int32_t slot, std::vector<SlotRange>& out) const;

  std::vector<std::int32_t> slot_of;      ///< [particle]
  std::vector<std::int32_t> particle_of;  ///< [slot]; -1 where there is none: the last ones
  std::vector<std::int32_t> cell_of;      ///< [slot], of particles

 private:
  CellGrid grid_;
  std::vector<std::int32_t> begin_;  ///< [cell + 1]
};

}  // namespace quadrille::md
