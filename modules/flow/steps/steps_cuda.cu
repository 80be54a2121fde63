// Stages and steps of smearing on the device: a thread does the link of one direction at one site.
#define QUADRILLE_ISA device
#include "core/backend/cuda/runtime.h"
#include "core/gauge/around/grouped_surroundings.h"
#include "modules/flow/steps/algebra.h"
#include "modules/flow/steps/rectangles.h"
#include "modules/flow/steps/steps_cuda.h"

namespace quadrille::flow {
namespace {

constexpr int threads = 128;

/// A thread's link.
struct Place {
  int parity, item, mu;
};

/// Calls move(u, links around, place) for the link of this thread, if that moves, and writes it. Threads of a block
/// have one direction and parity.
template <class Move>
__device__ __forceinline__ void over_links(const GroupedLinks& from, const GroupedLinks& to, unsigned directions,
                                           const Move& move) {
  const Place place{int(blockIdx.z), int(blockIdx.x) * threads + int(threadIdx.x), int(blockIdx.y)};
  if (place.item >= from.own.sites) return;
  const GroupedSurroundings<double, 18> around(from, place.parity, place.item);
  double u[18];
  around.here(place.mu, u);
  if ((directions >> place.mu & 1u) != 0) move(u, around, place);
  store_link<double, 18>(to, place.parity, around.site(), place.mu, u);
}

/// A stage of one link with the force of `staples`.
__device__ __forceinline__ void stage_link(double* u, const double* staples, const Place& place, std::int64_t sites,
                                           const Stage& stage, double* y) {
  const std::int64_t first = std::int64_t(place.parity * 4 + place.mu) * algebra_numbers * sites + place.item;
  double mine[algebra_numbers];
  for (int n = 0; n < algebra_numbers; ++n) mine[n] = y[first + n * sites];
  flow_link<double, 1>(u, mine, staples, stage.z, stage.carry);
  for (int n = 0; n < algebra_numbers; ++n) y[first + n * sites] = mine[n];
}

__global__ void __launch_bounds__(threads)
    stage_links(const __grid_constant__ GroupedLinks from, const __grid_constant__ GroupedLinks to,
                const __grid_constant__ Stage stage, double* y) {
  over_links(from, to, stage.directions, [&](double* u, const auto& around, const Place& place) {
    double staples[18];
    staples_in<double, 1>(staples, around, place.mu, stage.directions);
    stage_link(u, staples, place, from.own.sites, stage, y);
  });
}

/// A field of links for each direction, around one site.
struct SiteStaples {
  const GroupedLevel& level;
  const Place& place;

  __device__ __forceinline__ GroupedSurroundings<double, 18> at(int k) const {
    return {level.fields[k], place.parity, place.item};
  }
};

__global__ void __launch_bounds__(threads)
    stage_with_rectangles(const __grid_constant__ GroupedLinks from, const __grid_constant__ GroupedLevel ahead,
                          const __grid_constant__ GroupedLevel behind, const __grid_constant__ GroupedLinks to,
                          const __grid_constant__ Stage stage, double* y) {
  over_links(from, to, stage.directions, [&](double* u, const auto& around, const Place& place) {
    double sides[18];
    weighted_sides<double, 1>(sides, around, SiteStaples{ahead, place}, SiteStaples{behind, place}, place.mu,
                              stage.plaquette, stage.rectangle);
    stage_link(u, sides, place, from.own.sites, stage, y);
  });
}

__global__ void __launch_bounds__(threads) staple_links(const __grid_constant__ GroupedLinks from,
                                                        const __grid_constant__ GroupedLinks to, int nu, bool behind) {
  over_links(from, to, all_directions & ~(1u << nu), [&](double* u, const auto& around, const Place& place) {
    staple_beside<double, 1>(u, around, place.mu, nu, behind);
  });
}

__global__ void __launch_bounds__(threads)
    project_links(const __grid_constant__ GroupedLinks from, const __grid_constant__ GroupedLinks to,
                  const __grid_constant__ Projection projection) {
  over_links(from, to, projection.directions, [&](double* u, const auto& around, const Place& place) {
    double staples[18];
    staples_in<double, 1>(staples, around, place.mu, projection.directions);
    smear_link<double, 1>(u, staples, projection.own, projection.staples);
  });
}

__global__ void __launch_bounds__(threads)
    hyp_links(const __grid_constant__ GroupedLinks from, const __grid_constant__ GroupedLevel before,
              const __grid_constant__ GroupedLinks to, const __grid_constant__ HypLevel level) {
  over_links(from, to, level.directions, [&](double* u, const auto&, const Place& place) {
    double staples[18];
    const auto around = [&](int k) {
      return GroupedSurroundings<double, 18>(before.fields[k], place.parity, place.item);
    };
    level_staples<double, 1>(staples, around, level, place.mu);
    smear_link<double, 1>(u, staples, level.own, level.staples);
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

void launch_hyp_level(const GroupedLinks& from, const GroupedLevel& before, const GroupedLinks& to,
                      const HypLevel& level) {
  hyp_links<<<blocks_for(from), threads, 0, cuda::stream()>>>(from, before, to, level);
  cuda::check(cudaGetLastError(), "the launch of a level of HYP smearing");
}

void launch_staples(const GroupedLinks& from, const GroupedLinks& to, int nu, bool behind) {
  staple_links<<<blocks_for(from), threads, 0, cuda::stream()>>>(from, to, nu, behind);
  cuda::check(cudaGetLastError(), "the launch of staples");
}

void launch_stage_with_rectangles(const GroupedLinks& from, const GroupedLevel& ahead, const GroupedLevel& behind,
                                  const GroupedLinks& to, const Stage& stage, double* y) {
  stage_with_rectangles<<<blocks_for(from), threads, 0, cuda::stream()>>>(from, ahead, behind, to, stage, y);
  cuda::check(cudaGetLastError(), "the launch of a stage of the gradient flow");
}

}  // namespace quadrille::flow
