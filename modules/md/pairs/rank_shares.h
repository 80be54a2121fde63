// Several ranks: each has all particles, sums over the pairs of a range of groups of slots, and is given the sums of
// the others. What follows from all sums is computed on every rank, in the same order: with the bits of one process.
#pragma once

#include "core/backend/backend.h"
#include "core/comm/communicator.h"
#include "modules/md/pairs/pair_problem.h"

#include <cstddef>
#include <vector>

namespace quadrille::md {

struct GroupRange {
  std::int64_t begin, end;
};

class RankShares {
 public:
  /// `ranks`: null for one process. Sums are in the memory of the backend. Errors (ErrorCode::unsupported): ranks whose
  /// CPUs have other instruction sets, or whose GPUs are others. Collective.
  RankShares(const Communicator* ranks, Backend& backend);

  bool several() const { return ranks_ != nullptr; }

  /// This rank's part of so many groups.
  GroupRange mine(std::int64_t groups) const { return of(ranks_ == nullptr ? 0 : ranks_->rank(), groups); }
  /// The slots of other ranks' groups are given the sums that these have: of `fixed` methods quanta (unless null) and
  /// what is watched, too. Collective.
  void gather(const PairSums& sums, std::int64_t groups, bool fixed, bool energy);
  /// Of what each rank has. Collective.
  std::int64_t sum(std::int64_t count) const;
  /// The same number of every rank, by rank. Collective.
  template <class T>
  std::vector<T> each(const T& mine) const {
    std::vector<T> all(ranks_ == nullptr ? 1 : std::size_t(ranks_->size()), mine);
    if (ranks_ != nullptr) ranks_->gather(&mine, sizeof mine, all.data());
    return all;
  }

 private:
  GroupRange of(int rank, std::int64_t groups) const;

  const Communicator* ranks_;  ///< null: one process
  Backend& backend_;
  std::vector<std::byte> sent_, received_;
};

}  // namespace quadrille::md
