#include "modules/block_dft/product/ranks/cannon.h"

#include "core/system/memory.h"
#include "core/system/team.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/matrix/every_rank.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {
namespace {

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

/// That of all `peers`, a row or a column of the grid.
template <class T>
BlockIndex gathered_index(const BlockMatrix<T>& a, const std::vector<int>& peers) {
  std::vector<IndexEntry> mine = on_every_rank(a.grid(), [&] { return entries_of(a); });
  std::vector<IndexEntry> all = gathered_entries(*a.grid(), std::move(mine), peers);
  return on_every_rank(a.grid(), [&] { return index_of(a, std::move(all)); });
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
  std::vector<Piece> send{}, receive{};
  std::unique_ptr<Channel> channel{};
};

template <class T>
Cannon<T>::Cannon(const BlockMatrix<T>& a, const BlockMatrix<T>& b, double most_bytes)
    : a_(a),
      b_(b),
      grid_(*a.grid()),
      a_index_(gathered_index(a, grid_.ranks_of_row())),
      b_index_(gathered_index(b, grid_.ranks_of_column())),
      schedule_(grid_, pieces(most_bytes)),
      step_of_(on_every_rank(a.grid(), [&] { return schedule_.steps_of(a.columns()); })) {}

/// Of each panel.
template <class T>
int Cannon<T>::pieces(double most_bytes) const {
  constexpr double times = 4;  // of this step and the next, to multiply and to send
  const int places = grid_.places();
  if (most_bytes == 0) most_bytes = memory_here().free / (2.0 * grid_.ranks().size());
  const double panels =
      largest_panel(a_index_.places, a_.columns(), places, sizeof(T), [](std::int32_t, std::int32_t j) { return j; }) +
      largest_panel(b_index_.places, b_.rows(), places, sizeof(T), [](std::int32_t i, std::int32_t) { return i; });
  return CannonSchedule::pieces_for(grid_, times * panels, most_bytes, std::max(1, a_.columns().count() / places));
}

template <class T>
std::unique_ptr<typename Cannon<T>::Step> Cannon<T>::panels(int step) const {
  const int row = grid_.row(), column = grid_.column();
  const auto of_a = [this](int part) {
    return [this, part](std::int32_t, std::int32_t j) { return step_of_[std::size_t(j)] == part; };
  };
  const auto of_b = [this](int part) {
    return [this, part](std::int32_t i, std::int32_t) { return step_of_[std::size_t(i)] == part; };
  };
  auto out = std::make_unique<Step>();
  const auto piece_to = [](int rank, BlockMatrix<T>& panel) {
    return Piece{rank, panel.data().data(), panel.data().size_bytes()};
  };
  if (schedule_.has_a(step)) {
    out->a = copied_panel(a_, of_a(step));
  } else {
    const int to = schedule_.column_to(step);
    out->a = empty_panel<T>(a_index_.places, of_a(step));
    out->sent_a = copied_panel(a_, of_a(schedule_.step_of_panel(row, to, step)));
    out->receive.push_back(piece_to(schedule_.source_of_a(step), out->a));
    out->send.push_back(piece_to(grid_.rank_at(row, to), out->sent_a));
  }
  if (schedule_.has_b(step)) {
    out->b = copied_panel(b_, of_b(step));
  } else {
    const int to = schedule_.row_to(step);
    out->b = empty_panel<T>(b_index_.places, of_b(step));
    out->sent_b = copied_panel(b_, of_b(schedule_.step_of_panel(to, column, step)));
    out->receive.push_back(piece_to(schedule_.source_of_b(step), out->b));
    out->send.push_back(piece_to(grid_.rank_at(to, column), out->sent_b));
  }
  return out;
}

/// What has failed here in the step before is thrown on all ranks.
template <class T>
std::unique_ptr<typename Cannon<T>::Step> Cannon<T>::started(int step, KeptError& error) const {
  std::unique_ptr<Step> out = on_every_rank(grid_.ranks(), [&] {
    error.rethrow();
    return panels(step);
  });
  out->channel = grid_.ranks().channel(out->send, out->receive);
  out->channel->start();
  return out;
}

template <class T>
double Cannon<T>::for_each_step(const Multiply& multiply) const {
  double seconds = 0;
  double began = now();
  KeptError error;
  std::unique_ptr<Step> next = started(0, error);
  for (int step = 0; step < steps(); ++step) {
    next->channel->finish();
    const std::unique_ptr<Step> present = std::move(next);
    if (step + 1 < steps()) next = started(step + 1, error);
    seconds += now() - began;
    error.keep([&] {
      multiply(present->a, present->b, [&] {
        if (next) next->channel->push();
      });
    });
    began = now();
  }
  on_every_rank(grid_.ranks(), [&] { error.rethrow(); });
  return seconds;
}

template class Cannon<double>;
template class Cannon<float>;

}  // namespace quadrille::block_dft
