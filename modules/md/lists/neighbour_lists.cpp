#include "modules/md/lists/neighbour_lists.h"

#include "core/system/team.h"

#include <algorithm>
#include <atomic>

namespace quadrille::md {
namespace {

/// Groups whose lists are built one after the other, by one thread.
constexpr std::int64_t block_groups = 32;

}  // namespace

Partners partners_of(std::int64_t particles, const std::vector<Exclusion>& pairs) {
  Partners out;
  out.begin.assign(std::size_t(particles) + 1, 0);
  for (const auto& [a, b] : pairs) {
    ++out.begin[std::size_t(a) + 1];
    ++out.begin[std::size_t(b) + 1];
  }
  for (std::size_t i = 0; i < std::size_t(particles); ++i) out.begin[i + 1] += out.begin[i];
  out.other.resize(2 * pairs.size());
  std::vector<std::int64_t> next(out.begin.begin(), out.begin.end() - 1);
  for (const auto& [a, b] : pairs) {
    out.other[std::size_t(next[std::size_t(a)]++)] = b;
    out.other[std::size_t(next[std::size_t(b)]++)] = a;
  }
  return out;
}

struct NeighbourLists::Scratch {
  std::vector<SlotRange> ranges;
  std::vector<std::int32_t> found;  ///< the lists of a group, one after the other
  std::int64_t cell = -1;           ///< that `ranges` belong to
  std::int64_t candidates = 0;      ///< in them
};

NeighbourLists::NeighbourLists(std::int64_t particles, const std::vector<Exclusion>& left_out) {
  if (left_out.empty()) return;
  Partners partners = partners_of(particles, left_out);
  left_out_begin_ = std::move(partners.begin);
  left_out_ = std::move(partners.other);
}

void NeighbourLists::build(const CellOrder& order, const NearProblem& problem, NearKernel near, int lanes,
                           GroupRange mine) {
  const std::int64_t groups = order.slots() / lanes, blocks = (mine.end - mine.begin + block_groups - 1) / block_groups;
  entries.assign(std::size_t(groups), nullptr);
  length.assign(std::size_t(groups), 0);
  blocks_.resize(std::size_t(blocks));
  std::vector<std::int64_t> begin(static_cast<std::size_t>(groups));
  std::atomic<std::int64_t> pairs = 0;
  team_for_with(
      blocks, [] { return Scratch{}; },
      [&](Scratch& scratch, std::int64_t block) {
        std::vector<std::int32_t>& out = blocks_[std::size_t(block)];
        out.clear();
        const std::int64_t first = mine.begin + block * block_groups, end = std::min(mine.end, first + block_groups);
        for (std::int64_t group = first; group < end; ++group) {
          begin[std::size_t(group)] = std::int64_t(out.size());
          build_group(order, problem, near, lanes, group, scratch, out);
        }
        for (std::int64_t group = first; group < end; ++group) {
          entries[std::size_t(group)] = out.data() + begin[std::size_t(group)];
        }
        pairs += std::int64_t(out.size());
      });
  pairs_ = pairs;
}

void NeighbourLists::build_group(const CellOrder& order, const NearProblem& problem, NearKernel near, int lanes,
                                 std::int64_t group, Scratch& scratch, std::vector<std::int32_t>& out) {
  std::array<std::int64_t, slot_unit> begin{};
  std::array<std::int32_t, slot_unit> count{};
  std::int64_t used = 0;
  std::int32_t longest = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    const std::int64_t slot = group * lanes + lane;
    if (slot >= order.size()) continue;
    if (order.cell_of[std::size_t(slot)] != scratch.cell) {
      scratch.cell = order.cell_of[std::size_t(slot)];
      order.ranges_near(std::int32_t(slot), scratch.ranges);
      scratch.candidates = 0;
      for (const SlotRange& range : scratch.ranges) scratch.candidates += range.end - range.begin;
    }
    const auto room = std::size_t(used + scratch.candidates + slot_unit);
    if (scratch.found.size() < room) scratch.found.resize(2 * room);
    std::int32_t* const list = scratch.found.data() + used;
    std::int32_t found = near(problem, std::int32_t(slot), scratch.ranges.data(), int(scratch.ranges.size()), list);
    leave_out(order, std::int32_t(slot), list, found);
    begin[std::size_t(lane)] = used;
    count[std::size_t(lane)] = found;
    used += found;
    longest = std::max(longest, found);
  }
  if (longest == 0) return;
  const auto nobody = std::int32_t(order.slots() - 1);
  const std::size_t from = out.size();
  out.resize(from + std::size_t(longest) * std::size_t(lanes));
  for (int lane = 0; lane < lanes; ++lane) {
    const std::int32_t* const list = scratch.found.data() + begin[std::size_t(lane)];
    std::int32_t* const to = out.data() + from + lane;
    const std::int32_t own = count[std::size_t(lane)];
    for (std::int32_t n = 0; n < own; ++n) to[std::int64_t(n) * lanes] = list[n];
    for (std::int32_t n = own; n < longest; ++n) to[std::int64_t(n) * lanes] = nobody;
  }
  length[std::size_t(group)] = longest;
}

void NeighbourLists::leave_out(const CellOrder& order, std::int32_t slot, std::int32_t* list,
                               std::int32_t& length) const {
  if (left_out_begin_.empty()) return;
  const auto particle = std::size_t(order.particle_of[std::size_t(slot)]);
  for (std::int64_t n = left_out_begin_[particle]; n < left_out_begin_[particle + 1]; ++n) {
    const std::int32_t other = order.slot_of[std::size_t(left_out_[std::size_t(n)])];
    length = std::int32_t(std::remove(list, list + length, other) - list);
  }
}

}  // namespace quadrille::md
