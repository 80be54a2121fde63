// Products in double precision.
#include "modules/block_dft/cuda/panel_kernel.cuh"

namespace quadrille::block_dft {

int tiles_of(const Pieces& rows, const Pieces& columns) { return std::max(rows.tiles(), columns.tiles()); }

void multiply_full(const PanelProblem& problem) { multiply_steps<double>(problem, problem.tasks.full, false); }

}  // namespace quadrille::block_dft
