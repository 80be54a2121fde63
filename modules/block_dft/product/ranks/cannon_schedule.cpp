#include "modules/block_dft/product/ranks/cannon_schedule.h"

#include "core/system/memory.h"
#include "modules/block_dft/matrix/every_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {

std::vector<IndexEntry> gathered_entries(const MatrixGrid& grid, std::vector<IndexEntry> mine,
                                         const std::vector<int>& peers) {
  if (peers.size() == 1) return mine;
  const Communicator& ranks = grid.ranks();
  const auto count = std::int64_t(mine.size());
  std::vector<std::int64_t> counts(std::size_t(ranks.size()));
  ranks.gather(&count, sizeof count, counts.data());
  std::int64_t total = 0;
  for (const int peer : peers) total += counts[std::size_t(peer)];
  std::vector<IndexEntry> all =
      on_every_rank(ranks, [&] { return std::vector<IndexEntry>(static_cast<std::size_t>(total)); });
  std::vector<Piece> send, receive;
  IndexEntry* next = all.data();
  for (const int peer : peers) {
    if (peer == ranks.rank()) {
      std::copy(mine.begin(), mine.end(), next);
    } else {
      send.push_back({peer, mine.data(), mine.size() * sizeof(IndexEntry)});
      receive.push_back({peer, next, std::size_t(counts[std::size_t(peer)]) * sizeof(IndexEntry)});
    }
    next += counts[std::size_t(peer)];
  }
  const std::unique_ptr<Channel> channel = ranks.channel(send, receive);
  channel->start();
  channel->finish();
  return all;
}

int CannonSchedule::pieces_for(const MatrixGrid& grid, double needed_bytes, double most_bytes, int most_pieces) {
  double pieces = std::max(1.0, std::ceil(needed_bytes / most_bytes)), needed = needed_bytes;
  grid.ranks().maximum(&pieces, 1);
  grid.ranks().maximum(&needed, 1);
  if (pieces > most_pieces) {
    throw NotEnoughMemory(fmt::format(
        "not enough memory: panels of one block along k need about {} on a rank, and {} are to spare; use more hosts",
        bytes_text(needed / most_pieces), bytes_text(needed / pieces)));
  }
  return int(pieces);
}

std::vector<int> CannonSchedule::steps_of(const BlockSizes& inner) const {
  std::vector<int> out;
  for (std::int32_t k = 0; k < inner.count(); ++k) {
    const auto piece = int(std::int64_t(k) * pieces_ / inner.count());
    out.push_back(step_of_place(inner.place(k)) * pieces_ + piece);
  }
  return out;
}

}  // namespace quadrille::block_dft
