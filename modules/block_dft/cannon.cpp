#include "modules/block_dft/cannon.h"

#include "core/system/memory.h"
#include "core/system/team.h"
#include "modules/block_dft/block_algebra.h"
#include "modules/take_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {
namespace {

/// A block of an index on its way.
struct IndexEntry {
  BlockPlace place;
  double norm;
};

template <class T>
std::vector<IndexEntry> entries_of(const BlockMatrix<T>& a) {
  const std::vector<double> norms = block_norms(a);
  std::vector<IndexEntry> out;
  out.reserve(norms.size());
  a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    out.push_back({{i, j}, norms[std::size_t(slot)]});
  });
  return out;
}

BlockIndex index_of(const BlockPattern& like, std::vector<IndexEntry> entries) {
  std::sort(entries.begin(), entries.end(), [](const IndexEntry& a, const IndexEntry& b) { return a.place < b.place; });
  std::vector<std::int64_t> first(std::size_t(like.rows().count()) + 1);
  std::vector<std::int32_t> column;
  BlockIndex out;
  for (const IndexEntry& entry : entries) {
    ++first[std::size_t(entry.place.row) + 1];
    column.push_back(entry.place.column);
    out.norms.push_back(entry.norm);
  }
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  out.places = BlockPattern(like.rows(), like.columns(), Symmetry::none, std::move(first), std::move(column));
  return out;
}

/// The index of the blocks of all ranks among `peers`, of which this one is `me`; counts: blocks of each rank.
BlockIndex gathered_index(const BlockPattern& like, const std::vector<IndexEntry>& mine, const std::vector<int>& peers,
                          const std::vector<std::int64_t>& counts) {
  const Communicator& ranks = like.grid()->ranks();
  std::int64_t total = 0;
  for (const int peer : peers) total += counts[std::size_t(peer)];
  std::vector<IndexEntry> all(static_cast<std::size_t>(total)), sent = mine;
  std::vector<Piece> send, receive;
  IndexEntry* next = all.data();
  for (const int peer : peers) {
    if (peer == ranks.rank()) {
      std::copy(mine.begin(), mine.end(), next);
    } else {
      send.push_back({peer, sent.data(), sent.size() * sizeof(IndexEntry)});
      receive.push_back({peer, next, std::size_t(counts[std::size_t(peer)]) * sizeof(IndexEntry)});
    }
    next += counts[std::size_t(peer)];
  }
  const std::unique_ptr<Channel> channel = ranks.channel(send, receive);
  channel->start();
  channel->finish();
  return index_of(like, std::move(all));
}

std::vector<std::int64_t> counts_of_ranks(const Communicator& ranks, std::int64_t mine) {
  std::vector<std::int64_t> counts(std::size_t(ranks.size()));
  ranks.gather(&mine, sizeof mine, counts.data());
  return counts;
}

std::vector<int> ranks_of_row(const MatrixGrid& grid) {
  std::vector<int> out;
  for (int column = 0; column < grid.columns(); ++column) out.push_back(grid.rank_at(grid.row(), column));
  return out;
}

std::vector<int> ranks_of_column(const MatrixGrid& grid) {
  std::vector<int> out;
  for (int row = 0; row < grid.rows(); ++row) out.push_back(grid.rank_at(row, grid.column()));
  return out;
}

/// A panel without its numbers: the blocks that keep(row, column) chooses.
template <class T, class Keep>
BlockMatrix<T> empty_panel(const BlockPattern& from, Keep keep) {
  std::vector<std::int64_t> first{0};
  std::vector<std::int32_t> column;
  for (std::int32_t i = 0; i < from.rows().count(); ++i) {
    for (std::int64_t slot = from.begin(i); slot < from.end(i); ++slot) {
      if (keep(i, from.column(slot))) column.push_back(from.column(slot));
    }
    first.push_back(std::int64_t(column.size()));
  }
  return BlockMatrix<T>::with_unset_pattern(from.rows(), from.columns(), Symmetry::none, std::move(first),
                                            std::move(column));
}

template <class T, class Keep>
BlockMatrix<T> copied_panel(const BlockMatrix<T>& from, Keep keep) {
  BlockMatrix<T> out = empty_panel<T>(from, keep);
  team_for_uneven(from.rows().count(), [&](std::int32_t i) {
    std::int64_t to = out.begin(i);
    for (std::int64_t slot = from.begin(i); slot < from.end(i); ++slot) {
      if (keep(i, from.column(slot)))
        std::copy_n(from.block(slot), from.numbers(i, from.column(slot)), out.block(to++));
    }
  });
  return out;
}

/// Bytes of the largest panel: numbers of blocks, added by the places of block k(row, column) of them.
template <class Along>
double largest_panel(const BlockPattern& index, const BlockSizes& along, int places, double bytes_of_number,
                     Along block_along) {
  std::vector<double> numbers(static_cast<std::size_t>(places));
  index.for_each([&](std::int32_t i, std::int32_t j, std::int64_t) {
    numbers[std::size_t(along.place(block_along(i, j)))] += double(index.numbers(i, j));
  });
  return bytes_of_number * *std::max_element(numbers.begin(), numbers.end());
}

}  // namespace

