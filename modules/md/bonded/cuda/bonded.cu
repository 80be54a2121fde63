// Compiled without contraction: see bonded_terms.h.
#include "core/backend/cuda/runtime.h"
#include "modules/md/bonded/cuda/bonded.h"

namespace quadrille::md {
namespace {

constexpr int block = 128;
unsigned blocks_of(std::int64_t count) { return unsigned((count + block - 1) / block); }
__device__ std::int64_t thread_number() { return std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
void check_launch() { cuda::check(cudaGetLastError(), "a launch of bonded terms"); }

__device__ __forceinline__ Triple position(const DeviceParticles& particles, std::int64_t slot) {
  return {particles.position[0][slot], particles.position[1][slot], particles.position[2][slot]};
}

__global__ void __launch_bounds__(block)
    find_terms(const __grid_constant__ BondedProblem bonded, const __grid_constant__ DeviceParticles particles,
               const Gate gate) {
  if (closed(gate)) return;
  const std::int64_t term = thread_number();
  if (term >= bonded.terms()) return;
  const auto at = [&](std::int32_t particle) { return position(particles, particles.slot_of[particle]); };
  if (find_term(bonded, term, at)) return;
  stop(gate, terms_undefined);
  atomicMin(&gate.halt->term, std::int32_t(term));
}

__global__ void __launch_bounds__(block)
    add_forces(const __grid_constant__ BondedProblem bonded, const __grid_constant__ DeviceParticles particles,
               const double* pair_forces, double unit, double* total, const Gate gate) {
  if (closed(gate)) return;
  const std::int64_t slot = thread_number();
  if (slot >= particles.size) return;
  const Triple own = bonded_force(bonded.begin, bonded.on_particles, particles.particle_of[slot]);
  total[slot] = pair_forces[slot] * unit + own.x;
  total[particles.slots + slot] = pair_forces[particles.slots + slot] * unit + own.y;
  total[2 * particles.slots + slot] = pair_forces[2 * particles.slots + slot] * unit + own.z;
}

__global__ void __launch_bounds__(block)
    find_virials(const __grid_constant__ BondedProblem bonded, const __grid_constant__ DeviceParticles particles,
                 double* virial) {
  const std::int64_t slot = thread_number();
  if (slot >= particles.size) return;
  const Triple own = bonded_force(bonded.begin, bonded.on_particles, particles.particle_of[slot]);
  virial[slot] = dot(own, position(particles, slot));
}

}  // namespace

void launch_bonded_terms(const BondedProblem& bonded, const DeviceParticles& particles, const Gate& gate) {
  find_terms<<<blocks_of(bonded.terms()), block, 0, cuda::stream()>>>(bonded, particles, gate);
  check_launch();
}

void launch_total_forces(const BondedProblem& bonded, const DeviceParticles& particles, const double* pair_forces,
                         double unit, double* total, const Gate& gate) {
  add_forces<<<blocks_of(particles.size), block, 0, cuda::stream()>>>(bonded, particles, pair_forces, unit, total,
                                                                      gate);
  check_launch();
}

void launch_bonded_virials(const BondedProblem& bonded, const DeviceParticles& particles, double* virial) {
  find_virials<<<blocks_of(particles.size), block, 0, cuda::stream()>>>(bonded, particles, virial);
  check_launch();
}

}  // namespace quadrille::md
