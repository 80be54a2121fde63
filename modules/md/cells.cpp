#include "modules/md/cells.h"

#include "core/system/team.h"

#include <algorithm>
#include <cmath>

namespace quadrille::md {
namespace {

/// Cells are short along x: a quarter of the radius.
constexpr double shortness = 4;

/// Numbers from .. to, periodic, as at most two ranges; all where they overlap.
struct Wrapped {
  std::int64_t begin[2], end[2];
  int parts;
};
Wrapped wrapped(std::int64_t middle, std::int64_t reach, std::int64_t count) {
  if (2 * reach + 1 >= count) return {{0, 0}, {count, 0}, 1};
  const std::int64_t from = middle - reach, to = middle + reach + 1;
  if (from < 0) return {{0, from + count}, {to, count}, 2};
  if (to > count) return {{from, 0}, {count, to - count}, 2};
  return {{from, 0}, {to, 0}, 1};
}

}  // namespace

void CellOrder::sort(std::span<const std::uint32_t> fractions, const std::array<double, 3>& box, double radius) {
  const std::size_t size = fractions.size() / 3;
  const double most_cells = 4 * double(size) + 64;
  const double wanted[3] = {box[0] / radius * shortness, box[1] / radius, box[2] / radius};
  double crowding = std::cbrt(wanted[0] * wanted[1] * wanted[2] / most_cells);
  crowding = std::max(1.0, crowding);  // of a box that is nearly empty: wider cells
  for (std::size_t k = 0; k < 3; ++k) {
    count_[k] = std::int64_t(std::max(1.0, std::min(std::floor(wanted[k] / crowding), most_cells)));
    reach_[k] = std::int64_t(std::ceil(radius / box[k] * double(count_[k])));
  }
  const auto cells = std::size_t(count_[0] * count_[1] * count_[2]);
  std::vector<std::int32_t> cell(size);
  begin_.assign(cells + 1, 0);
  team_ranges(std::int64_t(size), [&](std::int64_t from, std::int64_t to) {
    for (auto i = std::size_t(from); i < std::size_t(to); ++i) {
      std::int64_t at[3];
      for (std::size_t k = 0; k < 3; ++k) at[k] = std::int64_t(fractions[3 * i + k]) * count_[k] >> 32;
      cell[i] = std::int32_t((at[2] * count_[1] + at[1]) * count_[0] + at[0]);
    }
  });
  for (const std::int32_t c : cell) ++begin_[std::size_t(c) + 1];
  for (std::size_t c = 0; c < cells; ++c) begin_[c + 1] += begin_[c];
  slot_of.resize(size);
  cell_of.resize(size);
  particle_of.assign((size / slot_unit + 1) * slot_unit, -1);
  std::vector<std::int32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t i = 0; i < size; ++i) {
    const std::int32_t slot = next[std::size_t(cell[i])]++;
    slot_of[i] = slot;
    particle_of[std::size_t(slot)] = std::int32_t(i);
    cell_of[std::size_t(slot)] = cell[i];
  }
}

void CellOrder::ranges_near(std::int32_t slot, std::vector<SlotRange>& out) const {
  out.clear();
  const std::int64_t cell = cell_of[std::size_t(slot)];
  const Wrapped x = wrapped(cell % count_[0], reach_[0], count_[0]),
                y = wrapped(cell / count_[0] % count_[1], reach_[1], count_[1]),
                z = wrapped(cell / (count_[0] * count_[1]), reach_[2], count_[2]);
  for (int pz = 0; pz < z.parts; ++pz) {
    for (std::int64_t cz = z.begin[pz]; cz < z.end[pz]; ++cz) {
      for (int py = 0; py < y.parts; ++py) {
        for (std::int64_t cy = y.begin[py]; cy < y.end[py]; ++cy) {
          const std::int32_t* row = begin_.data() + (cz * count_[1] + cy) * count_[0];
          for (int px = 0; px < x.parts; ++px) {
            const SlotRange range{row[x.begin[px]], row[x.end[px]]};
            if (range.begin < range.end) out.push_back(range);
          }
        }
      }
    }
  }
}

}  // namespace quadrille::md
