// Which panels of A and B a rank multiplies in which step of Cannon's algorithm, and between whom they go (cannon.h);
// what the CPU and GPUs share of it.
#pragma once

#include "modules/block_dft/matrix/block_pattern.h"

#include <cstdint>
#include <vector>

namespace quadrille::block_dft {

/// A block of an index on its way: its place and its Frobenius norm.
struct IndexEntry {
  BlockPlace place;
  double norm;
};

/// Those of all `peers`, which are a row or a column of the grid; `mine` are this rank's. Collective.
std::vector<IndexEntry> gathered_entries(const MatrixGrid& grid, std::vector<IndexEntry> mine,
                                         const std::vector<int>& peers);

class CannonSchedule {
 public:
  /// The parts along k that each panel has to be cut into, so that all panels of a rank, which need `needed_bytes`, fit
  /// into `most_bytes`. Collective. Errors: NotEnoughMemory (core/system/memory.h), on all ranks, for more than
  /// `most_pieces`.
  static int pieces_for(const MatrixGrid& grid, double needed_bytes, double most_bytes, int most_pieces);

  explicit CannonSchedule(const MatrixGrid& grid) : grid_(&grid) {}
  CannonSchedule(const MatrixGrid& grid, int pieces) : grid_(&grid), pieces_(pieces) {}

  int steps() const { return grid_->places() * pieces_; }
  /// For each block along k, the step in which this rank multiplies its panel.
  std::vector<int> steps_of(const BlockSizes& inner) const;
  /// This rank's step for the panel that rank (row, column) has in `step`.
  int step_of_panel(int row, int column, int step) const {
    return step_of_place(place_at(row, column, step)) * pieces_ + step % pieces_;
  }

  // Whether the panels of a step are this rank's own. Otherwise one comes from a source, and in the same step this rank
  // sends one to another of its row (column) of the grid.
  bool has_a(int step) const { return here(step) % grid_->columns() == grid_->column(); }
  bool has_b(int step) const { return here(step) % grid_->rows() == grid_->row(); }
  int source_of_a(int step) const { return grid_->rank_at(grid_->row(), here(step) % grid_->columns()); }
  int source_of_b(int step) const { return grid_->rank_at(here(step) % grid_->rows(), grid_->column()); }
  int column_to(int step) const { return modulo(grid_->column() - grid_->row() - step / pieces_, grid_->columns()); }
  int row_to(int step) const { return modulo(grid_->row() - grid_->column() - step / pieces_, grid_->rows()); }

 private:
  static int modulo(int number, int of) { return (number % of + of) % of; }
  int place_at(int row, int column, int step) const { return (row + column + step / pieces_) % grid_->places(); }
  int here(int step) const { return place_at(grid_->row(), grid_->column(), step); }
  int step_of_place(std::int32_t place) const {
    return modulo(place - grid_->row() - grid_->column(), grid_->places());
  }

  const MatrixGrid* grid_;
  int pieces_ = 1;
};

}  // namespace quadrille::block_dft
