// Velocity Verlet on the device, rounded as on the CPU.
#include "core/backend/cuda/runtime.h"
#include "core/random/random.h"
#include "modules/md/lists/cuda/list_kernels.h"
#include "modules/md/lists/cuda/place.cuh"

namespace quadrille::md {
namespace {

constexpr int block = 128;
unsigned blocks_of(std::int64_t count) { return unsigned((count + block - 1) / block); }

struct State {
  double x[3], v[3];
};

__device__ __forceinline__ void kick(const Advance& go, std::int64_t slot, int times, double (&v)[3]) {
  const double per_mass =
      go.particles.mass == nullptr ? go.half_step : __ddiv_rn(go.half_step, go.particles.mass[slot]);
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    const double force = __dmul_rn(go.forces[k * go.particles.slots + slot], go.unit);
    const double change = __dmul_rn(per_mass, force);
    v[k] = __dadd_rn(v[k], change);
    if (times == 2) v[k] = __dadd_rn(v[k], change);
  }
}

/// Whether it may.
__device__ __forceinline__ bool drift(const Advance& go, double time, State& state) {
  double squared = 0;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    const double d = __dmul_rn(time, state.v[k]);
    state.x[k] = __dadd_rn(state.x[k], d);
    squared = __dadd_rn(squared, __dmul_rn(d, d));
  }
  return squared <= go.move_squared;
}

__device__ __forceinline__ void ou_step(const Advance& go, std::int64_t slot, double (&v)[3]) {
  SiteRandom random(go.seed, RandomPurpose::Thermostat, go.particles.particle_of[slot]);
  const double width =
      go.particles.mass == nullptr ? go.noise : __ddiv_rn(go.noise, __dsqrt_rn(go.particles.mass[slot]));
#pragma unroll
  for (int k = 0; k < 3; ++k) v[k] = __dadd_rn(__dmul_rn(go.kept, v[k]), __dmul_rn(width, random.normal()));
}

/// What is to be said of where the particle is.
__device__ __forceinline__ unsigned reasons_at(const Advance& go, std::int64_t slot, const double (&x)[3]) {
  double squared = 0;
  bool inside = true;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    inside = inside && fabs(x[k]) < furthest * go.box.edges[k];
    const double d = __dsub_rn(x[k], go.particles.listed[k][slot]);
    squared = __dadd_rn(squared, __dmul_rn(d, d));
  }
  return (squared > go.stale_squared ? lists_stale : 0u) | (inside ? 0u : lost);
}

template <class T, bool thermostat>
__global__ void __launch_bounds__(block)
    advance(const __grid_constant__ Advance go, Place<T>* at, const __grid_constant__ Gate gate) {
  if (closed(gate)) return;
  const std::int64_t slot = std::int64_t(blockIdx.x) * block + threadIdx.x;
  if (slot >= go.particles.size) return;
  State state;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    state.x[k] = go.particles.position[k][slot];
    state.v[k] = go.particles.velocity[k][slot];
  }
  kick(go, slot, go.kicks, state.v);
  bool may = drift(go, thermostat ? go.half_step : 2 * go.half_step, state);
  if (thermostat && may) {
    ou_step(go, slot, state.v);
    may = drift(go, go.half_step, state);
  }
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    go.particles.position[k][slot] = state.x[k];
    go.particles.velocity[k][slot] = state.v[k];
  }
  at[slot] = placed(T(), go.box, state.x);
  const unsigned reasons = may ? reasons_at(go, slot, state.x) : unsigned(moved_too_far);
  if (reasons == 0) return;
  stop(gate, reasons);
  if (reasons != lists_stale) atomicMin(&gate.halt->particle, go.particles.particle_of[slot]);
}

__global__ void __launch_bounds__(block) last_kick(const __grid_constant__ Advance go) {
  const std::int64_t slot = std::int64_t(blockIdx.x) * block + threadIdx.x;
  if (slot >= go.particles.size) return;
  double v[3] = {go.particles.velocity[0][slot], go.particles.velocity[1][slot], go.particles.velocity[2][slot]};
  kick(go, slot, 1, v);
#pragma unroll
  for (int k = 0; k < 3; ++k) go.particles.velocity[k][slot] = v[k];
}

}  // namespace

template <class T>
void launch_advance(const Advance& go, Place<T>* at, const Gate& gate) {
  const unsigned blocks = blocks_of(go.particles.size);
  if (go.thermostat) {
    advance<T, true><<<blocks, block, 0, cuda::stream()>>>(go, at, gate);
  } else {
    advance<T, false><<<blocks, block, 0, cuda::stream()>>>(go, at, gate);
  }
  cuda::check(cudaGetLastError(), "the launch that moves particles");
}
template void launch_advance(const Advance&, Place<float>*, const Gate&);
template void launch_advance(const Advance&, Place<double>*, const Gate&);

void launch_kick(const Advance& go) {
  last_kick<<<blocks_of(go.particles.size), block, 0, cuda::stream()>>>(go);
  cuda::check(cudaGetLastError(), "the launch of a half kick");
}

}  // namespace quadrille::md
