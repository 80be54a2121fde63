#include "modules/md/pairs/rank_shares.h"

#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/simd/isa.h"

#include <fmt/format.h>

namespace quadrille::md {
namespace {

/// Calls body(array [slot]) for all that a pass has written.
template <class Body>
void for_each_array(const PairSums& sums, bool fixed, bool energy, Body&& body) {
  const std::int64_t quantities = energy ? all_sums : force_sums;
  for (std::int64_t n = 0; n < quantities; ++n) body(sums.values + n * sums.slots);
  if (!fixed) return;
  for (std::int64_t n = 0; sums.quanta != nullptr && n < quantities; ++n) body(sums.quanta + n * sums.slots);
  body(sums.worst_ratio);
  body(sums.worst_energy);
  body(sums.strayed);
}

std::size_t bytes_per_slot(const PairSums& sums, bool fixed, bool energy) {
  std::size_t bytes = 0;
  for_each_array(sums, fixed, energy, [&](const auto* array) { bytes += sizeof *array; });
  return bytes;
}

}  // namespace

RankShares::RankShares(const Communicator* ranks, Backend& backend)
    : ranks_(ranks != nullptr && ranks->size() > 1 ? ranks : nullptr), backend_(backend) {
  if (ranks_ == nullptr) return;
  const bool host = backend.host_memory();
  const std::string mine = host ? std::string(to_string(active_isa())) : backend.device();
  require_same(*ranks_, mine, [&](const std::string& of_first) {
    const char* const advice =
        host ? "CPUs of one kind, or set QUADRILLE_ISA to what all of them have" : "GPUs of one kind";
    return Error(ErrorCode::unsupported,
                 fmt::format("this rank computes with {}, rank 0 with {}: start ranks on {}", mine, of_first, advice));
  });
}

GroupRange RankShares::of(int rank, std::int64_t groups) const {
  if (ranks_ == nullptr) return {0, groups};
  return {groups * rank / ranks_->size(), groups * (rank + 1) / ranks_->size()};
}

void RankShares::gather(const PairSums& sums, std::int64_t groups, bool fixed, bool energy) {
  if (ranks_ == nullptr) return;
  const std::int64_t group = sums.slots / groups, ranks = ranks_->size(), most = (groups + ranks - 1) / ranks;
  // Ranks send as many bytes each: the last of a smaller share mean nothing.
  const std::size_t bytes = std::size_t(most * group) * bytes_per_slot(sums, fixed, energy);
  sent_.resize(bytes);
  received_.resize(bytes * std::size_t(ranks));
  const auto each_part = [&](int rank, std::byte* at, auto&& copy) {
    const GroupRange share = of(rank, groups);
    for_each_array(sums, fixed, energy, [&](auto* array) {
      const std::size_t part = std::size_t((share.end - share.begin) * group) * sizeof *array;
      copy(array + share.begin * group, at, part);
      at += part;
    });
  };
  each_part(ranks_->rank(), sent_.data(),
            [&](const void* array, void* at, std::size_t part) { backend_.copy_out(at, array, part); });
  ranks_->gather(sent_.data(), bytes, received_.data());
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == ranks_->rank()) continue;
    each_part(rank, received_.data() + std::size_t(rank) * bytes,
              [&](void* array, const void* at, std::size_t part) { backend_.copy_in(array, at, part); });
  }
}

std::int64_t RankShares::sum(std::int64_t count) const {
  if (ranks_ == nullptr) return count;
  auto added = double(count);
  ranks_->sum(&added, 1);
  return std::int64_t(added);
}

}  // namespace quadrille::md
