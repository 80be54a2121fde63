// Products of numbers rounded to TF32, summed up in single precision.
#include "modules/block_dft/product/cuda/panels/panel_kernel.cuh"

namespace quadrille::block_dft {

void add_single(const PanelProblem& problem) {
  if (problem.tasks.sums.single_flops > 0) multiply_steps<float>(problem, problem.tasks.single, true);
}

}  // namespace quadrille::block_dft
