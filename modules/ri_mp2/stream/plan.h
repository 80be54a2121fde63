// How B passes through a memory that it does not fit into: units of a few occupied orbitals, of which a block stays
// while those before it pass, one after the other.
//
//   for each block of units i:  bring it
//     for each unit j before the block:  bring it;  multiply it with all units i of the block
//     multiply all pairs i >= j of the block
//
// With o orbitals, `kept` of them in a block, a pass brings them all once and o (o - kept) / (2 kept) others: (P + 1) /
// 2 times B for P = o / kept blocks. Each orbital j that passes meets `kept` orbitals i: 2 kept v^2 n flops for v n
// numbers. So the block is as large as the memory lets it be, and units are only as large as products want them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace quadrille::ri_mp2 {

/// Bytes that step 4 takes.
struct StreamCosts {
  std::int64_t kept = 0;     ///< for an orbital of the block that stays: its rows of B, in all that products read
  std::int64_t passing = 0;  ///< for an orbital that passes
  std::int64_t pair = 0;     ///< for a pair of orbitals of a batch: integrals, and what their product takes
  std::int64_t fixed = 0;

  /// The least that there is a plan for.
  std::int64_t smallest() const { return kept + passing + pair + fixed; }
};

struct StreamPlan {
  std::int64_t batch = 0;        ///< occupied orbitals of a unit
  std::int64_t units = 0;        ///< of which the last may have fewer
  std::int64_t kept = 0;         ///< units of a block
  std::int64_t first_block = 0;  ///< units of the first one, for which none pass: it takes what is over
  std::int64_t bytes = 0;

  /// Units that are brought, for blocks and in passing.
  std::int64_t brought() const {
    std::int64_t sum = units;
    for (std::int64_t begin = first_block; begin < units; begin += kept) sum += begin;
    return sum;
  }
};

/// Units have at most `most_batch` orbitals, and with their integrals a quarter of the cap where that is possible; the
/// block has the rest. Nothing for a cap below costs.smallest().
inline std::optional<StreamPlan> plan_stream(std::int64_t occupied, const StreamCosts& costs, std::int64_t cap,
                                             std::int64_t most_batch) {
  const auto of_unit = [&](std::int64_t d) { return d * costs.passing + d * d * costs.pair; };
  StreamPlan plan;
  plan.batch = std::max<std::int64_t>(1, std::min(most_batch, occupied));
  while (plan.batch > 1 && of_unit(plan.batch) > (cap - costs.fixed) / 4) --plan.batch;
  plan.units = (occupied + plan.batch - 1) / plan.batch;
  const std::int64_t rest = cap - costs.fixed - of_unit(plan.batch);
  plan.kept = std::min(plan.units, rest / (plan.batch * costs.kept));
  if (rest < 0 || plan.kept < 1) return {};
  plan.first_block = plan.units % plan.kept == 0 ? plan.kept : plan.units % plan.kept;
  plan.bytes = costs.fixed + of_unit(plan.batch) + plan.kept * plan.batch * costs.kept;
  return plan;
}

/// The same where `fixed` depends on how many orbitals units have at most: costs_of(batch). Of the plans whose units
/// are as large as their costs allow, the one with the largest.
template <class CostsOf>
std::optional<StreamPlan> plan_stream_of(std::int64_t occupied, const CostsOf& costs_of, std::int64_t cap,
                                         std::int64_t most_batch) {
  for (std::int64_t batch = most_batch; batch > 0; --batch) {
    const std::optional<StreamPlan> plan = plan_stream(occupied, costs_of(batch), cap, batch);
    if (plan && plan->batch == batch) return plan;
  }
  return {};
}

/// keep(first, count) brings a block of units, pass(j) a unit before it; use(i, j) is called for every two units j <=
/// i.
template <class Keep, class Pass, class Use>
void for_each_pair(const StreamPlan& plan, const Keep& keep, const Pass& pass, const Use& use) {
  for (std::int64_t begin = 0, end = plan.first_block; begin < plan.units; begin = end, end += plan.kept) {
    keep(begin, end - begin);
    for (std::int64_t j = 0; j < begin; ++j) {
      pass(j);
      for (std::int64_t i = begin; i < end; ++i) use(i, j);
    }
    for (std::int64_t j = begin; j < end; ++j) {
      for (std::int64_t i = j; i < end; ++i) use(i, j);
    }
  }
}

}  // namespace quadrille::ri_mp2
