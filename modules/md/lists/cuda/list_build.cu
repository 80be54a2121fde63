// Neighbour lists on the device: particles sorted by cell, then a thread finds the neighbours of each.
#include "core/backend/cuda/runtime.h"
#include "modules/md/lists/cuda/list_kernels.h"
#include "modules/md/lists/cuda/place.cuh"

#include <cub/device/device_radix_sort.cuh>

#include <bit>

namespace quadrille::md {
namespace {

constexpr int block = 128;
constexpr std::int32_t word = 32;  ///< bits of found particles
unsigned blocks_of(std::int64_t count) { return unsigned((count + block - 1) / block); }
__device__ std::int64_t thread_number() { return std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }

__global__ void find_cells(const __grid_constant__ DeviceParticles particles, const __grid_constant__ DeviceBox box,
                           const __grid_constant__ CellGrid grid, std::int32_t* cell) {
  const std::int64_t slot = thread_number();
  if (slot >= particles.size) return;
  std::uint32_t at[3];
#pragma unroll
  for (int k = 0; k < 3; ++k) at[k] = fraction_of(particles.position[k][slot], box.inverse_units[k]);
  cell[particles.particle_of[slot]] = grid.cell_at(at[0], at[1], at[2]);
}

template <class T>
__global__ void place_particles(const __grid_constant__ ParticlePlacement<T> go) {
  const std::int64_t slot = thread_number();
  if (slot >= go.to.size) return;
  const std::int32_t particle = go.to.particle_of[slot];
  const std::int32_t old = go.to.slot_of[particle];
  go.to.slot_of[particle] = std::int32_t(slot);
  double x[3];
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    x[k] = go.from.position[k][old];
    go.to.position[k][slot] = x[k];
    go.to.listed[k][slot] = x[k];
    if (go.to.velocity[k] != nullptr) go.to.velocity[k][slot] = go.from.velocity[k][old];
  }
  if (go.mass_of_particle != nullptr) go.to.mass[slot] = go.mass_of_particle[particle];
  go.type[slot] = go.type_of_particle[particle];
  if (go.charge_of_particle != nullptr) go.charge[slot] = go.charge_of_particle[particle];
  go.at[slot] = placed(T(), go.box, x);
  if constexpr (sizeof(T) == sizeof(double)) go.near[slot] = placed(0.0f, go.box, x);
  const std::int32_t cell = go.cell[slot], before = slot > 0 ? go.cell[slot - 1] : -1;
  for (std::int64_t c = before + 1; c <= cell; ++c) go.begin[c] = std::int32_t(slot);
  if (slot + 1 < go.to.size) return;
  for (std::int64_t c = cell + 1; c <= go.cells; ++c) go.begin[c] = std::int32_t(go.to.size);
}

__device__ bool left_out(const ListBuild& build, std::int32_t particle, std::int32_t other_slot) {
  const std::int32_t other = build.particle_of[other_slot];
  for (std::int64_t n = build.left_out_begin[particle]; n < build.left_out_begin[particle + 1]; ++n) {
    if (build.left_out[n] == other) return true;
  }
  return false;
}

/// As on the CPU (near_slots in list_kernels.cpp), hence the same lists.
__device__ __forceinline__ float squared_distance(const ListBuild& build, const Place<float>& a,
                                                  const Place<float>& b) {
  const auto along = [](std::int32_t i, std::int32_t j, float unit) {
    return __fmul_rn(float(std::int32_t(std::uint32_t(i) - std::uint32_t(j))), unit);
  };
  const float x = along(a.x, b.x, build.unit[0]), y = along(a.y, b.y, build.unit[1]),
              z = along(a.z, b.z, build.unit[2]);
  return __fmaf_rn(x, x, __fmaf_rn(y, y, __fmul_rn(z, z)));
}

template <bool exclusions>
__global__ void __launch_bounds__(block) find_neighbours(const __grid_constant__ ListBuild build,
                                                         const __grid_constant__ DeviceLists lists, const Gate gate) {
  const std::int64_t slot = build.first + thread_number(), group = slot / list_lanes;
  if (slot >= build.end) return;  // whole warps
  ListQuad* const out = lists.quads + group * (lists.capacity / list_stride) * list_lanes + slot % list_lanes;
  const auto nobody = std::int32_t(build.slots - 1);
  ListQuad quad{nobody, nobody, nobody, nobody};
  std::int32_t count = 0;
  // The last of `count` entries, and the quad where it is full.
  const auto add = [&](std::int32_t entry) {
#pragma unroll
    for (int m = 0; m + 1 < list_stride; ++m) quad.slot[m] = quad.slot[m + 1];
    quad.slot[list_stride - 1] = entry;
    ++count;
    if (count % list_stride == 0 && count <= lists.capacity) out[(count / list_stride - 1) * list_lanes] = quad;
  };
  if (slot < build.size) {
    const Place<float> mine = build.near[slot];
    const std::int32_t particle = exclusions ? build.particle_of[slot] : 0;
    build.grid.near(build.cell[slot], [&](std::int32_t first, std::int32_t beyond) {
      const std::int32_t end = build.begin[beyond];
      for (std::int32_t from = build.begin[first]; from < end; from += word) {
        // Most are too far. So the few are added afterwards, which lanes of a warp do for different ones at once.
        const std::int32_t candidates = min(word, end - from);
        unsigned found = 0;
#pragma unroll 4
        for (std::int32_t n = 0; n < candidates; ++n) {
          found |= unsigned(squared_distance(build, mine, build.near[from + n]) < build.radius_squared) << n;
        }
        if (slot >= from && slot < from + word) found &= ~(1u << (slot - from));
        for (; found != 0; found &= found - 1) {
          const std::int32_t other = from + __ffs(int(found)) - 1;
          if (!exclusions || !left_out(build, particle, other)) add(other);
        }
      }
    });
  }
  std::int32_t longest = count;
#pragma unroll
  for (int step = int(list_lanes) / 2; step > 0; step /= 2)
    longest = max(longest, __shfl_xor_sync(0xffffffffu, longest, step));
  longest = (longest + list_stride - 1) / list_stride * list_stride;
  const std::int32_t kept = min(longest, lists.capacity);
  while (count < kept) add(nobody);
  if (slot % list_lanes != 0) return;
  lists.length[group] = kept;
  if (longest <= lists.capacity) return;
  atomicMax(&gate.halt->longest, longest);
  stop(gate, lists_full);
}

__global__ void forget(Halt* halt) { *halt = {no_halt, 0, INT32_MAX, 0, INT32_MAX}; }

}  // namespace

