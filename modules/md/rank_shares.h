// Several ranks: each has all particles, sums over the pairs of a range of groups of slots, and is given the sums of
// the others. What follows from all sums is computed on every rank, in the same order: with the bits of one process.
#pragma once

#include "core/comm/communicator.h"
#include "modules/md/pair_problem.h"

#include <cstddef>
#include <vector>

namespace quadrille::md {

struct GroupRange {
  std::int64_t begin, end;
};

class RankShares {
 public:
  /// `ranks`: null for one process. Errors (ErrorCode::unsupported): ranks whose CPUs have other instruction sets.
  /// Collective.
  explicit RankShares(const Communicator* ranks);

  /// This rank's part of so many groups.
  GroupRange mine(std::int64_t groups) const { return of(ranks_ == nullptr ? 0 : ranks_->rank(), groups); }
  /// The slots of other ranks' groups are given the sums that these have: of `fixed` methods quanta (unless null) and
  /// what is watched, too. Collective.
  void gather(const PairSums& sums, std::int64_t groups, bool fixed, bool energy);
  /// Of what each rank has.
  std::int64_t sum(std::int64_t count) const;

 private:
  GroupRange of(int rank, std::int64_t groups) const;

  const Communicator* ranks_;  ///< null: one process
  std::vector<std::byte> sent_, received_;
};

}  // namespace quadrille::md
