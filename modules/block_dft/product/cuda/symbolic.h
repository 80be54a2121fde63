// The symbolic phase on the device: which products of blocks are done, sorted by their place in C and then by k, and
// where C has blocks.
//
// A task is what one thread block does: the pieces of C where a panel of rows meets a panel of columns. A step of a
// task is an inner piece k at which both panels have something: bit r * columns + s of its mask says that piece (r, k)
// of A times piece (k, s) of B is added to piece (r, s) of C.
#pragma once

#include "modules/block_dft/product/cuda/memory_budget.h"
#include "modules/block_dft/product/cuda/packed_factor.h"
#include "modules/block_dft/product/work_sums.h"

namespace quadrille::block_dft {

/// By row blocks: below what norm(A) norm(B) a product is skipped, below what it is in single precision, and the share
/// of that product by which rounding then changes a block of C at most.
struct ProductLimits {
  const double *skip_below, *single_below, *rounding;
};

/// A product of packed factors.
struct SymbolicProblem {
  const PackedFactor &a, &b;
  const Pieces &rows, &inner, &columns;
  PanelShape shape;
  bool upper;           ///< only blocks of C on and above the diagonal
  bool filters, mixes;  ///< by norms: which products are skipped; which are in single precision
  ProductLimits limits;
  const DeviceMatrix::Data* old;  ///< places that C has beside those of products; null: none
  bool retain;                    ///< it has no others
  const InnerParts* parts = nullptr;
};

/// The most parts of the inner side that steps can tell apart.
constexpr int most_parts = 256;

/// at_a and at_b in 16 bytes; extents: size of the inner piece, then from bit 8 A's mask, from bit 16 B's and from bit
/// 24 the inner part.
struct Step {
  std::uint32_t at_a, at_b, mask, extents;
};

/// Row panels whose tasks take turns: of column panels about as many are under way at a time then.
constexpr int task_band = 12;

/// Of all tasks.
struct StepList {
  DeviceArray<std::int64_t> count;  ///< [task]
  DeviceArray<Step> step;           ///< those of a task from step_first on
};

struct Tasks {
  std::int64_t count = 0;
  DeviceArray<std::int32_t> row_panel, column_panel;  ///< [task], by row and then column panel
  DeviceArray<std::int64_t> order;                    ///< in which they are done, so that neighbours share panels
  DeviceArray<std::int64_t> step_first;               ///< [task + 1]: there is room for all that a filter leaves
  StepList full, single;                              ///< in double, in single precision
  DeviceArray<std::int64_t> c_at, old_at;             ///< [32 task + bit]: of the piece in C's data; -1: not there
  WorkSums sums;
};

/// The tasks, and C's places and memory, whose numbers are not set. Errors: of the budget, before it takes more.
Tasks find_tasks(const SymbolicProblem& problem, MemoryBudget& budget, DeviceMatrix::Data& c);

}  // namespace quadrille::block_dft
