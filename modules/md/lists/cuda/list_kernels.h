// Between the host's side of neighbour lists and dynamics on the device and their kernels: plain data and launches. All
// pointers are the device's; everything runs on the backend's stream.
#pragma once

#include "modules/md/lists/cell_grid.h"
#include "modules/md/lists/cuda/halt.h"
#include "modules/md/lists/list_problem.h"

namespace quadrille::md {

/// Particles whose lists are interleaved: a warp.
constexpr std::int64_t list_lanes = 32;
/// Entries of a list that lie together and are fetched at once; lengths of lists are multiples of it.
constexpr std::int32_t list_stride = 4;

/// Particles by slot; the last slots, one at least, are nobody's.
struct DeviceParticles {
  std::int64_t size, slots;
  double* position[3];
  double* velocity[3];        ///< null: there are none
  double* listed[3];          ///< positions that lists were built for
  double* mass;               ///< null: 1
  std::int32_t* particle_of;  ///< [slot]
  std::int32_t* slot_of;      ///< [particle]
};

struct DeviceBox {
  double edges[3], inverse_units[3];  ///< inverse_units: 2^32 / edge
};

/// Lists of group g of `list_lanes` slots: entries 4 n ... 4 n + 3 of lane l are a quad,
/// quads[(g capacity / 4 + n) list_lanes + l].
struct alignas(16) ListQuad {
  std::int32_t slot[list_stride];
};
struct DeviceLists {
  ListQuad* quads;
  std::int32_t* length;   ///< [group]
  std::int32_t capacity;  ///< entries of a list, a multiple of list_stride
};

/// Nothing has halted.
void launch_forget(Halt* halt);

// -- lists (list_build.cu) --

/// Cells of all particles, [particle].
void launch_cells(const DeviceParticles& particles, const DeviceBox& box, const CellGrid& grid, std::int32_t* cell);
/// Sorts particles by cell, those of a cell by number; `cell` and `particle_of` are written. With a null workspace it
/// only says how many bytes of one it needs.
std::size_t sort_by_cell(const std::int32_t* cell_of_particle, const std::int32_t* numbers, std::int32_t* cell,
                         std::int32_t* particle_of, std::int64_t size, std::int64_t cells, void* workspace,
                         std::size_t bytes);

/// From old slots to new ones: `to.slot_of` is that of the old ones before, and of the new ones after.
template <class T>
struct ParticlePlacement {
  DeviceParticles from, to;
  DeviceBox box;
  std::int64_t cells;
  const std::int32_t* cell;              ///< [new slot]
  const std::int32_t* type_of_particle;  ///< kinds [particle]; charges and masses may be null
  const T* charge_of_particle;
  const double* mass_of_particle;
  std::int32_t* begin;  ///< [cell + 1], of slots
  std::int32_t* type;   ///< [new slot]
  T* charge;
  Place<T>* at;
  Place<float>* near;  ///< places as lists are built from them; may be `at`
};
template <class T>
void launch_placement(const ParticlePlacement<T>& placement);

struct ListBuild {
  std::int64_t size, slots;
  std::int64_t first, end;  ///< slots whose lists are built: whole groups
  CellGrid grid;
  const std::int32_t* cell;   ///< [slot]
  const std::int32_t* begin;  ///< [cell + 1]
  const Place<float>* near;
  float unit[3], radius_squared;
  // Pairs that are left out; null: none.
  const std::int64_t* left_out_begin;  ///< [particle + 1]
  const std::int32_t* left_out;        ///< particles
  const std::int32_t* particle_of;     ///< [slot]
};
/// Lists of slots; halts with lists_full where the capacity does not suffice.
void launch_lists(const ListBuild& build, const DeviceLists& lists, const Gate& gate);

// -- forces (list_forces.cu) --

/// One pass over the lists of slots first ... end - 1. With a gate: halts with sums_misfit where a ratio is above
/// `safe_ratio` or a sum is not in range or finite. Errors: ErrorCode::unsupported for a method the device has not.
struct ListPassOf {
  std::int64_t first, end;
  Gate gate;
  float safe_ratio;
};
void launch_list_pass(const ListForm& form, const ListProblem<float>& problem, const DeviceLists& lists,
                      const PairSums& out, const ListPassOf& pass);
void launch_list_pass(const ListForm& form, const ListProblem<double>& problem, const DeviceLists& lists,
                      const PairSums& out, const ListPassOf& pass);

/// What a pass has met, over all particles.
struct DeviceWatch {
  unsigned ratio, energy;       ///< bits of the largest, which are not negative
  unsigned strayed;             ///< bits
  std::int32_t last_strayed;    ///< slot, -1: none
  std::int32_t first_infinite;  ///< slot, INT32_MAX: none
};
/// Overwrites `watch`.
void launch_watch(const PairSums& sums, std::int64_t size, bool fixed, bool energy, DeviceWatch* watch);

// -- motion (integrate.cu) --

/// From forces to the next positions.
struct Advance {
  DeviceParticles particles;
  DeviceBox box;
  const double* forces;  ///< sums by slot, x, y, z one after the other
  double unit;           ///< that they are multiplied by
  double half_step;      ///< of time
  int kicks;             ///< by half a step: 2, or 1 where velocities are those of whole steps
  double move_squared;   ///< no particle may move further, squared
  double stale_squared;  ///< lists are stale when one has, since they were built
  // Of a thermostat; without, `noise` and `kept` are not read.
  bool thermostat;
  double kept, noise;
  std::uint64_t seed;
};
/// Halts with lists_stale, moved_too_far (before anything else is done to that particle) or lost.
template <class T>
void launch_advance(const Advance& advance, Place<T>* at, const Gate& gate);
/// The last half kick of a step.
void launch_kick(const Advance& advance);

// -- from and to the order of particles, and sums in it (particle_order.cu) --

/// out [particle][x, y, z] = factor times numbers by slot.
void launch_gather(const double* const (&by_slot)[3], const std::int32_t* slot_of, std::int64_t size, double factor,
                   double* out);
void launch_gather(const std::int64_t* by_slot, std::int64_t stride, const std::int32_t* slot_of, std::int64_t size,
                   std::int64_t* out);
/// by_slot = numbers [particle][x, y, z].
void launch_scatter(const double* numbers, const std::int32_t* particle_of, std::int64_t size,
                    double* const (&by_slot)[3]);
void launch_by_slot(const double* of_particle, const std::int32_t* particle_of, std::int64_t size, double* by_slot);
/// Bits of HaltReason for positions [particle][x, y, z]: lists_stale where one has moved by more than `limit` since
/// lists were built, lost. `found` is overwritten.
struct ChangeOf {
  const double* positions;
  DeviceParticles particles;
  double edges[3];
  bool compared;  ///< with those of the lists
  double limit;
};
void launch_change(const ChangeOf& change, unsigned* found);
/// Where particles are, as kernels read it.
template <class T>
void launch_places(const DeviceParticles& particles, const DeviceBox& box, Place<T>* at);

/// Partial sums over chunks of 1,024 particles, each in order: partial [sum][chunk]. `sums` arrays by slot, one after
/// the other, `stride` apart. Without slots (null) of numbers as they lie there.
void launch_chunk_sums(const double* by_slot, std::int64_t stride, int sums, const std::int32_t* slot_of,
                       std::int64_t size, double* partial);
/// The same exactly: [sum][chunk][low word, high word] of 128-bit integers.
void launch_chunk_sums(const std::int64_t* by_slot, std::int64_t stride, int sums, const std::int32_t* slot_of,
                       std::int64_t size, std::uint64_t* partial);
/// Momentum x, y, z and kinetic energy.
void launch_motion_sums(const DeviceParticles& particles, double* partial);

}  // namespace quadrille::md