void launch_forget(Halt* halt) {
  forget<<<1, 1, 0, cuda::stream()>>>(halt);
  cuda::check(cudaGetLastError(), "the launch that forgets a halt");
}

void launch_cells(const DeviceParticles& particles, const DeviceBox& box, const CellGrid& grid, std::int32_t* cell) {
  find_cells<<<blocks_of(particles.size), block, 0, cuda::stream()>>>(particles, box, grid, cell);
  cuda::check(cudaGetLastError(), "the launch of cells");
}

std::size_t sort_by_cell(const std::int32_t* cell_of_particle, const std::int32_t* numbers, std::int32_t* cell,
                         std::int32_t* particle_of, std::int64_t size, std::int64_t cells, void* workspace,
                         std::size_t bytes) {
  const int bits = std::bit_width(std::uint64_t(cells));
  cuda::check(cub::DeviceRadixSort::SortPairs(workspace, bytes, cell_of_particle, cell, numbers, particle_of, size, 0,
                                              bits, cuda::stream()),
              "sorting particles by cell");
  return bytes;
}

template <class T>
void launch_placement(const ParticlePlacement<T>& placement) {
  place_particles<<<blocks_of(placement.to.size), block, 0, cuda::stream()>>>(placement);
  cuda::check(cudaGetLastError(), "the launch that moves particles to their slots");
}
template void launch_placement(const ParticlePlacement<float>&);
template void launch_placement(const ParticlePlacement<double>&);

void launch_lists(const ListBuild& build, const DeviceLists& lists, const Gate& gate) {
  if (build.end == build.first) return;
  const unsigned blocks = blocks_of(build.end - build.first);
  if (build.left_out_begin == nullptr) {
    find_neighbours<false><<<blocks, block, 0, cuda::stream()>>>(build, lists, gate);
  } else {
    find_neighbours<true><<<blocks, block, 0, cuda::stream()>>>(build, lists, gate);
  }
  cuda::check(cudaGetLastError(), "the launch of neighbour lists");
}

}  // namespace quadrille::md
