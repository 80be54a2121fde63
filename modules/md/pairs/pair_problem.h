// Pair forces as plain data: what kernels of every instruction set and of devices read and write.
#pragma once

#include <cstdint>

namespace quadrille::md {

/// Particles are sorted by type, and each type begins a chunk: both i and j of a group and a chunk have one type.
constexpr int chunk_size = 64;

/// Quantities that are summed for each particle: force x, y, z; with energy also the energy and the virial xx, xy, xz,
/// yy, yz, zz, each the full sum over j of what belongs to a pair.
constexpr int force_sums = 3, all_sums = 10;

/// The sums a kernel is compiled for; letters as in table 1 of Narumi et al.
enum class Method : int {
  single,           ///< A
  single_double,    ///< B
  takahashi,        ///< C
  nitadori,         ///< D
  nitadori_large,   ///< E
  narumi,           ///< F
  double_double,    ///< G
  int64,            ///< 64-bit fixed point
  narumi_constant,  ///< F with added constants in place of conversions (on the CPU, for tests; on a GPU a choice)
  exact,            ///< the same single-precision terms summed exactly: CPU only
  magnitudes        ///< the sum of their magnitudes: CPU only
};

struct PairForm {
  Method method;
  bool coulomb;
  bool periodic;  ///< minimum image and a cutoff
  bool energy;    ///< energy and virial too
};

/// A pair whose own parameters are added, or a regular one that is taken away ("exclude afterwards").
template <class T>
struct ListedPair {
  std::int32_t other;                    ///< its slot
  std::int32_t removed;                  ///< 1: the regular interaction is subtracted; the rest is not read
  T force12, force6, energy12, energy6;  ///< as in PairProblem
  T charge;                              ///< q_i q_j, 1-4 scaling included
};

template <class T>
struct PairProblem {
  std::int32_t chunks;  ///< of chunk_size slots
  std::int32_t types;
  const T* x;  ///< [slot]
  const T* y;
  const T* z;
  const T* charge;                  ///< [slot]
  const std::int32_t* chunk_type;   ///< [chunk]
  const std::int32_t* chunk_count;  ///< [chunk]: particles, the first slots
  // [type i][type j], scaled: 12 C12, -6 C6 for forces, C12, -C6 for energies, of u = C12 / r^12 - C6 / r^6.
  const T* force12;
  const T* force6;
  const T* energy12;
  const T* energy6;
  // For each group of chunk_size i, the chunks with pairs that are left out (the particle itself, exclusions on the
  // fly) in ascending order: masked_chunks[masked_begin[g] ... masked_begin[g + 1]), and for each of these a word of a
  // bit a j for each i: mask[chunk_size * entry + i].
  const std::int64_t* masked_begin;
  const std::int32_t* masked_chunks;
  const std::uint64_t* mask;
  const std::int64_t* listed_begin;  ///< [slot + 1]
  const ListedPair<T>* listed;
  T edges[3], inverse_edges[3], cutoff_squared;
  T coulomb;        ///< the constant, scaled as forces are
  T minus_two_krf;  ///< of the reaction field: u = q q (1/r + krf r^2 - crf)
  T krf, minus_crf;
  T energy_scale;  ///< scale of energies over that of forces, a power of two
};

/// Results by slot; those of slots without a particle mean nothing.
struct PairSums {
  double* values;         ///< [quantity][slot], in scaled units
  std::int64_t* quanta;   ///< the same; of fixed point only, or null: not wanted
  float* worst_ratio;     ///< [slot] of fixed point: the largest |force / distance| of a pair, scaled
  float* worst_energy;    ///< [slot] of fixed point: the largest energy or virial of a pair, scaled
  std::uint8_t* strayed;  ///< [slot] of fixed point: bit 0: a force sum has left its range, bit 1: another
  std::int64_t slots;
};

}  // namespace quadrille::md
