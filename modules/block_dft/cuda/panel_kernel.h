// The numeric phase on the device: a thread block a task (symbolic.h), its pieces of C in registers.
#pragma once

#include "modules/block_dft/cuda/symbolic.h"

namespace quadrille::block_dft {

struct PanelProblem {
  std::int32_t most;  ///< rows and columns of a piece (unit_for)
  const Tasks& tasks;
  const PackedFactor &a, &b;
  const Pieces &rows, &inner, &columns;
  double alpha, beta;
  const double* old;  ///< data of the C before; null: beta does not count
  double* c;          ///< data of C
};

/// The larger of what rows and columns take.
int tiles_of(const Pieces& rows, const Pieces& columns);

/// C = alpha A B + beta C for all pieces of all tasks, of the steps in double precision.
void multiply_full(const PanelProblem& problem);

/// C += alpha A B of the steps in single precision.
void add_single(const PanelProblem& problem);

}  // namespace quadrille::block_dft
