// Memory for what a pass writes, by slot; and what becomes of it.
#pragma once

#include "modules/md/pairs/forces.h"

#include <cstddef>
#include <limits>
#include <vector>

namespace quadrille::md {

struct SlotSums {
  std::vector<double> values;
  std::vector<std::int64_t> quanta;
  std::vector<float> worst_ratio, worst_energy;
  std::vector<std::uint8_t> strayed;

  explicit SlotSums(std::int64_t slots) {
    const auto count = std::size_t(slots);
    values.assign(all_sums * count, std::numeric_limits<double>::quiet_NaN());
    quanta.assign(all_sums * count, std::numeric_limits<std::int64_t>::min());
    worst_ratio.resize(count);
    worst_energy.resize(count);
    strayed.resize(count);
  }
  PairSums view() {
    return {values.data(),       quanta.data(),  worst_ratio.data(),
            worst_energy.data(), strayed.data(), std::int64_t(strayed.size())};
  }
};

/// Energy and virial of a result from the sums of all particles that follow those of forces, times `unit`.
inline void set_totals(ForceResult& out, const std::array<double, all_sums - force_sums>& sums, double unit) {
  const auto [energy, xx, xy, xz, yy, yz, zz] = sums;
  out.energy = energy * unit;
  out.virial = {xx * unit, xy * unit, xz * unit, xy * unit, yy * unit, yz * unit, xz * unit, yz * unit, zz * unit};
}

}  // namespace quadrille::md
