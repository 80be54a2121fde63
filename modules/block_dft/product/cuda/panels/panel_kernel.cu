// Products in double precision.
#include "modules/block_dft/product/cuda/panels/panel_kernel.cuh"

namespace quadrille::block_dft {

int tiles_of(const Pieces& rows, const Pieces& columns) { return std::max(rows.tiles(), columns.tiles()); }

bool outgrows_cache(const PanelProblem& p) {
  int device = 0, cache = 0;
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
  QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device));
  const auto panels = [](const PackedFactor& f) {
    const auto parts = double(f.full.part_at.size() - 1);
    return 16.0 * double(f.full.part_at.back()) / parts * std::min(1.0, double(task_band) / f.panels);
  };
  return panels(p.a) + panels(p.b) > cache;
}

void multiply_full(const PanelProblem& problem) {
  multiply_steps<double>(problem, problem.tasks.full, problem.part != nullptr && problem.part->begun);
}

}  // namespace quadrille::block_dft
