// Numbers by slot in the order of particles and back, and sums in that order: it is what a result shows, and the slots
// must not.
#include "core/backend/cuda/runtime.h"
#include "core/numbers/chunked_sum.h"
#include "modules/md/lists/cuda/list_kernels.h"
#include "modules/md/lists/cuda/place.cuh"

namespace quadrille::md {
namespace {

constexpr int block = 256;
unsigned blocks_of(std::int64_t count) { return unsigned((count + block - 1) / block); }
__device__ std::int64_t thread_number() { return std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }

struct ThreeArrays {
  const double* axis[3];
};

__global__ void gather(const ThreeArrays by_slot, const std::int32_t* slot_of, std::int64_t size, double factor,
                       double* out) {
  const std::int64_t i = thread_number();
  if (i >= size) return;
  const std::int32_t slot = slot_of[i];
#pragma unroll
  for (int k = 0; k < 3; ++k) out[3 * i + k] = by_slot.axis[k][slot] * factor;
}

__global__ void gather(const std::int64_t* by_slot, std::int64_t stride, const std::int32_t* slot_of, std::int64_t size,
                       std::int64_t* out) {
  const std::int64_t i = thread_number();
  if (i >= size) return;
#pragma unroll
  for (int k = 0; k < 3; ++k) out[3 * i + k] = by_slot[k * stride + slot_of[i]];
}

struct ThreePlaces {
  double* axis[3];
};

__global__ void scatter(const double* numbers, const std::int32_t* particle_of, std::int64_t size,
                        const ThreePlaces by_slot) {
  const std::int64_t slot = thread_number();
  if (slot >= size) return;
  const std::int64_t i = particle_of[slot];
#pragma unroll
  for (int k = 0; k < 3; ++k) by_slot.axis[k][slot] = numbers[3 * i + k];
}

__global__ void spread(const double* of_particle, const std::int32_t* particle_of, std::int64_t size, double* by_slot) {
  const std::int64_t slot = thread_number();
  if (slot < size) by_slot[slot] = of_particle[particle_of[slot]];
}

__global__ void find_change(const __grid_constant__ ChangeOf of, unsigned* found) {
  const std::int64_t slot = thread_number();
  if (slot >= of.particles.size) return;
  // Before lists are built slots mean nothing.
  const double* const x = of.positions + 3 * (of.compared ? of.particles.particle_of[slot] : slot);
  double squared = 0;
  bool inside = true;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    inside = inside && fabs(x[k]) < furthest * of.edges[k];
    const double d = of.compared ? __dsub_rn(x[k], of.particles.listed[k][slot]) : 0;
    squared = __dadd_rn(squared, __dmul_rn(d, d));
  }
  const unsigned bits = (squared > of.limit * of.limit ? lists_stale : 0u) | (inside ? 0u : lost);
  if (bits != 0) atomicOr(found, bits);
}

template <class T>
__global__ void place_all(const __grid_constant__ DeviceParticles particles, const __grid_constant__ DeviceBox box,
                          Place<T>* at) {
  const std::int64_t slot = thread_number();
  if (slot >= particles.size) return;
  const double x[3] = {particles.position[0][slot], particles.position[1][slot], particles.position[2][slot]};
  at[slot] = placed(T(), box, x);
}

/// Block (chunk, sum) adds the terms of a chunk one after the other, which all its threads have fetched before.
template <class Number, class Sum, class Term>
__device__ Sum sum_of_chunk(const std::int32_t* slot_of, std::int64_t size, Term term) {
  __shared__ Number terms[sum_chunk];
  const std::int64_t first = std::int64_t(blockIdx.x) * sum_chunk;
  const auto count = int(min(sum_chunk, size - first));
  for (int n = int(threadIdx.x); n < count; n += block)
    terms[n] = term(slot_of == nullptr ? std::int32_t(first + n) : slot_of[first + n]);
  __syncthreads();
  Sum sum = 0;
  if (threadIdx.x == 0) {
    for (int n = 0; n < count; ++n) sum = sum + terms[n];
  }
  return sum;
}

__global__ void __launch_bounds__(block) sum_values(const double* by_slot, std::int64_t stride,
                                                    const std::int32_t* slot_of, std::int64_t size, double* partial) {
  const double* const mine = by_slot + blockIdx.y * stride;
  const double sum = sum_of_chunk<double, double>(slot_of, size, [&](std::int32_t slot) { return mine[slot]; });
  if (threadIdx.x == 0) partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

__global__ void __launch_bounds__(block)
    sum_quanta(const std::int64_t* by_slot, std::int64_t stride, const std::int32_t* slot_of, std::int64_t size,
               std::uint64_t* partial) {
  const std::int64_t* const mine = by_slot + blockIdx.y * stride;
  const __int128 sum =
      sum_of_chunk<std::int64_t, __int128>(slot_of, size, [&](std::int32_t slot) { return mine[slot]; });
  if (threadIdx.x != 0) return;
  std::uint64_t* const out = partial + 2 * (std::int64_t(blockIdx.y) * gridDim.x + blockIdx.x);
  out[0] = std::uint64_t(sum);
  out[1] = std::uint64_t(sum >> 64);
}

__global__ void __launch_bounds__(block)
    sum_motion(const __grid_constant__ DeviceParticles particles, double* partial) {
  const int axis = int(blockIdx.y);
  const auto term = [&](std::int32_t slot) {
    const double mass = particles.mass == nullptr ? 1 : particles.mass[slot];
    if (axis < 3) return __dmul_rn(mass, particles.velocity[axis][slot]);
    const double x = particles.velocity[0][slot], y = particles.velocity[1][slot], z = particles.velocity[2][slot];
    return __dmul_rn(mass / 2, __dadd_rn(__dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y)), __dmul_rn(z, z)));
  };
  const double sum = sum_of_chunk<double, double>(particles.slot_of, particles.size, term);
  if (threadIdx.x == 0) partial[axis * gridDim.x + blockIdx.x] = sum;
}

