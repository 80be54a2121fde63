// The numeric phase on the device: a thread block a task (symbolic.h), its pieces of C in registers.
#pragma once

#include "modules/block_dft/cuda/symbolic.h"

namespace quadrille::block_dft {

/// The panels of a product whose largest pieces of C take `tiles` x `tiles` tiles of 8 x 8: with their pieces of C the
/// registers of a multiprocessor are two thirds full.
constexpr PanelShape panel_shape(int tiles) { return tiles <= 3 ? PanelShape{6, 5} : PanelShape{5, 3}; }

struct PanelProblem {
  const Tasks& tasks;
  const PackedFactor &a, &b;
  const Pieces &rows, &inner, &columns;
  double alpha, beta;
  const double* old;  ///< data of the C before; null: beta does not count
  double* c;          ///< data of C
};

/// The larger of what rows and columns take.
int tiles_of(const Pieces& rows, const Pieces& columns);

/// C = alpha A B + beta C for all pieces of all tasks.
void multiply_panels(const PanelProblem& problem);

}  // namespace quadrille::block_dft
