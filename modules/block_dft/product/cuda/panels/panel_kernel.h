// The numeric phase on the device: a thread block a task (symbolic.h), its pieces of C in registers.
#pragma once

#include "modules/block_dft/product/cuda/symbolic.h"

namespace quadrille::block_dft {

/// How the same sums are made: no bit depends on it.
struct PanelVariant {
  bool all_tiles;  ///< pieces that fill a part of their tiles are multiplied as if they filled them all
  bool waves;      ///< thread blocks that run at the same time are kept at about the same k
};

/// The steps of one part of the inner side, and the data of the factors that they count in.
struct PanelPart {
  struct Format {
    const std::int64_t *step_first, *step_count;  ///< [task]
    const void *a, *b;
  } full, single;
  bool begun;  ///< C has the sums of other parts
};

struct PanelProblem {
  std::int32_t most;  ///< rows and columns of a piece (unit_for)
  const Tasks& tasks;
  const PackedFactor &a, &b;
  const Pieces &rows, &inner, &columns;
  double alpha, beta;
  const double* old;  ///< data of the C before; null: beta does not count
  double* c;          ///< data of C
  PanelVariant variant{};
  const PanelPart* part = nullptr;  ///< null: all steps, with the data of A and B
};

/// The larger of what rows and columns take.
int tiles_of(const Pieces& rows, const Pieces& columns);

/// Whether the panels that are multiplied at a time are more than the second-level cache holds.
bool outgrows_cache(const PanelProblem& problem);

/// The fastest variant, measured once for a kind of problem (core/tuning); C is overwritten.
PanelVariant tuned_variant(PanelProblem problem);

/// C = alpha A B + beta C, or, of a part that has begun, C += alpha A B, for all pieces of all tasks, of the steps in
/// double precision.
void multiply_full(const PanelProblem& problem);

/// C += alpha A B of the steps in single precision.
void add_single(const PanelProblem& problem);

}  // namespace quadrille::block_dft
