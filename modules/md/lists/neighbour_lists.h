// Verlet lists of all neighbours of each particle, for V particles at a time.
#pragma once

#include "modules/md/lists/cells.h"
#include "modules/md/lists/list_kernels.h"
#include "modules/md/pairs/rank_shares.h"
#include "modules/md/system/system.h"

#include <vector>

namespace quadrille::md {

class NeighbourLists {
 public:
  /// Pairs that are left out of the lists.
  NeighbourLists(std::int64_t particles, const std::vector<Exclusion>& left_out);

  /// Lists of what is within `radius` of each particle of the groups `mine`; `lanes` is V.
  void build(const CellOrder& order, const NearProblem& problem, NearKernel near, int lanes, GroupRange mine);

  std::int64_t groups() const { return std::int64_t(length.size()); }
  std::int64_t pairs() const { return pairs_; }  ///< entries of these lists, of all groups each pair twice

  std::vector<const std::int32_t*> entries;  ///< [group], as in ListProblem; others than `mine` are empty
  std::vector<std::int32_t> length;          ///< [group]

 private:
  struct Scratch;
  void build_group(const CellOrder& order, const NearProblem& problem, NearKernel near, int lanes, std::int64_t group,
                   Scratch& scratch, std::vector<std::int32_t>& out);
  void leave_out(const CellOrder& order, std::int32_t slot, std::int32_t* list, std::int32_t& length) const;

  std::vector<std::int64_t> left_out_begin_;  ///< [particle + 1]; empty: no pair is left out
  std::vector<std::int32_t> left_out_;
  std::vector<std::vector<std::int32_t>> blocks_;  ///< entries of some groups one after the other
  std::int64_t pairs_ = 0;
};

/// For each particle those that it shares a pair with: begin [particle + 1], and them.
struct Partners {
  std::vector<std::int64_t> begin;
  std::vector<std::int32_t> other;
};
Partners partners_of(std::int64_t particles, const std::vector<Exclusion>& pairs);

}  // namespace quadrille::md
