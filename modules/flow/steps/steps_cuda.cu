// Stages and steps of smearing on the device: a thread does the link of one direction at one site.
#define QUADRILLE_ISA device
#include "core/backend/cuda/runtime.h"
#include "core/gauge/around/grouped_surroundings.h"
#include "modules/flow/steps/algebra.h"
#include "modules/flow/steps/steps_cuda.h"

namespace quadrille::flow {
namespace {

constexpr int threads = 128;

/// Calls move(u, staples, number of the link among this rank's) for the link of this thread, if that moves, and writes
/// it. Threads of a block have one direction and parity.
template <class Move>
__device__ __forceinline__ void over_links(const GroupedLinks& from, const GroupedLinks& to, unsigned directions,
                                           const Move& move) {
  const int item = int(blockIdx.x) * threads + int(threadIdx.x), mu = int(blockIdx.y), parity = int(blockIdx.z);
  if (item >= from.own.sites) return;
  const GroupedSurroundings<double, 18> around(from, parity, item);
  double u[18];
  around.here(mu, u);
  if ((directions >> mu & 1u) != 0) {
    double sum[18];
    staples_in<double, 1>(sum, around, mu, directions);
    move(u, sum, std::int64_t(parity * 4 + mu) * algebra_numbers * from.own.sites + item);
  }
  store_link<double, 18>(to, parity, around.site(), mu, u);
}

__global__ void __launch_bounds__(threads)
    stage_links(const __grid_constant__ GroupedLinks from, const __grid_constant__ GroupedLinks to,
                const __grid_constant__ Stage stage, double* y) {
  over_links(from, to, stage.directions, [&](double* u, const double* staples, std::int64_t first) {
    const std::int64_t sites = from.own.sites;
    double mine[algebra_numbers];
    for (int n = 0; n < algebra_numbers; ++n) mine[n] = y[first + n * sites];
    flow_link<double, 1>(u, mine, staples, stage.z, stage.carry);
    for (int n = 0; n < algebra_numbers; ++n) y[first + n * sites] = mine[n];
  });
}

__global__ void __launch_bounds__(threads)
    project_links(const __grid_constant__ GroupedLinks from, const __grid_constant__ GroupedLinks to,
                  const __grid_constant__ Projection projection) {
  over_links(from, to, projection.directions, [&](double* u, const double* staples, std::int64_t) {
    smear_link<double, 1>(u, staples, projection.own, projection.staples);
  });
}

dim3 blocks_for(const GroupedLinks& links) { return {unsigned((links.own.sites + threads - 1) / threads), 4, 2}; }

}  // namespace

void launch_stage(const GroupedLinks& from, const GroupedLinks& to, const Stage& stage, double* y) {
  stage_links<<<blocks_for(from), threads, 0, cuda::stream()>>>(from, to, stage, y);
  cuda::check(cudaGetLastError(), "the launch of a stage of the gradient flow");
}

void launch_projection(const GroupedLinks& from, const GroupedLinks& to, const Projection& projection) {
  project_links<<<blocks_for(from), threads, 0, cuda::stream()>>>(from, to, projection);
  cuda::check(cudaGetLastError(), "the launch of a step of smearing");
}

}  // namespace quadrille::flow
