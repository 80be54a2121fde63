// Gauge transformations on the device: a thread does one site, or one of its links.
#define QUADRILLE_ISA device
#include "core/backend/cuda/reduce.cuh"
#include "core/backend/cuda/runtime.h"
#include "core/gauge/around/grouped_surroundings.h"
#include "modules/gauge_fixing/turns/relaxation.h"
#include "modules/gauge_fixing/turns/turns_cuda.h"

namespace quadrille::gauge_fixing {
namespace {

constexpr int threads = 128;
using Links = GroupedSurroundings<double, 18>;
using Turns = GroupedSurroundings<double, 18, 1>;

__device__ __forceinline__ int item_of_thread() { return int(blockIdx.x) * threads + int(threadIdx.x); }
unsigned blocks_for(const GroupedLinks& field) { return unsigned((field.own.sites + threads - 1) / threads); }

__global__ void __launch_bounds__(threads) start(const __grid_constant__ GroupedLinks g) {
  const int item = item_of_thread(), parity = int(blockIdx.y);
  if (item >= g.own.sites) return;
  double one[18];
  for (int n = 0; n < 18; ++n) one[n] = n % 8 == 0 ? 1 : 0;
  store_link<double, 18, 1>(g, parity, Turns(g, parity, item).site(), 0, one);
}

__global__ void __launch_bounds__(threads)
    relax_parity(const __grid_constant__ GroupedLinks links, const __grid_constant__ GroupedLinks g,
                 const __grid_constant__ Relaxation relaxation, const __grid_constant__ cuda::Reduction reduction) {
  const int item = item_of_thread(), parity = relaxation.parity;
  double sums[3] = {};
  if (item < g.own.sites) {
    const Turns turns(g, parity, item);
    double here[18], m[18];
    turns.here(0, here);
    functional_matrix<double, 1>(m, here, Links(links, parity, item), turns, relaxation.directions);
    const SeenAt<double, 1> seen = relax<double, 1>(here, m, relaxation.omega);
    if (relaxation.omega != 0) store_link<double, 18, 1>(g, parity, turns.site(), 0, here);
    sums[0] = seen.functional;
    sums[1] = seen.before;
    sums[2] = seen.after;
  }
  cuda::reduce<3, threads>(sums, reduction);
}

__global__ void __launch_bounds__(threads)
    transform(const __grid_constant__ GroupedLinks links, const __grid_constant__ GroupedLinks g,
              const __grid_constant__ GroupedLinks to) {
  const int item = item_of_thread(), mu = int(blockIdx.y), parity = int(blockIdx.z);
  if (item >= g.own.sites) return;
  const Links around(links, parity, item);
  double out[18];
  transformed_link<double, 1>(out, around, Turns(g, parity, item), mu);
  store_link<double, 18>(to, parity, around.site(), mu, out);
}

void launched() { cuda::check(cudaGetLastError(), "the launch of gauge fixing"); }

}  // namespace

void launch_start(const GroupedLinks& g) {
  start<<<dim3{blocks_for(g), 2}, threads, 0, cuda::stream()>>>(g);
  launched();
}

void relax_sites(const GroupedLinks& links, const GroupedLinks& g, const Relaxation& relaxation, double* sums) {
  const unsigned blocks = blocks_for(g);
  const cuda::Reduction reduction = cuda::begin_reduction(blocks, 3);
  relax_parity<<<blocks, threads, 0, cuda::stream()>>>(links, g, relaxation, reduction);
  launched();
  cuda::finish_reduction(reduction, sums, 3);
}

void launch_transformation(const GroupedLinks& links, const GroupedLinks& g, const GroupedLinks& to) {
  transform<<<dim3{blocks_for(g), 4, 2}, threads, 0, cuda::stream()>>>(links, g, to);
  launched();
}

}  // namespace quadrille::gauge_fixing
