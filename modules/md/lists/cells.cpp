#include "modules/md/lists/cells.h"

#include "core/system/team.h"

namespace quadrille::md {

void CellOrder::sort(std::span<const std::uint32_t> fractions, const std::array<double, 3>& box, double radius) {
  const std::size_t size = fractions.size() / 3;
  grid_ = CellGrid(std::int64_t(size), box, radius);
  const auto cells = std::size_t(grid_.cells());
  std::vector<std::int32_t> cell(size);
  begin_.assign(cells + 1, 0);
  team_ranges(std::int64_t(size), [&](std::int64_t from, std::int64_t to) {
    for (auto i = std::size_t(from); i < std::size_t(to); ++i) {
      cell[i] = grid_.cell_at(fractions[3 * i], fractions[3 * i + 1], fractions[3 * i + 2]);
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
  grid_.near(cell_of[std::size_t(slot)], [&](std::int32_t first, std::int32_t end) {
    const SlotRange range{begin_[std::size_t(first)], begin_[std::size_t(end)]};
    if (range.begin < range.end) out.push_back(range);
  });
}

}  // namespace quadrille::md
