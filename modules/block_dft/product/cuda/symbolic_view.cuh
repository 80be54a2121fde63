// What the parts of the symbolic phase share: symbolic_tasks.cu and symbolic.cu.
#pragma once

#include "modules/block_dft/matrix/cuda/launch.cuh"
#include "modules/block_dft/product/cuda/symbolic.h"

#include <bit>

namespace quadrille::block_dft {

/// A SymbolicProblem for kernels.
struct ProblemView {
  PackedView a, b;
  const Piece *rows, *inner, *columns;
  const std::int32_t *row_first, *column_first;  ///< [block + 1]: of pieces
  std::int32_t row_pieces, column_pieces, row_panels, column_panels;
  PanelShape shape;
  bool upper, filters, mixes, has_old, retain;
  ProductLimits limits;
  MatrixView old;
  const std::uint32_t* part_of_inner;  ///< null: one
};

/// Tasks for kernels.
struct TaskArrays {
  const std::int32_t *row_panel, *column_panel;
  const std::int64_t* first_of_row;  ///< [row panel + 1]: of tasks
  std::int64_t tasks;

  /// Counts for each row of pieces of a task, in an order in which sums over those before give slots of C.
  __device__ std::int64_t place(std::int64_t task, int r, int rows) const {
    const std::int64_t first = first_of_row[row_panel[task]], many = first_of_row[row_panel[task] + 1] - first;
    return first * rows + r * many + task - first;
  }
};

inline int bits_for(std::int64_t count) { return std::max(1, int(std::bit_width(std::uint64_t(count)))); }

/// Lists the tasks by row and then column panel; gives where those of each row panel begin.
DeviceArray<std::int64_t> list_tasks(const SymbolicProblem& problem, const ProblemView& view, Tasks& tasks);

/// Sets the order in which they are done.
void order_tasks(const ProblemView& view, Tasks& tasks);

}  // namespace quadrille::block_dft