/// The panels of one step, and those that this rank sends meanwhile.
template <class T>
struct Cannon<T>::Step {
  BlockMatrix<T> a, b, sent_a, sent_b;
  std::unique_ptr<Channel> channel{};
};

template <class T>
Cannon<T>::Cannon(const BlockMatrix<T>& a, const BlockMatrix<T>& b, double most_bytes)
    : a_(a), b_(b), grid_(*a.grid()), places_(grid_.places()) {
  a_index_ = gathered_index(a, entries_of(a), ranks_of_row(grid_), counts_of_ranks(grid_.ranks(), a.block_count()));
  b_index_ = gathered_index(b, entries_of(b), ranks_of_column(grid_), counts_of_ranks(grid_.ranks(), b.block_count()));
  choose_pieces(most_bytes);
}

template <class T>
void Cannon<T>::choose_pieces(double most_bytes) {
  constexpr double times = 4;  // of this step and the next, to multiply and to send
  if (most_bytes == 0) most_bytes = memory_here().free / (2.0 * grid_.ranks().size());
  const double panels =
      largest_panel(a_index_.places, a_.columns(), places_, sizeof(T), [](std::int32_t, std::int32_t j) { return j; }) +
      largest_panel(b_index_.places, b_.rows(), places_, sizeof(T), [](std::int32_t i, std::int32_t) { return i; });
  double pieces = std::max(1.0, std::ceil(times * panels / most_bytes)), needed = times * panels;
  grid_.ranks().maximum(&pieces, 1);
  grid_.ranks().maximum(&needed, 1);
  const int most_pieces = std::max(1, a_.columns().count() / places_);
  if (pieces > most_pieces) {
    throw NotEnoughMemory(fmt::format(
        "not enough memory: panels of one block along k need about {} on a rank, and {} are to spare; use more hosts",
        bytes_text(needed / most_pieces), bytes_text(needed / pieces)));
  }
  pieces_ = int(pieces);
}

template <class T>
std::unique_ptr<typename Cannon<T>::Step> Cannon<T>::started(int step) const {
  const int rows = grid_.rows(), columns = grid_.columns(), row = grid_.row(), column = grid_.column();
  const int tick = step / pieces_, piece = step % pieces_;
  const auto modulo = [](int number, int of) { return (number % of + of) % of; };
  const auto of_a = [&](int place) {
    return [=, this](std::int32_t, std::int32_t j) { return a_.columns().place(j) == place && piece_of(j) == piece; };
  };
  const auto of_b = [&](int place) {
    return [=, this](std::int32_t i, std::int32_t) { return b_.rows().place(i) == place && piece_of(i) == piece; };
  };
  auto out = std::make_unique<Step>();
  std::vector<Piece> send, receive;
  const auto piece_to = [](int rank, BlockMatrix<T>& panel) {
    return Piece{rank, panel.data().data(), panel.data().size_bytes()};
  };
  const int place = place_at(row, column, step);
  if (place % columns == column) {
    out->a = copied_panel(a_, of_a(place));
  } else {
    const int to = modulo(column - row - tick, columns);
    out->a = empty_panel<T>(a_index_.places, of_a(place));
    out->sent_a = copied_panel(a_, of_a(place_at(row, to, step)));
    receive.push_back(piece_to(grid_.rank_at(row, place % columns), out->a));
    send.push_back(piece_to(grid_.rank_at(row, to), out->sent_a));
  }
  if (place % rows == row) {
    out->b = copied_panel(b_, of_b(place));
  } else {
    const int to = modulo(row - column - tick, rows);
    out->b = empty_panel<T>(b_index_.places, of_b(place));
    out->sent_b = copied_panel(b_, of_b(place_at(to, column, step)));
    receive.push_back(piece_to(grid_.rank_at(place % rows, column), out->b));
    send.push_back(piece_to(grid_.rank_at(to, column), out->sent_b));
  }
  out->channel = grid_.ranks().channel(send, receive);
  out->channel->start();
  return out;
}

template <class T>
double Cannon<T>::for_each_step(const Multiply& multiply) const {
  double seconds = 0;
  double began = now();
  std::unique_ptr<Step> next = started(0);
  for (int step = 0; step < steps(); ++step) {
    next->channel->finish();
    const std::unique_ptr<Step> present = std::move(next);
    if (step + 1 < steps()) next = started(step + 1);
    seconds += now() - began;
    multiply(present->a, present->b, [&] {
      if (next) next->channel->push();
    });
    began = now();
  }
  return seconds;
}

template class Cannon<double>;
template class Cannon<float>;

}  // namespace quadrille::block_dft
