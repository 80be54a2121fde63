// Stages on the device: a thread does the link of one direction at one site.
#define QUADRILLE_ISA device
#include "core/backend/cuda/runtime.h"
#include "core/gauge/around/grouped_surroundings.h"
#include "core/gauge/around/staples.h"
#include "modules/flow/steps/algebra.h"
#include "modules/flow/steps/steps_cuda.h"

namespace quadrille::flow {
namespace {

constexpr int threads = 128;

/// Blocks of one direction and parity: sites that share staples are worked on together.
__global__ void __launch_bounds__(threads)
    stage_links(const __grid_constant__ GroupedLinks from, const __grid_constant__ GroupedLinks to,
                const __grid_constant__ Stage stage, double* y) {
  const int item = int(blockIdx.x) * threads + int(threadIdx.x), mu = int(blockIdx.y), parity = int(blockIdx.z);
  if (item >= from.own.sites) return;
  const GroupedSurroundings<double, 18> around(from, parity, item);
  double sum[18], u[18], mine[algebra_numbers];
  staples<double, 1, 18>(sum, around, mu, 1.0);
  around.here(mu, u);
  double* const there = y + std::int64_t(parity * 4 + mu) * algebra_numbers * from.own.sites + item;
  for (int n = 0; n < algebra_numbers; ++n) mine[n] = there[std::int64_t(n) * from.own.sites];
  flow_link<double, 1>(u, mine, sum, stage.z, stage.carry);
  for (int n = 0; n < algebra_numbers; ++n) there[std::int64_t(n) * from.own.sites] = mine[n];
  store_link<double, 18>(to, parity, around.site(), mu, u);
}

}  // namespace

void launch_stage(const GroupedLinks& from, const GroupedLinks& to, const Stage& stage, double* y) {
  const dim3 blocks(unsigned((from.own.sites + threads - 1) / threads), 4, 2);
  stage_links<<<blocks, threads, 0, cuda::stream()>>>(from, to, stage, y);
  cuda::check(cudaGetLastError(), "the launch of a stage of the gradient flow");
}

}  // namespace quadrille::flow