dim3 chunks_of(std::int64_t size, int sums) {
  return dim3(unsigned((size + sum_chunk - 1) / sum_chunk), unsigned(sums));
}
void check_launch() { cuda::check(cudaGetLastError(), "a launch in the order of particles"); }

}  // namespace

void launch_gather(const double* const (&by_slot)[3], const std::int32_t* slot_of, std::int64_t size, double factor,
                   double* out) {
  gather<<<blocks_of(size), block, 0, cuda::stream()>>>(ThreeArrays{{by_slot[0], by_slot[1], by_slot[2]}}, slot_of,
                                                        size, factor, out);
  check_launch();
}

void launch_gather(const std::int64_t* by_slot, std::int64_t stride, const std::int32_t* slot_of, std::int64_t size,
                   std::int64_t* out) {
  gather<<<blocks_of(size), block, 0, cuda::stream()>>>(by_slot, stride, slot_of, size, out);
  check_launch();
}

void launch_scatter(const double* numbers, const std::int32_t* particle_of, std::int64_t size,
                    double* const (&by_slot)[3]) {
  scatter<<<blocks_of(size), block, 0, cuda::stream()>>>(numbers, particle_of, size,
                                                         ThreePlaces{{by_slot[0], by_slot[1], by_slot[2]}});
  check_launch();
}

void launch_by_slot(const double* of_particle, const std::int32_t* particle_of, std::int64_t size, double* by_slot) {
  spread<<<blocks_of(size), block, 0, cuda::stream()>>>(of_particle, particle_of, size, by_slot);
  check_launch();
}

void launch_change(const ChangeOf& change, unsigned* found) {
  cuda::check(cudaMemsetAsync(found, 0, sizeof *found, cuda::stream()), "clearing a word");
  find_change<<<blocks_of(change.particles.size), block, 0, cuda::stream()>>>(change, found);
  check_launch();
}

template <class T>
void launch_places(const DeviceParticles& particles, const DeviceBox& box, Place<T>* at) {
  place_all<<<blocks_of(particles.size), block, 0, cuda::stream()>>>(particles, box, at);
  check_launch();
}
template void launch_places(const DeviceParticles&, const DeviceBox&, Place<float>*);
template void launch_places(const DeviceParticles&, const DeviceBox&, Place<double>*);

void launch_chunk_sums(const double* by_slot, std::int64_t stride, int sums, const std::int32_t* slot_of,
                       std::int64_t size, double* partial) {
  sum_values<<<chunks_of(size, sums), block, 0, cuda::stream()>>>(by_slot, stride, slot_of, size, partial);
  check_launch();
}

void launch_chunk_sums(const std::int64_t* by_slot, std::int64_t stride, int sums, const std::int32_t* slot_of,
                       std::int64_t size, std::uint64_t* partial) {
  sum_quanta<<<chunks_of(size, sums), block, 0, cuda::stream()>>>(by_slot, stride, slot_of, size, partial);
  check_launch();
}

void launch_motion_sums(const DeviceParticles& particles, double* partial) {
  sum_motion<<<chunks_of(particles.size, 4), block, 0, cuda::stream()>>>(particles, partial);
  check_launch();
}

}  // namespace quadrille::md
